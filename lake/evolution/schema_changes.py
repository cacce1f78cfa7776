"""What may be asked of a schema: one value per change.

A column is named by its path: its name, or the names from the column down to a field nested in it,
with `element` for what an ARRAY or MULTISET holds and `value` for what a MAP holds.

Source: merge-semantics 8.3.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, TypeAlias

from lake.errors import InvalidRequest, Problem
from lake.format.data_types import DataType

Path: TypeAlias = tuple[str, ...]
"""Names from a column of the table down to a nested field; at least one."""

ELEMENT = "element"
VALUE = "value"


def _refuse(field: str, value: object, expected: str) -> NoReturn:
    shown = None if value is None else str(value)
    message = "a column has no such position"
    problem = Problem(field=field, value=shown, message=f"expected {expected}")
    raise InvalidRequest(message, problems=[problem])


class PositionKind(StrEnum):
    """Where a column is put among its neighbours."""

    FIRST = "first"
    LAST = "last"
    AFTER = "after"
    BEFORE = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a column is put.

    Attributes:
        kind: First, last, or beside another column.
        neighbour: Name of the column beside it; None for the first and the last position.
    """

    kind: PositionKind
    neighbour: str | None = None

    def __post_init__(self) -> None:
        """Refuse a position without its neighbour, or with one that it does not need.

        Raises:
            InvalidRequest: It is one of these, or `kind` is no `PositionKind`.
        """
        if not isinstance(self.kind, PositionKind):
            _refuse("kind", self.kind, "a `PositionKind`")
        is_beside = self.kind in (PositionKind.AFTER, PositionKind.BEFORE)
        if is_beside and not isinstance(self.neighbour, str):
            _refuse("neighbour", self.neighbour, f"the name of the column {self.kind} which it is")
        if not is_beside and self.neighbour is not None:
            _refuse("neighbour", self.neighbour, f"none, as the position is {self.kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOption:
    """An option gets a value."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOption:
    """An option falls back to its default; one that is not set stays so."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateComment:
    """The table's comment becomes another; None takes it away."""

    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """A nullable column appears, with ids that no column had before.

    Attributes:
        path: Its name last, after the path of the ROW that gets it.
        type: Its type; ids within are given anew.
        description: Free text.
        position: Where; None means at the end, or as `add-column-before-partition` says.
    """

    path: Path
    type: DataType
    description: str | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    """A column keeps its id and gets another name; top-level options that name it follow."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn:
    """A column goes; its id is never used again."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnType:
    """A column's values are read as another type from now on.

    Attributes:
        path: Of the column.
        type: The new type.
        keep_nullability: The new type is nullable just if the old one is.
    """

    path: Path
    type: DataType
    keep_nullability: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnNullability:
    """A column may hold null from now on, or may not."""

    path: Path
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnComment:
    """A column's description becomes another; None takes it away."""

    path: Path
    description: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnPosition:
    """A column of the table moves among the others; values do not change."""

    name: str
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnDefault:
    """Records that hold null in the column get this value when they are written from now on.

    Attributes:
        path: Of the column.
        default_value: Text of the value; None takes the default away.
    """

    path: Path
    default_value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPrimaryKey:
    """The table has no key any more; possible only while it is empty."""


SchemaChange: TypeAlias = (
    SetOption
    | RemoveOption
    | UpdateComment
    | AddColumn
    | RenameColumn
    | DropColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnPosition
    | UpdateColumnDefault
    | DropPrimaryKey
)
