"""Problems of one part of a column's declaration.

`Problem.field` is text for the reader of an error. A program that maps the problem back to its own
declaration reads `column` and `part` instead.
"""

from dataclasses import dataclass
from typing import Literal

from braid.lake.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProblem(Problem):
    """A problem of a column's type or default.

    Attributes:
        column: Name of the column.
        part: The part of its declaration that is wrong.
    """

    column: str
    part: Literal["type", "default"]
