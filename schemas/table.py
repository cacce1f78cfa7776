"""Declaration of a table: columns, keys, sequence groups, deletes, expiry, rules about single rows, feature views, tests.

Its rules are in `registry/rules/tables`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from braid.schemas.aggregate import AggregateSpec
from braid.schemas.contract import (
    COLUMNS_MAX,
    OPTIONS_MAX,
    Contract,
    Labels,
    Owner,
    PositiveInt,
    StrictBool,
    at_most,
)
from braid.schemas.row_rules import (
    INDEXES_MAX,
    VIEWS_MAX,
    CompletenessSpec,
    LookupIndexSpec,
    StalenessSpec,
    ViewSpec,
)
from braid.schemas.table_test import TableTests

TYPE_LENGTH_MAX: Final = 1_000  # characters
BUCKETS_MAX: Final = 100_000  # each bucket is a directory in every partition
TTL_SECONDS_MAX: Final = 36_500 * 86_400  # a century


class MergeEngine(StrEnum):
    """The rule that merges the versions of a row."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


class Unordered(StrEnum):
    """Whether a declaration may depend on the order in which records arrive."""

    REFUSED = "refused"
    ALLOWED = "allowed"


class Deletes(StrEnum):
    """The effect of a delete or retract record on a row.

    `ignore` drops the record. `clear_columns` sets the columns of the stream's sequence group to null,
    as an upsert of nulls does. `remove_row` removes the whole row, values of other streams included.
    """

    IGNORE = "ignore"
    CLEAR_COLUMNS = "clear_columns"
    REMOVE_ROW = "remove_row"


class ColumnSpec(Contract):
    """One column of the table.

    Attributes:
        name: The name, unique in the table: letters, digits and `_`.
        type: SQL text such as `BIGINT`, `DECIMAL(10, 2)`, `TIMESTAMP(3)`, `STRING NOT NULL`.
        aggregate: The function that combines the column's values, in `aggregation` tables and in sequence
            groups of `partial-update` ones; None: the newest value.
        description: A description for people; kept in the table's schema.
        default: The value that is written for a record without one, as text such as `0`; only for
            columns that records of other streams do not affect. None: null.
        unordered: `allowed` admits that the column's value depends on the order in which records arrive: without a
            sequence group, or by its function. None: what the table says.
    """

    name: str = Field(min_length=1, examples=["dep_delay"])
    type: str = Field(min_length=1, max_length=TYPE_LENGTH_MAX, examples=["DECIMAL(10, 2)"])
    aggregate: AggregateSpec | None = None
    description: str | None = None
    default: str | None = None
    unordered: Unordered | None = None


class SequenceGroupSpec(Contract):
    """Columns that one stream owns, and the columns that order its versions.

    Attributes:
        name: The name, unique in the table; the stream of the same name owns the group unless another one
            declares it.
        ordering: Columns that order the versions of the group, most significant first, written
            by the owner. After them, or alone if None, records are ordered as they arrive, by
            `<name>__offset` and `<name>__partition`, which are filled from Kafka.
        columns: The protected columns: none of them is a key or an ordering column.
        deletes: The effect of the owner's deletes; None: that of the table's `deletes`.
        keep: Columns whose value a newer record can leave out: the row then keeps the older value. Each of
            them has an order of its own, in the generated column `<column>__order`. Declared with the column.
    """

    name: str = Field(min_length=1, examples=["departures"])
    ordering: tuple[str, ...] | None = Field(default=None, min_length=1)
    columns: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] = Field(min_length=1)
    deletes: Deletes | None = None
    keep: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] = ()


class DeleteRetentionSpec(Contract):
    """The age up to which compactions keep the deletes of removed rows.

    Until then a late record that is older than the delete does not restore the row.

    Attributes:
        seconds: Age of a delete from which compactions drop it, in seconds.
        columns: TIMESTAMP columns that a deleting record fills; the latest of them is the delete's time.
            None: `<group>__at` of the sequence groups that remove rows.
    """

    seconds: PositiveInt
    columns: tuple[str, ...] | None = Field(default=None, min_length=1)


class RowTtlSpec(Contract):
    """The time to live of the table's rows: expired rows are absent, and compactions remove them.

    Attributes:
        column: The time from which it counts: a declared column of type INT (seconds since 1970), BIGINT
            (seconds, or milliseconds from 10^12 on), TIMESTAMP (as if UTC) or TIMESTAMP_LTZ, or `<group>__at`.
            A row with null there never expires.
        seconds: Seconds from that time to the expiry.
    """

    column: str = Field(min_length=1, examples=["orders__at"])
    seconds: int = Field(ge=1, le=TTL_SECONDS_MAX, strict=True)


class TableSpec(Contract):
    """A table as its owner declares it; the name is in the address.

    Attributes:
        columns: The columns in the order in which readers see them; generated columns come after them.
        primary_key: Names of the key columns, which become NOT NULL.
        partition_keys: A proper subset of the primary key.
        buckets: Number of buckets of every partition, from 1 to 100,000; `braid table rescale`
            changes it, and the declaration with it.
        merge_engine: The rule that merges the versions of a row.
        sequence_groups: For `partial-update`; groups share no column.
        default_aggregate: The aggregate function of declared columns without one, except keys and
            ordering columns; None: `last_non_null_value` in `aggregation` tables.
        deletes: The effect of delete records; None: not declared.
        delete_retention: The age up to which deletes of removed rows are kept; None: until a
            compaction to the highest level.
        row_ttl: The time to live of rows; None: rows do not expire.
        tracking: Whether every group has the columns `<group>__at` and `<group>__op`, from which the
            status of rows is computed.
        staleness: The age at which a group's part of a row is stale; needs tracking.
        completeness: The groups that make a row complete.
        views: The feature views, at most 100.
        tests: Tests of the table with its streams.
        lookup_indexes: The lookup indexes, at most 8.
        unordered: `allowed` admits declarations that depend on the order in which records arrive:
            columns without a sequence group (if different jobs write two versions at once, the
            older one may win for good), and functions and deletes that are refused otherwise. A column
            can say so for itself alone.
        comment: A comment for people; kept in the table's schema.
        labels: Names and values by which people find the table; at most 32.
        owner: Who answers for the table; None: not declared.
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
    row_ttl: RowTtlSpec | None = None
    tracking: StrictBool = True
    staleness: StalenessSpec = Field(default_factory=StalenessSpec)
    completeness: CompletenessSpec = Field(default_factory=CompletenessSpec)
    views: Annotated[tuple[ViewSpec, ...], at_most(VIEWS_MAX)] = ()
    tests: TableTests = Field(default_factory=TableTests)
    lookup_indexes: Annotated[tuple[LookupIndexSpec, ...], at_most(INDEXES_MAX)] = ()
    unordered: Unordered = Unordered.REFUSED
    comment: str | None = None
    labels: Labels = Field(default_factory=dict, examples=[{"team": "payments"}])
    owner: Owner | None = Field(default=None, examples=["payments@shop.example"])
    options: Annotated[Mapping[str, str], at_most(OPTIONS_MAX)] = Field(default_factory=dict)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the declared columns, in order, without the generated ones."""
        return tuple(column.name for column in self.columns)

    @property
    def unordered_columns(self) -> frozenset[str]:
        """Names of the columns whose value may depend on the order in which records arrive."""
        return frozenset(
            column.name
            for column in self.columns
            if (column.unordered or self.unordered) is Unordered.ALLOWED
        )

    def sequence_group(self, name: str) -> SequenceGroupSpec | None:
        """Return the group of that name; None if there is none."""
        return next((group for group in self.sequence_groups if group.name == name), None)
