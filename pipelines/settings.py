"""Settings of a runner: bounds, intervals, the default budget of dead letters, and the waits before restarts of queries."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.pipelines.spark.target import LOCAL, SparkTarget

LEASE_TTL_MS = 15_000  # heartbeats come every PROGRESS_MS, renewals of a lease after a third of it
PROGRESS_MS = 2_000
REGISTRY_POLL_MS = 500
MAINTENANCE_MS = 1_000
MAX_SHARE = 0.5
TASK_MEMORY_MB = 768


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterBudget:
    """How many records of one micro-batch may be dead letters before the stream fails.

    The stream fails only if both bounds are exceeded: a few malformed messages never stop a stream, and a topic
    that does not match its stream's declaration does not drain into the dead-letter topic unnoticed.

    Attributes:
        records: Up to this many dead letters are always allowed.
        fraction: Up to this fraction of the micro-batch, 0..1, is always allowed; with 1 the stream never
            fails.
    """

    records: int = 1_000
    fraction: float = 0.5

    def __post_init__(self) -> None:
        """Check the bounds."""
        assert self.records >= 0, self.records
        assert 0 <= self.fraction <= 1, self.fraction

    def limit(self, records: int) -> int:
        """Return the most dead letters that a micro-batch with this many records may have."""
        return max(self.records, int(records * self.fraction))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """Waits before a query is started again after a failure that is not permanent; attempts are unlimited.

    Attributes:
        wait_ms_min: Wait before the first new start, milliseconds; doubled each time.
        wait_ms_max: Bound of the wait, milliseconds.
        crash_loop_starts: Failed starts without a commit that are a crash loop, if they come
        crash_loop_ms: within this time, milliseconds.
    """

    wait_ms_min: int = 1_000
    wait_ms_max: int = 60_000
    crash_loop_starts: int = 5
    crash_loop_ms: int = 600_000

    def wait_ms(self, attempt: int) -> int:
        """Return the wait before an attempt, counted from 1.

        >>> [RestartPolicy().wait_ms(attempt) for attempt in (1, 2, 3, 20)]
        [1000, 2000, 4000, 60000]
        """
        assert attempt >= 1, "attempts are counted from 1"
        return int(min(self.wait_ms_max, self.wait_ms_min * 2 ** min(attempt - 1, 32)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSettings:
    """The settings of one runner process.

    Attributes:
        warehouse: Where tables and the registry are.
        clusters: The Kafka clusters that the runner's streams may read from.
        name: The runner's name, unique among the runners of the warehouse.
        streams: The streams that the runner may host, as `database.table/stream` or `database.table`;
            empty: any.
        labels: The runner's labels, of which streams may require some.
        streams_max: The most streams that it has at once; None: no bound.
        cores: Tasks of one micro-batch that run at once.
        max_share: The largest share of the runner's task slots that one stream occupies, above 0 up to 1.
        task_memory_mb: Memory of the rows that one task holds, megabytes: of the writer's buffer, and of twice as much during
            a flush.
        memory: Heap of the driver's JVM, as Spark writes it.
        target: Where the tasks run.
        work_dir: Scratch and checkpoints, emptied of both at each start; None: a
            temporary directory that is removed at the end.
        lease_ttl_ms: How long a runner keeps its streams without a heartbeat, and tables without renewing their leases.
        poll_ms: Interval between two polls of the registry and the queries, milliseconds.
        progress_ms: Interval between two reports, which are the runner's heartbeats, milliseconds.
        drain_seconds: How long a runner that is asked to end lets others take its streams one by one, seconds.
        budget: Dead letters allowed in one micro-batch of a stream that declares no budget.
        restarts: When failed queries start again.
        maintains: Whether the runner compacts and expires the tables whose streams it hosts.
        maintenance_ms: Interval between two polls for maintenance that is due, milliseconds.
        maintenance_workers: Buckets that the runner compacts at once, each in a process of its own.
        metrics_port: Port for metrics and probes; 0: any free port; None: none is opened.
        metrics_host: The address to listen at for these.
    """

    warehouse: str
    name: str
    clusters: KafkaClusters = field(default_factory=KafkaClusters)
    streams: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    streams_max: int | None = None
    cores: int = 2
    max_share: float = MAX_SHARE
    task_memory_mb: int = TASK_MEMORY_MB
    memory: str = "1g"
    target: SparkTarget = LOCAL
    work_dir: Path | None = None
    lease_ttl_ms: int = LEASE_TTL_MS
    poll_ms: int = REGISTRY_POLL_MS
    progress_ms: int = PROGRESS_MS
    drain_seconds: float = 5
    budget: DeadLetterBudget = field(default_factory=DeadLetterBudget)
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    maintains: bool = True
    maintenance_ms: int = MAINTENANCE_MS
    maintenance_workers: int = 1
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"

    @property
    def task_slots(self) -> int:
        """Spark tasks that run at once, of all streams together.

        Example:
            >>> RunnerSettings(warehouse="/w", name="r", cores=4, max_share=0.5).task_slots
            8
        """
        assert 0 < self.max_share <= 1, self.max_share
        return math.ceil(self.cores / self.max_share)
