"""What may be asked of a table that is there: one object per change, told apart by `change`.

A column is named by its name, or by a list of names that leads to a field inside of it, with
`element` for what an ARRAY holds and `value` for what a MAP holds.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from schemas.aggregate import AggregateSpec
from schemas.contract import Contract, StrictBool, at_most
from schemas.table import TYPE_LENGTH_MAX, Deletes, SequenceGroupSpec

CHANGES_MAX: Final = 1_000  # of one request; each is made to what the ones before have made

Name = Annotated[str, StringConstraints(min_length=1)]
ColumnPath = Name | Annotated[tuple[Name, ...], Field(min_length=1)]
TypeText = Annotated[str, StringConstraints(min_length=1, max_length=TYPE_LENGTH_MAX)]


class ColumnPlace(StrEnum):
    """Where a column is put among its neighbours."""

    FIRST = "first"
    LAST = "last"
    AFTER = "after"
    BEFORE = "before"


class ColumnPosition(Contract):
    """Where a column is put.

    Attributes:
        place: The kind of place; `last` is the last of the declared columns.
        neighbour: The column beside it; only with `after` and `before`.
    """

    place: ColumnPlace
    neighbour: Name | None = None


class _ColumnChange(Contract):
    column: ColumnPath

    @property
    def path(self) -> tuple[str, ...]:
        """Names from a column of the table down to what is changed."""
        return (self.column,) if isinstance(self.column, str) else self.column


class AddColumnChange(_ColumnChange):
    """A nullable column appears; null in the rows that are there.

    Attributes:
        change: Its kind.
        column: The new name, at the end of the path.
        type: SQL text.
        description: For people.
        position: None: after the other declared columns.
        default: What records without a value get; as `ColumnSpec.default`.
        aggregate: As `ColumnSpec.aggregate`.
        sequence_group: The group that protects it; the stream that owns the group reads it.
        stream: The stream that reads it, where that is not said by the group.
        source: Where the stream finds it in a message: field names joined by dots; None: under the
            column's name.
    """

    change: Literal["add_column"]
    type: TypeText
    description: str | None = None
    position: ColumnPosition | None = None
    default: str | None = None
    aggregate: AggregateSpec | None = None
    sequence_group: Name | None = None
    stream: Name | None = None
    source: Name | None = None


class DropColumnChange(_ColumnChange):
    """A column goes; one of its name that is added later is another one."""

    change: Literal["drop_column"]


class RenameColumnChange(_ColumnChange):
    """A column gets another name; streams go on reading it from the field that they read.

    Attributes:
        change: Its kind.
        column: As it is called.
        to: Its new name, without a path.
    """

    change: Literal["rename_column"]
    to: Name


class UpdateColumnTypeChange(_ColumnChange):
    """The values of a column are read as another type from then on; NOT NULL or not stays.

    Attributes:
        change: Its kind.
        column: Which one.
        type: SQL text.
    """

    change: Literal["update_column_type"]
    type: TypeText


class UpdateColumnNullabilityChange(_ColumnChange):
    """A column may hold null from then on, or may not."""

    change: Literal["update_column_nullability"]
    nullable: StrictBool


class UpdateColumnCommentChange(_ColumnChange):
    """A column's description becomes another; None takes it away."""

    change: Literal["update_column_comment"]
    description: str | None


class UpdateColumnDefaultChange(_ColumnChange):
    """Records without a value get this one when they are written; None: null."""

    change: Literal["update_column_default"]
    default: str | None


class UpdateColumnPositionChange(Contract):
    """A column moves among the declared columns."""

    change: Literal["update_column_position"]
    column: Name
    position: ColumnPosition


class UpdateColumnAggregateChange(Contract):
    """The values of a registered table's column combine otherwise; None: the table's default."""

    change: Literal["update_column_aggregate"]
    column: Name
    aggregate: AggregateSpec | None


class AddSequenceGroupChange(Contract):
    """A sequence group appears in a registered table, with the columns that are made for it.

    Attributes:
        change: Its kind.
        name: As `SequenceGroupSpec.name`.
        ordering: As `SequenceGroupSpec.ordering`.
        columns: Columns that the same request adds; of a table without rows, any that are in no
            group. The same holds for ordering columns.
        deletes: As `SequenceGroupSpec.deletes`.
    """

    change: Literal["add_sequence_group"]
    name: Name
    ordering: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    deletes: Deletes | None = None

    @property
    def group(self) -> SequenceGroupSpec:
        """The group as a declaration has it."""
        return SequenceGroupSpec(
            name=self.name, ordering=self.ordering, columns=self.columns, deletes=self.deletes
        )


class UpdateCommentChange(Contract):
    """The table's comment becomes another; None takes it away."""

    change: Literal["update_comment"]
    comment: str | None


class SetOptionChange(Contract):
    """An option of the table format gets a value."""

    change: Literal["set_option"]
    key: Name
    value: str


class RemoveOptionChange(Contract):
    """An option of the table format falls back to its default."""

    change: Literal["remove_option"]
    key: Name


TableChange: TypeAlias = (
    AddColumnChange
    | DropColumnChange
    | RenameColumnChange
    | UpdateColumnTypeChange
    | UpdateColumnNullabilityChange
    | UpdateColumnCommentChange
    | UpdateColumnDefaultChange
    | UpdateColumnPositionChange
    | UpdateColumnAggregateChange
    | AddSequenceGroupChange
    | UpdateCommentChange
    | SetOptionChange
    | RemoveOptionChange
)


class SchemaChanges(Contract):
    """Changes of one table: all are made, or none.

    Attributes:
        changes: In order; each sees what those before have made.
    """

    changes: Annotated[
        tuple[Annotated[TableChange, Field(discriminator="change")], ...],
        at_most(CHANGES_MAX),
        Field(min_length=1),
    ]
