"""Lists of tables, streams, runners and clusters, as the service answers them."""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from braid.schemas.access import Grant
from braid.schemas.contract import Contract, Labels, Owner
from braid.schemas.document import DesiredState
from braid.schemas.progress import StreamState
from braid.schemas.status import StreamStatus


class ListOrder(StrEnum):
    """The order of a list; with `-`, the largest come first. Entries without the value come last in both.

    `lag` is in records, `freshness` in seconds, and states are ordered from those that need attention to RUNNING.
    """

    NAME = "name"
    NAME_LAST = "-name"
    LAG = "lag"
    LAG_LARGEST = "-lag"
    STATE = "state"
    STATE_LAST = "-state"
    FRESHNESS = "freshness"
    FRESHNESS_WORST = "-freshness"

    @property
    def is_descending(self) -> bool:
        """Whether the largest come first."""
        return self.startswith("-")

    @property
    def by(self) -> str:
        """The value by which entries are ordered."""
        return self.removeprefix("-")


class Expansion(StrEnum):
    """What the entries of a list have besides what is always there."""

    STATUS = "status"


def _is_none(value: object) -> bool:
    return value is None


class TableStatus(Contract):
    """The status of a table's streams and of its maintenance, as runners last reported. A field that is None is not known.

    Attributes:
        states: Number of streams by state.
        lag_records: Sum of the known lags of its streams, in records.
        lag_seconds: The largest known lag of a stream, in seconds.
        freshness_seconds: The largest freshness of its streams: how long ago the oldest record was written that a stream which
            should run has not committed yet; without a measured lag, the time since the stream's newest commit.
        last_commit_at: Time of the newest commit of a stream, ISO 8601, UTC.
        most_runs: Largest number of sorted runs of a bucket.
        compaction_trigger: Number of runs at which a compaction is due.
        maintenance_error: The current failure of the maintenance; None also if there is none.
    """

    states: Mapping[StreamState, int] = Field(default_factory=dict)
    lag_records: int | None = None
    lag_seconds: float | None = None
    freshness_seconds: float | None = None
    last_commit_at: str | None = None
    most_runs: int | None = None
    compaction_trigger: int | None = None
    maintenance_error: str | None = None


class TableSummary(Contract):
    """A registered table in a list. Fields that are not asked for are left out.

    Attributes:
        database: The table's database.
        name: The table's name.
        labels: Its labels, with `expand=status`, or if the list is filtered or ordered by what the declaration has.
        owner: Who answers for it, in the same cases.
        streams: Number of its streams, in the same cases.
        status: The status, with `expand=status`.
        error: Why its declaration cannot be read; None: it can.
    """

    database: str
    name: str
    labels: Labels | None = Field(default=None, exclude_if=_is_none)
    owner: Owner | None = Field(default=None, exclude_if=_is_none)
    streams: int | None = Field(default=None, exclude_if=_is_none)
    status: TableStatus | None = Field(default=None, exclude_if=_is_none)
    error: str | None = Field(default=None, exclude_if=_is_none)


class TableList(Contract):
    """One page of tables.

    Attributes:
        tables: The tables; may be few or none although there is a next page.
        next_page_token: Token of the next page; None on the last one.
    """

    tables: tuple[TableSummary, ...]
    next_page_token: str | None


class StreamSummary(Contract):
    """A registered stream in a list.

    Attributes:
        database: The database of the stream's table.
        table: The table's name.
        name: The stream's name.
        topic: The Kafka topic.
        sequence_group: The group that the stream owns; None: none.
        desired_state: The state that its owner has requested.
        version: Version of its declaration.
        labels: Its labels.
        owner: Who answers for it; None: not declared.
        state: Its state, as its runner last reported.
        lag_records: Records that wait; None: not known.
        freshness_seconds: See `TableStatus.freshness_seconds`; None: not known.
        status: The whole status, with `expand=status`; without what only the table knows, such as backfills.
    """

    database: str
    table: str
    name: str
    topic: str
    sequence_group: str | None
    desired_state: DesiredState
    version: int
    labels: Labels
    owner: Owner | None
    state: StreamState
    lag_records: int | None
    freshness_seconds: float | None
    status: StreamStatus | None = Field(default=None, exclude_if=_is_none)


class StreamSummaryList(Contract):
    """One page of the streams of all tables.

    Attributes:
        streams: The streams; may be few or none although there is a next page.
        next_page_token: Token of the next page; None on the last one.
    """

    streams: tuple[StreamSummary, ...]
    next_page_token: str | None


class ClientView(Contract):
    """The client of a request, and what it may do.

    Attributes:
        name: The name of its token, or the one that its issuer gives; `anonymous` if the service has no access control.
        grants: Its scopes, each with the tables for which it has them.
    """

    name: str
    grants: tuple[Grant, ...]


class ServiceLimits(Contract):
    """Bounds of what a service takes; what exceeds them is refused.

    Attributes:
        head_bytes: Size of the request line and the headers.
        body_bytes: Size of a body.
        bulk_body_bytes: Size of a body with many keys, or of tests.
        json_depth: Levels of the JSON of a body.
        page_size: Entries of a page of a list.
        keys: Keys of a lookup or a subscription, and rows of a page of a scan.
        records: Records of a push.
        schema_changes: Schema changes of a request.
        columns: Columns of a table.
        streams: Streams of a verb for many streams.
        tables: Tables that these belong to.
        operations: Operations of the warehouse that have not ended.
        subscriptions: Open subscriptions of a process.
        connections: Open connections of a process.
        snapshot_wait_seconds: The longest wait for a snapshot that a request demands.
    """

    head_bytes: int
    body_bytes: int
    bulk_body_bytes: int
    json_depth: int
    page_size: int
    keys: int
    records: int
    schema_changes: int
    columns: int
    streams: int
    tables: int
    operations: int
    subscriptions: int
    connections: int
    snapshot_wait_seconds: float


class ApiDescription(Contract):
    """What a service can do.

    Attributes:
        api: Version of the API, with which its addresses begin.
        version: Version of the program.
        formats: Types of messages that streams may have.
        merge_engines: Merge engines that tables may have.
        features: Features of declarations that this version knows; it does not change a table that needs another one.
        pushes: Whether records can be pushed to some topics.
        client: The client that asks.
        limits: Bounds of requests.
    """

    api: str
    version: str
    formats: tuple[str, ...]
    merge_engines: tuple[str, ...]
    features: tuple[str, ...]
    pushes: bool
    client: ClientView
    limits: ServiceLimits | None = None


class FunctionOptionView(Contract):
    """An option of an aggregate function.

    Attributes:
        field: The field of `aggregate` in a declaration; null: the option is one of `options` there.
        option: The option of the table format, after `fields.<column>.`.
        value: What the value is.
        default: What the function does without the option, or the value that it has then; null: it has to be given.
        meaning: What the option does.
    """

    field: str | None
    option: str
    value: str
    default: str | None
    meaning: str


class AggregationView(Contract):
    """An aggregate function that columns may have.

    Attributes:
        name: Its name in declarations.
        aliases: Older names of it.
        custom: Whether a package provides it; else it is one of the table format.
        summary: What the value of the column becomes.
        types: The types of columns that may have it.
        null: What it does with a null.
        older_value: What it does with a value that comes late.
        retract: What it does with a value that is taken back; null: it cannot take values back.
        order_free: Whether any order of arrival gives the same value.
        options: Its options.
    """

    name: str
    aliases: tuple[str, ...]
    custom: bool
    summary: str
    types: str
    null: str
    older_value: str
    retract: str | None
    order_free: bool
    options: tuple[FunctionOptionView, ...]


class AggregationList(Contract):
    """The aggregate functions that columns may have: those of the table format, then those that packages provide.

    Attributes:
        functions: The functions.
        unreadable: Names of functions whose packages cannot be loaded.
    """

    functions: tuple[AggregationView, ...]
    unreadable: tuple[str, ...] = ()


class ExecutorsView(Contract):
    """Executors of a runner on a Spark cluster.

    Attributes:
        running: Executors that run.
        lost: Executors that have ended since the start of the runner, by themselves or with their machines.
        last_lost_host: Host and port of the last of these; null: none was lost.
        last_lost_reason: Why it ended, as Spark tells it.
        last_lost_at: When the runner noticed, ISO 8601, UTC.
    """

    running: int
    lost: int
    last_lost_host: str | None
    last_lost_reason: str | None
    last_lost_at: str | None


class RunnerView(Contract):
    """A runner, as it last reported.

    Attributes:
        name: The runner's name.
        alive: Whether its last report is recent; the streams of a runner that is gone continue with another one.
        started_at: Start of the process, ISO 8601, UTC.
        reported_at: Time of the report, ISO 8601, UTC.
        streams: The streams that it has, `<database>.<table>/<stream>`, with their states.
        tables: The tables that it compacts, `<database>.<table>`.
        labels: Its labels, of which streams may require some.
        streams_max: The most streams that it has at once; None: no bound.
        drained: Whether it is drained: it gets no stream, and gives its streams away one by one.
        ending: Whether it ends as soon as its streams have moved.
        executors: Its executors on a Spark cluster; null where its tasks run on its own machine.
    """

    name: str
    alive: bool
    started_at: str
    reported_at: str
    streams: Mapping[str, StreamState]
    tables: tuple[str, ...]
    labels: Labels = Field(default_factory=dict)
    streams_max: int | None = None
    drained: bool = False
    ending: bool = False
    executors: ExecutorsView | None = None


class RunnerDrain(Contract):
    """How far the drain of a runner is.

    Attributes:
        runner: The runner's name.
        drained: Whether it is drained.
        joined: Whether a process of the name has joined the runners of the warehouse, and has not left them.
        streams: The streams that it still has, `<database>.<table>/<stream>`.
    """

    runner: str
    drained: bool
    joined: bool
    streams: tuple[str, ...]


class RunnerList(Contract):
    """All runners that have ever reported, by name.

    Attributes:
        runners: The runners.
        unreadable: Names of the runners whose reports cannot be read.
    """

    runners: tuple[RunnerView, ...]
    unreadable: tuple[str, ...] = ()


class ClusterView(Contract):
    """A Kafka cluster that streams may name; its address and logins are in the operators' file alone.

    Attributes:
        name: The name.
        push: Whether records can be pushed to topics of the cluster.
    """

    name: str
    push: bool


class ClusterList(Contract):
    """The Kafka clusters and schema registries that streams may name, by name.

    Attributes:
        clusters: The clusters.
        schema_registries: Names of the schema registries.
    """

    clusters: tuple[ClusterView, ...]
    schema_registries: tuple[str, ...]
