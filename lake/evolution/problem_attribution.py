"""Attribution of a schema's problems to the changes that caused them.

The rules for tables check the schema that results from a list of changes, so their problems name columns and
options, not changes. The schema after each number of changes, from none to all but the last, is therefore
checked too. A problem of the final schema was caused by the change after the last of these schemas that does
not have it.
"""

from collections.abc import Callable, Sequence

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.evolution.change_problem import ChangeProblem


def attribute_problems(
    problems: Sequence[Problem], change_count: int, check: Callable[[int], object]
) -> list[Problem]:
    """Return the problems, each located at the change that caused it: `changes[1].write-only`.

    A problem that the table had before the first change stays as it is, and so does one that is
    located at a change already.

    Args:
        problems: Of the schema that results from all changes.
        change_count: The number of changes.
        check: Raises `InvalidRequest` for the problems of the schema after that many changes.
    """
    if all(isinstance(problem, ChangeProblem) for problem in problems):
        return list(problems)
    by_prefix = [_problems_after(check, count) for count in range(change_count)]
    return [_attributed(problem, by_prefix) for problem in problems]


def _attributed(problem: Problem, by_prefix: Sequence[Sequence[Problem]]) -> Problem:
    """Return a problem at its change.

    Args:
        problem: Of the schema that results from all changes.
        by_prefix: Problems of the schema after 0, 1, 2… changes, but not after all.
    """
    if isinstance(problem, ChangeProblem):
        return problem
    # The last prefix without it: a problem may come, be mended by a later change and come back.
    clean = [count for count, problems in enumerate(by_prefix) if problem not in problems]
    return ChangeProblem.at(clean[-1], problem) if clean else problem


def _problems_after(check: Callable[[int], object], count: int) -> Sequence[Problem]:
    try:
        check(count)
    except InvalidRequest as error:
        return error.problems
    return ()
