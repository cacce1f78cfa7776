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
            index: Of the change in its list, from 0.
        """
        return ChangeProblem.at(index, self._problem, option=self._option)


def refuse(part: str, value: str | None, message: str, hint: str | None = None) -> NoReturn:
    """Refuse a change.

    Args:
        part: Attribute of the change that is wrong; "" for the change as a whole.
        value: What it holds, as text.
        message: What is wrong with it.
        hint: How to mend it.

    Raises:
        RefusedChangeError: Always.
    """
    raise RefusedChangeError(Problem(field=part, value=value, message=message, hint=hint))


def refuse_option(key: str, value: str | None, message: str, hint: str | None = None) -> NoReturn:
    """Refuse to set or remove an option.

    Args:
        key: Of the option.
        value: That it was to get or to lose; None where neither is known.
        message: Why it stays as it is.
        hint: How to reach the same otherwise.

    Raises:
        RefusedChangeError: Always.
    """
    problem = Problem(field=f"options.{key}", value=value, message=message, hint=hint)
    raise RefusedChangeError(problem, option=key)
