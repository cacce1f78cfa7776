"""Requested changes of an existing table: one object per change, whose kind is in `change`.

A change refers to a column by its name. A change that also applies to nested fields accepts a list of names: the path to the
field, in which `element` stands for the elements of an ARRAY and `value` for the values of a MAP.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from braid.schemas.aggregate import AggregateSpec
from braid.schemas.contract import Contract, StrictBool, at_most
from braid.schemas.table import (
    TYPE_LENGTH_MAX,
    Deletes,
    RowTtlSpec,
    SequenceGroupSpec,
    Unordered,
)

CHANGES_MAX: Final = (
    1_000  # of one request; each change is applied to the result of those before it
)

Name = Annotated[str, StringConstraints(min_length=1)]
ColumnPath = Name | Annotated[tuple[Name, ...], Field(min_length=1)]
TypeText = Annotated[str, StringConstraints(min_length=1, max_length=TYPE_LENGTH_MAX)]


class ColumnPlace(StrEnum):
    """The kind of a column's position."""

    FIRST = "first"
    LAST = "last"
    AFTER = "after"
    BEFORE = "before"


class ColumnPosition(Contract):
    """The position of a column.

    Attributes:
        place: The kind of position; `last` is after the other declared columns.
        neighbour: The adjacent column; only with `after` and `before`.
    """

    place: ColumnPlace
    neighbour: Name | None = None


class _ColumnChange(Contract):
    column: ColumnPath

    @property
    def path(self) -> tuple[str, ...]:
        """The names from a column of the table down to the changed field."""
        return (self.column,) if isinstance(self.column, str) else self.column


class AddColumnChange(_ColumnChange):
    """Adds a nullable column, which is null in existing rows.

    Attributes:
        change: The kind of change.
        column: The new name, at the end of the path.
        type: The type as SQL text.
        description: A description for people.
        position: The column's position; None: after the other declared columns.
        default: The value for records without one; see `ColumnSpec.default`.
        aggregate: See `ColumnSpec.aggregate`.
        sequence_group: The group that protects the column; the stream that owns the group reads it.
        stream: The stream that reads the column, if no group implies one.
        source: The column's path in a message: field names joined by dots; None: the column's name.
        keep: Whether the group keeps the column; see `SequenceGroupSpec.keep`.
        unordered: See `ColumnSpec.unordered`.
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
    keep: StrictBool = False
    unordered: Unordered | None = None


class DropColumnChange(_ColumnChange):
    """Drops a column; a column of the same name that is added later is new and has none of its values.

    Attributes:
        change: The kind of change.
        column: The column's name or path.
    """

    change: Literal["drop_column"]


class RenameColumnChange(_ColumnChange):
    """Renames a column; streams still read it from the same field of a message.

    Attributes:
        change: The kind of change.
        column: The current name or path.
        to: The new name, without a path.
    """

    change: Literal["rename_column"]
    to: Name


class UpdateColumnTypeChange(_ColumnChange):
    """Changes a column's type; existing values are then read with the new type, and nullability stays.

    Attributes:
        change: The kind of change.
        column: The column's name or path.
        type: The type as SQL text.
    """

    change: Literal["update_column_type"]
    type: TypeText


class UpdateColumnNullabilityChange(_ColumnChange):
    """Sets whether a column may hold null.

    Attributes:
        change: The kind of change.
        column: The column's name or path.
        nullable: Whether the column may hold null.
    """

    change: Literal["update_column_nullability"]
    nullable: StrictBool


class UpdateColumnCommentChange(_ColumnChange):
    """Sets a column's description; null removes it.

    Attributes:
        change: The kind of change.
        column: The column's name or path.
        description: The description for people; None removes it.
    """

    change: Literal["update_column_comment"]
    description: str | None


class UpdateColumnDefaultChange(_ColumnChange):
    """Sets the value that is written for records without one; null: such records have no value.

    Attributes:
        change: The kind of change.
        column: The column's name or path.
        default: The value for records without one; see `ColumnSpec.default`. None: such records have no value.
    """

    change: Literal["update_column_default"]
    default: str | None


class UpdateColumnPositionChange(Contract):
    """Moves a column among the declared columns.

    Attributes:
        change: The kind of change.
        column: The column's name.
        position: Its new position.
    """

    change: Literal["update_column_position"]
    column: Name
    position: ColumnPosition


class UpdateColumnAggregateChange(Contract):
    """Sets the aggregate function of a registered table's column; null: the table's default.

    Attributes:
        change: The kind of change.
        column: The column's name.
        aggregate: See `ColumnSpec.aggregate`; None: the table's default.
    """

    change: Literal["update_column_aggregate"]
    column: Name
    aggregate: AggregateSpec | None


class AddSequenceGroupChange(Contract):
    """Adds a sequence group with its generated columns to a registered table.

    Attributes:
        change: The kind of change.
        name: See `SequenceGroupSpec.name`.
        ordering: See `SequenceGroupSpec.ordering`.
        columns: Columns that the same request adds; in a table without rows, any columns that are in no
            group. The same holds for ordering columns.
        deletes: See `SequenceGroupSpec.deletes`.
        keep: See `SequenceGroupSpec.keep`.
    """

    change: Literal["add_sequence_group"]
    name: Name
    ordering: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    deletes: Deletes | None = None
    keep: tuple[Name, ...] = ()

    @property
    def group(self) -> SequenceGroupSpec:
        """The group in the form of a declaration."""
        return SequenceGroupSpec(
            name=self.name,
            ordering=self.ordering,
            columns=self.columns,
            deletes=self.deletes,
            keep=self.keep,
        )


class UpdateCommentChange(Contract):
    """Sets the table's comment; null removes it.

    Attributes:
        change: The kind of change.
        comment: The comment for people; None removes it.
    """

    change: Literal["update_comment"]
    comment: str | None


class UpdateRowTtlChange(Contract):
    """Sets the time to live of the table's rows; null: rows do not expire.

    Attributes:
        change: The kind of change.
        row_ttl: See `TableSpec.row_ttl`; None: rows do not expire.
    """

    change: Literal["update_row_ttl"]
    row_ttl: RowTtlSpec | None


class SetOptionChange(Contract):
    """Sets an option of the table format.

    Attributes:
        change: The kind of change.
        key: The option's name.
        value: The value, as text.
    """

    change: Literal["set_option"]
    key: Name
    value: str


class RemoveOptionChange(Contract):
    """Removes an option of the table format; its default applies then.

    Attributes:
        change: The kind of change.
        key: The option's name.
    """

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
    | UpdateRowTtlChange
    | SetOptionChange
    | RemoveOptionChange
)


class SchemaChanges(Contract):
    """Changes of one table: all are applied, or none.

    Attributes:
        changes: The changes in order; each is applied to the result of those before it.
    """

    changes: Annotated[
        tuple[Annotated[TableChange, Field(discriminator="change")], ...],
        at_most(CHANGES_MAX),
        Field(min_length=1),
    ]
