"""Problems of schema changes, each with the change of the list that it belongs to.

`Problem.field` is text for the reader of an error (`changes[2].name`). A program that maps the problem
back to its own request reads `index`, `part` and `option` instead.
"""

from dataclasses import dataclass
from typing import Self

from braid.lake.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeProblem(Problem):
    """A problem that one change of a list has, or has caused in the resulting schema.

    Attributes:
        index: Index of the change in its list, from 0.
        part: The wrong part of the change, as `refuse` names it, or the wrong column or option key of the
            resulting schema; "" for the change as a whole.
        option: Key of the option that the change cannot set or remove; None for every other problem.

    Example:
        >>> problem = Problem(field="name", value="id", message="there is no such column")
        >>> str(ChangeProblem.at(2, problem))
        'changes[2].name: there is no such column (found `id`)'
    """

    index: int
    part: str = ""
    option: str | None = None

    @classmethod
    def at(cls, index: int, problem: Problem, *, option: str | None = None) -> Self:
        """Return a problem, located at a change.

        Args:
            index: Index of the change in its list, from 0.
            problem: The problem; its `field` is relative to the change, "" for the change as a whole.
            option: Key of the option that the change cannot set or remove, if that is the problem.
        """
        change = f"changes[{index}]"
        return cls(
            field=f"{change}.{problem.field}" if problem.field else change,
            value=problem.value,
            message=problem.message,
            hint=problem.hint,
            index=index,
            part=problem.field,
            option=option,
        )
