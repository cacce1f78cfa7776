"""Requests and answers of the HTTP API that no other contract describes. The service and its client share them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from braid.schemas import (
    Contract,
    DesiredState,
    FieldProblem,
    GroupState,
    Hypothesis,
    SampleResult,
    SnapshotInfo,
    StreamSpec,
    TableChange,
    TableSpec,
)
from braid.schemas.contract import StrictBool, at_most

SNAPSHOT_ID_MAX: Final = 2**63 - 1
KEYS_MAX: Final = 1_000
COLUMNS_MAX: Final = 5_000
_WRONG_VALUES_MAX: Final = 5
_KEY_VALUES_TYPE: Final = "key_values_type"


def _check_value_types(key: Any) -> Any:
    """Report many wrong values of a key as one error: pydantic reports each once per type of the union."""
    if isinstance(key, Mapping):
        wrong = sum(not isinstance(value, str | int | float) for value in key.values())
        if wrong > _WRONG_VALUES_MAX:
            message = "{count} values are neither text, number nor boolean"
            raise PydanticCustomError(_KEY_VALUES_TYPE, message, {"count": wrong})
    return key


RowKey = Annotated[dict[str, str | bool | int | float], BeforeValidator(_check_value_types)]


class ColumnView(Contract):
    """A column of the stored table.

    Attributes:
        name: The column's name.
        type: The type as canonical SQL text.
        made_for: The sequence group that the column was generated for; None for a declared column.
    """

    name: str
    type: str
    made_for: str | None


class TableView(Contract):
    """A registered table.

    Attributes:
        database: The first part of the table's identifier.
        name: The second part.
        created_at: Creation time, ISO 8601, UTC.
        spec: The declaration.
        columns: All columns, including generated ones, in the order in which readers see them.
        streams: Names of the table's streams.
        schema_id: Id of the newest schema.
        schema_since: Creation time of that schema, ISO 8601, UTC; None: not known.
    """

    database: str
    name: str
    created_at: str
    spec: TableSpec
    columns: tuple[ColumnView, ...]
    streams: tuple[str, ...]
    schema_id: int
    schema_since: str | None


class SchemaView(Contract):
    """One schema of a table.

    Attributes:
        schema_id: The schema's id.
        since: The schema's creation time, ISO 8601, UTC; None: not known.
        changes: The changes from the previous schema, in the form of a request; empty for the
            first schema. Options of columns are listed as options of the table format.
    """

    schema_id: int
    since: str | None
    changes: tuple[TableChange, ...]


class SchemaList(Contract):
    """All schemas of a table, newest first.

    Attributes:
        schemas: The schemas, newest first.
    """

    schemas: tuple[SchemaView, ...]


class Visibility(StrEnum):
    """Which committed records the rows of a table have that hides new ones until a compaction; other tables hide none."""

    COMPACTED = "compacted"  # those that other readers of the table see
    MERGED = "merged"  # all


class Integers(StrEnum):
    """How values of 64-bit integers are written as JSON."""

    NUMBER = "number"
    TEXT = "text"  # for clients that read numbers as DOUBLE, which holds 53 bits


class RequestedState(Contract):
    """The state of a table that is read; by default the newest.

    Attributes:
        snapshot_id: The snapshot to read.
        tag: A tag, whose snapshot is read.
        timestamp: A point in time, as milliseconds since 1970 UTC or ISO 8601 with a zone: the newest
            snapshot committed then or before is read.
        min_snapshot: Id of the oldest snapshot that may answer.
        max_staleness_ms: How long ago the snapshot may have been verified to be the newest, milliseconds.
        read_after: Token of a push, whose records the snapshot must have taken in.
        visibility: Whether new records are merged although the table hides them until a compaction.
    """

    snapshot_id: int | None = Field(default=None, ge=1, le=SNAPSHOT_ID_MAX, strict=True)
    tag: str | None = None
    timestamp: str | int | None = None
    min_snapshot: int | None = Field(default=None, ge=0, le=SNAPSHOT_ID_MAX, strict=True)
    max_staleness_ms: int | None = Field(default=None, ge=0, le=SNAPSHOT_ID_MAX, strict=True)
    read_after: str | None = None
    visibility: Visibility = Visibility.COMPACTED


class RowKeys(RequestedState):
    """Keys whose rows are requested, and the state to read.

    Attributes:
        keys: The keys, each with a value for every column of the primary key: text as in an address, or a
            JSON number or boolean.
        columns: The columns of the rows, in order; None: all.
        integers: How values of BIGINT are written as JSON.
    """

    keys: Annotated[tuple[RowKey, ...], at_most(KEYS_MAX)]
    columns: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] | None = None
    integers: Integers = Integers.NUMBER


class StatusFilter(Contract):
    """Rows by their status: those that fulfil every condition.

    Attributes:
        groups: By sequence group, the states of which the group has one; a single state may be a text.
        complete: Whether the row is complete by the table's rule; None: either.
    """

    groups: Annotated[
        Mapping[str, GroupState | Annotated[tuple[GroupState, ...], at_most(len(GroupState))]],
        at_most(COLUMNS_MAX),
    ] = Field(default_factory=dict)
    complete: bool | None = Field(default=None, strict=True)


class RowScan(RequestedState):
    """The rows of a range of keys, page by page in the order of the primary key, and the state to read.

    Attributes:
        prefix: Values of the first columns of the primary key, which all rows have.
        starts_with: What the text of the key's next column begins with.
        from_key: The first key of the range, or values of its first columns.
        to_key: The first key after the range, or values of its first columns.
        status: Conditions on the status of rows; None: none.
        columns: The columns of the rows, in order; None: all.
        limit: The largest number of rows of a page.
        page_token: Token of the page before, which stands for all other fields but `limit` and `integers`; None: the first page.
        integers: How values of BIGINT are written as JSON.
    """

    prefix: RowKey = Field(default_factory=dict)
    starts_with: str | None = None
    from_key: RowKey = Field(default_factory=dict)
    to_key: RowKey = Field(default_factory=dict)
    status: StatusFilter | None = None
    columns: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] | None = None
    limit: int = Field(default=100, ge=1, le=KEYS_MAX, strict=True)
    page_token: str | None = None
    integers: Integers = Integers.NUMBER


class RowSubscription(Contract):
    """A subscription to rows of a table.

    Attributes:
        keys: The keys, as in `RowKeys`; None: all keys of the table.
        columns: The columns of the rows, in order; None: all.
        from_: `now`, or the id of the snapshot after which changes are wanted, 0 for all; None: now.
        initial: Whether the present rows are sent first.
        cursor: The `id` of an event, after which changes are wanted.
    """

    keys: Annotated[tuple[RowKey, ...], at_most(KEYS_MAX)] | None = None
    columns: Annotated[tuple[str, ...], at_most(COLUMNS_MAX)] | None = None
    from_: str | int | None = Field(default=None, alias="from", examples=["now"])
    initial: StrictBool = False
    cursor: str | None = None


class RowHypothesis(RequestedState, Hypothesis):
    """A row, and a change of the records that it is merged from.

    Attributes:
        key: A value for every column of the primary key, as one of `RowKeys`.
    """

    key: RowKey


class WideRows(Contract):
    """Rows, and the snapshot that all of them were read from.

    Attributes:
        rows: One row per key, in the order of the keys, as in `WideRow`; None if the row does not exist.
        snapshot: The snapshot that the rows were read from.
    """

    rows: tuple[Mapping[str, Any] | None, ...]
    snapshot: SnapshotInfo


class RowPage(Contract):
    """One page of rows, in the order of the primary key.

    Attributes:
        rows: The rows, as in `WideRow`; may be few or none although there is a next page.
        rows_examined: Number of rows that were read, of which `rows` fulfil the conditions.
        snapshot: The snapshot that all pages are read from.
        next_page_token: Token of the next page; None on the last one.
    """

    rows: tuple[Mapping[str, Any], ...]
    rows_examined: int
    snapshot: SnapshotInfo
    next_page_token: str | None


class IndexRows(Contract):
    """One page of the rows with some values of the columns of a lookup index.

    Attributes:
        rows: The rows, as in `WideRow`, in an order that is the same for all pages.
        snapshot: The snapshot that the rows were read from.
        next_page_token: Token of the next page; None on the last one.
    """

    rows: tuple[Mapping[str, Any], ...]
    snapshot: SnapshotInfo
    next_page_token: str | None


class TableInspection(Contract):
    """One page of a view of a table's metadata.

    Attributes:
        view: Name of the view.
        columns: Names of the view's columns, in order.
        rows: Rows of this page, by column; times are ISO 8601.
        rows_total: Number of rows of the whole view.
    """

    view: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    rows_total: int


class RowChange(Contract):
    """A change of a row by a snapshot.

    Attributes:
        snapshot_id: The snapshot.
        kind: `+I` inserted, `-U` values before an update, `+U` values after it, `-D` deleted.
        row: Values by column.
    """

    snapshot_id: int
    kind: Literal["+I", "-U", "+U", "-D"]
    row: dict[str, Any]


class ChangesPage(Contract):
    """One page of the changes of a range of snapshots, oldest first.

    Attributes:
        changes: The changes of this page; may be empty although there is a next page.
        after_snapshot_id: The last snapshot before the range.
        until_snapshot_id: The last snapshot of the range, after which the next range begins.
        next_page_token: Token of the next page; None on the last one.
    """

    changes: tuple[RowChange, ...]
    after_snapshot_id: int
    until_snapshot_id: int
    next_page_token: str | None


class ConsumerPosition(Contract):
    """The position of a consumer.

    Attributes:
        next_snapshot_id: The first snapshot that the consumer still needs; it and all later ones are kept.
    """

    next_snapshot_id: int = Field(ge=1, le=SNAPSHOT_ID_MAX, strict=True)


class ConsumerView(Contract):
    """A consumer or a lease, which keeps snapshots from expiring.

    Attributes:
        id: The id, unique in the table.
        next_snapshot_id: The first snapshot that the consumer or lease needs; None if its file cannot be read.
        written_at: Time of the last update, ISO 8601, UTC, by storage's clock.
        leased_until: Deadline of a lease, ISO 8601, UTC; None for a consumer, which has none.
        holder: Description of the lease's holder, for people.
        error: Why the file cannot be read; such a file keeps all snapshots from expiring until a day after
            it was written, and none from then on.
    """

    id: str
    next_snapshot_id: int | None
    written_at: str
    leased_until: str | None
    holder: str | None
    error: str | None = None


class ConsumerList(Contract):
    """All consumers and leases of a table, by id.

    Attributes:
        consumers: The consumers and leases, by id.
    """

    consumers: tuple[ConsumerView, ...]


class StreamView(Contract):
    """A registered stream.

    Attributes:
        database: The database of the stream's table.
        table: The table's name.
        name: The stream's name.
        desired_state: The state that its owner has requested.
        restart_generation: A number that grows whenever the query is to start anew: by a verb, or by a change of a
            stream that has completed.
        version: A number that grows with each change of the stream, and with each schema change of columns
            that it writes; the stream's status has the version that its runner applies.
        spec: The definition with all defaults filled in.
    """

    database: str
    table: str
    name: str
    desired_state: DesiredState
    restart_generation: int
    version: int
    spec: StreamSpec


class StreamList(Contract):
    """All streams of a table, by name.

    Attributes:
        streams: The streams, by name.
    """

    streams: tuple[StreamView, ...]


class Validation(Contract):
    """The result of a dry run.

    Attributes:
        valid: Whether the request would be accepted.
        errors: All problems of the request.
        plan: What the request would do, in words, one effect each; empty if it would be refused.
    """

    valid: bool
    errors: tuple[FieldProblem, ...]
    plan: tuple[str, ...] = ()


class StreamValidation(Validation):
    """The result of a dry run of a stream.

    Attributes:
        samples: What would become of each sample record, in their order; None: the definition is refused, or
            the request has no samples.
    """

    samples: tuple[SampleResult, ...] | None = None


class Health(Contract):
    """The process is running.

    Attributes:
        status: `alive`.
        version: The version of the program.
        uptime_seconds: Time since the process was started, seconds.
    """

    status: Literal["alive"] = "alive"
    version: str
    uptime_seconds: float


class Readiness(Contract):
    """The process can serve requests: it has just tested the warehouse.

    Attributes:
        status: `ready`.
    """

    status: Literal["ready"] = "ready"
