"""A change of a schema that cannot be made, before it is known which one of a list it is."""

from dataclasses import replace
from typing import NoReturn

from lake.errors import Problem


class RefusedChangeError(Exception):
    """One change breaks a rule."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self._problem = problem

    def problem(self, place: str) -> Problem:
        """Return what to tell of it.

        Args:
            place: Of the change in its list.
        """
        part = self._problem.field
        return replace(self._problem, field=f"{place}.{part}" if part else place)


def refuse(part: str, value: str | None, message: str, hint: str | None = None) -> NoReturn:
    """Refuse the change at hand.

    Args:
        part: Of the change; empty for all of it.
        value: What is asked for.
        message: What is wrong with it.
        hint: How to mend it.

    Raises:
        RefusedChangeError: Always.
    """
    raise RefusedChangeError(Problem(field=part, value=value, message=message, hint=hint))
