"""Attribution of a schema's problems to the changes that caused them.

The rules for tables check the schema that results from a list of changes, so their problems name
columns and options, not changes. Therefore the schemas after the first 0, 1, 2… changes are
checked, too. The last of these schemas that does not have the problem is determined, and the change
after it has caused the problem.
"""

from collections.abc import Callable, Sequence

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.evolution.change_problem import ChangeProblem


def attribute_problems(
    problems: Sequence[Problem], change_count: int, check: Callable[[int], object]
) -> list[Problem]:
    """Return the problems, each located at the change that caused it: `changes[1].write-only`.

    A problem that the table had before the first change stays as it is, and so does a problem that is
    located at a change already.

    Args:
        problems: Problems of the schema that results from all changes.
        change_count: The number of changes.
        check: Called with a number of changes; raises `InvalidRequest` if the schema after that many
            changes has problems.
    """
    if all(isinstance(problem, ChangeProblem) for problem in problems):
        return list(problems)
    by_prefix = [_problems_after(check, count) for count in range(change_count)]
    return [_attributed(problem, by_prefix) for problem in problems]


def _attributed(problem: Problem, by_prefix: Sequence[Sequence[Problem]]) -> Problem:
    """Return a problem at its change.

    Args:
        problem: A problem of the schema that results from all changes.
        by_prefix: Problems of the schema after 0, 1, 2… changes, but not after all.
    """
    if isinstance(problem, ChangeProblem):
        return problem
    # The last prefix without the problem: a change may cause it, a later one remove it, and another
    # cause it again.
    clean = [count for count, problems in enumerate(by_prefix) if problem not in problems]
    return ChangeProblem.at(clean[-1], problem) if clean else problem


def _problems_after(check: Callable[[int], object], count: int) -> Sequence[Problem]:
    try:
        check(count)
    except InvalidRequest as error:
        return error.problems
    return ()
