"""Models of requests and answers about tables and streams."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from schemas import Contract, DesiredState, FieldProblem, SnapshotInfo, StreamSpec, TableSpec
from schemas.contract import at_most

SNAPSHOT_ID_MAX: Final = 2**63 - 1
KEYS_MAX: Final = 1_000
_WRONG_VALUES_TOLD: Final = 5
_KEY_VALUES_TYPE: Final = "key_values_type"


def _not_all_wrong(key: Any) -> Any:
    """Tell of many wrong values of a key at once: pydantic tells each once per type of the union."""
    if isinstance(key, Mapping):
        wrong = sum(not isinstance(value, str | int | float) for value in key.values())
        if wrong > _WRONG_VALUES_TOLD:
            message = "{count} values are neither text nor numbers nor true or false"
            raise PydanticCustomError(_KEY_VALUES_TYPE, message, {"count": wrong})
    return key


RowKey = Annotated[dict[str, str | bool | int | float], BeforeValidator(_not_all_wrong)]


class ColumnView(Contract):
    """A column as it is on storage.

    Attributes:
        name: Its name.
        type: Canonical SQL text.
        made_for: The sequence group that it was made for; None when it was declared.
    """

    name: str
    type: str
    made_for: str | None


class TableView(Contract):
    """A registered table.

    Attributes:
        database: The first part of its identifier.
        name: The second part.
        created_at: ISO 8601, UTC.
        spec: The declaration.
        columns: All columns, the generated ones too, in the order of readers.
        streams: Names of its streams.
        schema_id: The schema that the table has now.
        schema_since: Since when, ISO 8601, UTC; None: not known.
    """

    database: str
    name: str
    created_at: str
    spec: TableSpec
    columns: tuple[ColumnView, ...]
    streams: tuple[str, ...]
    schema_id: int
    schema_since: str | None


class TableName(Contract):
    """The name of a table."""

    database: str
    name: str


class TableList(Contract):
    """One page of tables, in alphabetical order.

    Attributes:
        tables: Names.
        next_page_token: Asks for the next page; None on the last one.
    """

    tables: tuple[TableName, ...]
    next_page_token: str | None


class RowKeys(Contract):
    """Keys whose rows are asked for.

    Attributes:
        keys: Each a value for every column of the primary key: text as in an address, or a JSON
            number or boolean.
        snapshot_id: The snapshot to read; without it, tag and timestamp the newest.
        tag: The tag to read instead.
        timestamp: Instead: the newest snapshot committed then or before, as milliseconds since 1970
            UTC, or ISO 8601 with a zone.
    """

    keys: Annotated[tuple[RowKey, ...], at_most(KEYS_MAX)]
    snapshot_id: int | None = Field(default=None, ge=1, le=SNAPSHOT_ID_MAX, strict=True)
    tag: str | None = None
    timestamp: str | int | None = None


class WideRows(Contract):
    """Rows and the snapshot that all were read from.

    Attributes:
        rows: One per key, in their order, as `WideRow` has it; None where there is no row.
        snapshot: Where they were read.
    """

    rows: tuple[Mapping[str, Any] | None, ...]
    snapshot: SnapshotInfo


class TableInspection(Contract):
    """Some rows of a view of a table.

    Attributes:
        view: Which one.
        columns: Names, in order.
        rows: Of this answer, by column; times are ISO 8601.
        rows_total: Of the whole view.
    """

    view: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    rows_total: int


class RowChange(Contract):
    """What a snapshot did to a row.

    Attributes:
        snapshot_id: The snapshot.
        kind: `+I` it is new, `-U` its old values, `+U` its new ones, `-D` it is gone.
        row: Values by column.
    """

    snapshot_id: int
    kind: Literal["+I", "-U", "+U", "-D"]
    row: dict[str, Any]


class ChangesPage(Contract):
    """Some of the changes of a range of snapshots, oldest first.

    Attributes:
        changes: Those of this page; there may be none although there is a next one.
        after_snapshot_id: The last snapshot before the range.
        until_snapshot_id: The last one of the range: where to go on after the last page.
        next_page_token: Asks for the next page; None on the last one.
    """

    changes: tuple[RowChange, ...]
    after_snapshot_id: int
    until_snapshot_id: int
    next_page_token: str | None


class ConsumerPosition(Contract):
    """How far a consumer has come.

    Attributes:
        next_snapshot_id: The first snapshot that it still needs; this and all later ones stay.
    """

    next_snapshot_id: int = Field(ge=1, le=SNAPSHOT_ID_MAX, strict=True)


class ConsumerView(Contract):
    """Somebody who needs snapshots.

    Attributes:
        id: Unique in the table.
        next_snapshot_id: The first that is needed; None when the consumer cannot be read.
        written_at: When it was last set, ISO 8601, UTC, by storage's clock.
        leased_until: Of a lease, ISO 8601, UTC; None for a consumer, which stays.
        holder: Who took the lease, for people.
        error: Why the consumer cannot be read; it keeps all snapshots until a day after it was
            written, and then none.
    """

    id: str
    next_snapshot_id: int | None
    written_at: str
    leased_until: str | None
    holder: str | None
    error: str | None = None


class ConsumerList(Contract):
    """All consumers and leases of a table, by id."""

    consumers: tuple[ConsumerView, ...]


class StreamView(Contract):
    """A registered stream.

    Attributes:
        database: Of its table.
        table: The table's name.
        name: The stream's name.
        desired_state: What its owner wants.
        restart_generation: How often a restart was asked for.
        version: Grows with each change of the stream, or of the table in what the stream writes;
            its status says which one its runner follows.
        spec: The stream, with everything filled in that was left out.
    """

    database: str
    table: str
    name: str
    desired_state: DesiredState
    restart_generation: int
    version: int
    spec: StreamSpec


class StreamList(Contract):
    """All streams of a table, by name."""

    streams: tuple[StreamView, ...]


class Validation(Contract):
    """What a registration would come to.

    Attributes:
        valid: Whether it would be accepted.
        errors: Everything that speaks against it.
    """

    valid: bool
    errors: tuple[FieldProblem, ...]


class Health(Contract):
    """The process answers."""

    status: Literal["alive"] = "alive"
    version: str
    uptime_seconds: float


class Readiness(Contract):
    """The process can do its work: the warehouse was tried just now."""

    status: Literal["ready"] = "ready"
