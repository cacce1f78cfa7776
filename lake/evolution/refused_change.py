"""Refusal of a single schema change, raised where its index in the list is not known yet."""

from typing import NoReturn

from braid.lake.errors import Problem
from braid.lake.evolution.change_problem import ChangeProblem


class RefusedChangeError(Exception):
    """One change breaks a rule; `change_schema` turns it into a problem of its list."""

    def __init__(self, problem: Problem, *, option: str | None = None) -> None:
        super().__init__(str(problem))
        self._problem = problem
        self._option = option

    def problem_at(self, index: int) -> ChangeProblem:
        """Return the problem, located at the change.

        Args:
            index: Index of the change in its list, from 0.
        """
        return ChangeProblem.at(index, self._problem, option=self._option)


def refuse(part: str, value: str | None, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a change.

    Args:
        part: The part of the change that is wrong: `name` for a name in its path, `to` for the new name of a
            column, else an attribute of the change; "" for the change as a whole.
        value: Value of that part, as text.
        message: What is wrong with the value.
        hint: How to correct the change.

    Raises:
        RefusedChangeError: Always.
    """
    raise RefusedChangeError(Problem(field=part, value=value, message=message, hint=hint))


def refuse_option(key: str, value: str | None, message: str, hint: str | None = None) -> NoReturn:
    """Refuse to set or remove an option.

    Args:
        key: Key of the option.
        value: The value that was to be set or removed; None where it is unknown.
        message: Why the option stays as it is.
        hint: Another way to reach the same result.

    Raises:
        RefusedChangeError: Always.
    """
    problem = Problem(field=f"options.{key}", value=value, message=message, hint=hint)
    raise RefusedChangeError(problem, option=key)
