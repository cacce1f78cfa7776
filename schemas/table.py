"""The declaration of a table: columns, keys, sequence groups, rules for its rows."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from schemas.aggregate import AggregateSpec
from schemas.contract import (
    COLUMNS_MAX,
    OPTIONS_MAX,
    Contract,
    PositiveInt,
    StrictBool,
    at_most,
)

TYPE_LENGTH_MAX: Final = 1_000  # characters; what nests deeper than that has no reader
BUCKETS_MAX: Final = 100_000  # each is a directory in every partition


class MergeEngine(StrEnum):
    """What several versions of one key become."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


class Unordered(StrEnum):
    """Whether non-key columns may do without a sequence group."""

    REFUSED = "refused"
    ALLOWED = "allowed"


class Deletes(StrEnum):
    """What a record that deletes, or takes an earlier one back, does to a row.

    `ignore` drops it. `clear_columns` empties what its stream owns: the columns of its sequence
    group become null, as an upsert of nulls would make them. `remove_row` removes the row whole,
    what other streams wrote included.
    """

    IGNORE = "ignore"
    CLEAR_COLUMNS = "clear_columns"
    REMOVE_ROW = "remove_row"


class ColumnSpec(Contract):
    """One column of the table.

    Attributes:
        name: Unique in the table, letters, digits and `_`.
        type: SQL text such as `BIGINT`, `DECIMAL(10, 2)`, `TIMESTAMP(3)`, `STRING NOT NULL`.
        aggregate: How its values combine, in `aggregation` tables and in sequence groups of
            `partial-update` ones; None: the newest value.
        description: For people; kept in the table's schema.
        default: What a record without a value gets when it is written, as text such as `0`; only
            for columns that the streams of other columns cannot reach. None: null.
    """

    name: str = Field(min_length=1, examples=["dep_delay"])
    type: str = Field(min_length=1, max_length=TYPE_LENGTH_MAX, examples=["DECIMAL(10, 2)"])
    aggregate: AggregateSpec | None = None
    description: str | None = None
    default: str | None = None


class SequenceGroupSpec(Contract):
    """Columns that one stream owns, and the columns that order its versions.

    Attributes:
        name: Unique in the table; the stream of the same name owns it unless another says so.
        ordering: Columns that order the versions of the group, most significant first, written
            by the owner. Behind them, or alone if None, records are ordered as they arrive, by
            `<name>__offset` and `<name>__partition`, which are filled from Kafka.
        columns: The protected columns: none of them is a key or an ordering column.
        deletes: What a delete by the owner does; None: as the table says.
    """

    name: str = Field(min_length=1, examples=["departures"])
    ordering: tuple[str, ...] | None = Field(default=None, min_length=1)
    columns: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] = Field(min_length=1)
    deletes: Deletes | None = None


class StalenessSpec(Contract):
    """The age at which a group's part of a row counts as stale.

    Attributes:
        default_seconds: For groups that `groups` does not name; None: never stale.
        groups: Age in seconds by group name.
    """

    default_seconds: PositiveInt | None = None
    groups: Mapping[str, PositiveInt] = Field(default_factory=dict)


class CompletenessSpec(Contract):
    """Which groups have to have delivered for a row to be complete.

    Attributes:
        groups: Names of groups, or `all`.
    """

    groups: tuple[str, ...] | Literal["all"] = "all"


class DeleteRetentionSpec(Contract):
    """How long compactions keep the deletes of removed rows.

    Until then a record that is older than the delete and comes late does not bring the row back.

    Attributes:
        seconds: Age of a delete at which compactions drop it.
        columns: TIMESTAMP columns that a deleting record fills; the latest of them is its time.
            None: `<group>__at` of the sequence groups that remove rows.
    """

    seconds: PositiveInt
    columns: tuple[str, ...] | None = Field(default=None, min_length=1)


class TableSpec(Contract):
    """A table as its owner declares it; the name is in the address.

    Attributes:
        columns: In the order in which readers see them; generated columns come after them.
        primary_key: Column names; they become NOT NULL.
        partition_keys: A part of the primary key, fewer columns than it has.
        buckets: Number of buckets of every partition, from 1 to `BUCKETS_MAX`, which the rules for
            tables check beside everything else; `braid table rescale` changes it, and the
            declaration with it.
        merge_engine: What several versions of one key become.
        sequence_groups: For `partial-update`; groups share no column.
        default_aggregate: The aggregate function of declared columns that name none, keys and
            ordering columns aside; in `aggregation` tables `last_non_null_value` if None.
        deletes: What a record that deletes does; None: deletes are not declared.
        delete_retention: How long deletes of removed rows are kept; None: until a compaction to the
            highest level.
        tracking: Whether every group carries `<group>__at` and `<group>__op`, on which row
            status rests.
        staleness: When a group's part of a row is stale; needs tracking.
        completeness: When a row is complete.
        unordered: `allowed` admits what depends on the order in which records arrive: columns
            without a sequence group (of two versions written at once by different jobs the older
            one may then stay for good), and functions and deletes that the rules name.
        comment: For people; kept in the table's schema.
        options: Further options of the table format, by their own names.
    """

    columns: Annotated[tuple[ColumnSpec, ...], at_most(COLUMNS_MAX)] = Field(min_length=1)
    primary_key: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] = Field(min_length=1)
    partition_keys: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] = ()
    buckets: int = Field(default=4, strict=True)
    merge_engine: MergeEngine = MergeEngine.PARTIAL_UPDATE
    sequence_groups: Annotated[tuple[SequenceGroupSpec, ...], at_most(COLUMNS_MAX)] = ()
    default_aggregate: str | None = Field(default=None, min_length=1)
    deletes: Deletes | None = None
    delete_retention: DeleteRetentionSpec | None = None
    tracking: StrictBool = True
    staleness: StalenessSpec = Field(default_factory=StalenessSpec)
    completeness: CompletenessSpec = Field(default_factory=CompletenessSpec)
    unordered: Unordered = Unordered.REFUSED
    comment: str | None = None
    options: Annotated[Mapping[str, str], at_most(OPTIONS_MAX)] = Field(default_factory=dict)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The declared columns' names, in order, without the generated ones."""
        return tuple(column.name for column in self.columns)

    def sequence_group(self, name: str) -> SequenceGroupSpec | None:
        """Return the group of that name, or None."""
        return next((group for group in self.sequence_groups if group.name == name), None)
