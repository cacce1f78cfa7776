"""Changes of a schema, as values: changes of columns, options, comment and primary key.

A column is named by its path. This is its name or, for a field nested in it, the names from the
column down to the field. In a path, `element` stands for the elements of an ARRAY or MULTISET, and
`value` for the values of a MAP. `UpdateColumnPosition.name` and `Position.neighbour` are plain names
instead. They name columns of the table; only the neighbour of a field that is added to a ROW is a
field of that ROW.

Source: merge-semantics 8.3.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, TypeAlias

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.data_types import DataType

Path: TypeAlias = tuple[str, ...]
"""Names from a column of the table down to a nested field; at least one."""

ELEMENT = "element"
VALUE = "value"


def _refuse(field: str, value: object, expected: str) -> NoReturn:
    shown = None if value is None else str(value)
    message = "a column cannot have this position"
    problem = Problem(field=field, value=shown, message=f"expected {expected}")
    raise InvalidRequest(message, problems=[problem])


class PositionKind(StrEnum):
    """Kinds of position among the other columns."""

    FIRST = "first"
    LAST = "last"
    AFTER = "after"
    BEFORE = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position that a column gets.

    Attributes:
        kind: First, last, or beside another column.
        neighbour: Name of the other column; None for the first and the last position.
    """

    kind: PositionKind
    neighbour: str | None = None

    def __post_init__(self) -> None:
        """Check that there is a neighbour exactly where the kind needs one.

        Raises:
            InvalidRequest: The neighbour is missing or superfluous, or `kind` is no `PositionKind`.
        """
        if not isinstance(self.kind, PositionKind):
            _refuse("kind", self.kind, "a `PositionKind`")
        is_beside = self.kind in (PositionKind.AFTER, PositionKind.BEFORE)
        if is_beside and not isinstance(self.neighbour, str):
            _refuse(
                "neighbour",
                self.neighbour,
                f"the name of the column {self.kind} which the changed column is placed",
            )
        if not is_beside and self.neighbour is not None:
            _refuse(
                "neighbour", self.neighbour, f"no neighbour, because the position is {self.kind}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOption:
    """Sets an option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOption:
    """Removes an option, so that its default applies; changes nothing if the option is not set."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateComment:
    """Replaces the table's comment; None removes it."""

    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """Adds a nullable column, with field ids that no column had before.

    Attributes:
        path: Name of the column; for a field of a ROW, the path of the ROW followed by the field's name.
        type: Type of the column; field ids inside it are assigned anew.
        description: Free text.
        position: Position of the column. None: the last one, or before the partition columns with
            `add-column-before-partition`.
    """

    path: Path
    type: DataType
    description: str | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    """Renames a column, which keeps its id; a column of the table is also renamed in most options that name it."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn:
    """Removes a column; its id is never used again."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnType:
    """Changes the type of a column; older files are cast when they are read.

    Attributes:
        path: Path of the column.
        type: The new type.
        keep_nullability: The nullability of `type` is ignored, and that of the column stays.
    """

    path: Path
    type: DataType
    keep_nullability: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnNullability:
    """Changes whether a column may hold null."""

    path: Path
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnComment:
    """Replaces a column's description; None removes it."""

    path: Path
    description: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnPosition:
    """Moves a column of the table among the others; values do not change."""

    name: str
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateColumnDefault:
    """Changes the default of a column, which records written from now on get instead of null.

    Attributes:
        path: Path of the column.
        default_value: The value as text; None removes the default.
    """

    path: Path
    default_value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPrimaryKey:
    """Removes the primary key of an empty table."""


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
