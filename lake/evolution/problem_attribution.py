"""Which change of a list is to blame for what is wrong with the result.

The rules for tables judge what comes of all changes, and name columns and options. Judging what comes
of the first change alone, of the first two and so on tells after which of them a problem is there to
stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lake.errors import InvalidRequest, Problem


def attribute_problems(
    problems: Sequence[Problem], change_count: int, judge: Callable[[int], object]
) -> list[Problem]:
    """Return the problems, each at the change that made it: `changes[1].write-only`.

    What the table has had before keeps its place, and so does what names its change already.

    Args:
        problems: Of all changes together.
        change_count: How many changes there are.
        judge: Raises `InvalidRequest` for what is wrong after that many changes.
    """
    if all(_is_blamed(problem) for problem in problems):
        return list(problems)
    after = [_problems(judge, count) for count in range(change_count)]
    return [_blamed(problem, after) for problem in problems]


def _blamed(problem: Problem, after: Sequence[Sequence[Problem]]) -> Problem:
    clean = [count for count, problems in enumerate(after) if problem not in problems]
    if _is_blamed(problem) or not clean:
        return problem
    return replace(problem, field=f"changes[{clean[-1]}].{problem.field}")


def _is_blamed(problem: Problem) -> bool:
    return problem.field.startswith("changes[")


def _problems(judge: Callable[[int], object], count: int) -> Sequence[Problem]:
    try:
        judge(count)
    except InvalidRequest as error:
        return error.problems
    return ()
