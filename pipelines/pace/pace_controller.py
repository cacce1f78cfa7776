"""Controller of the pace of one stream's query: applies the interval and the size of micro-batches.

The rule in `back_pressure` derives the pace from the runs of the table's buckets and the sizes of records
(`batch_bytes`). This module applies the pace. Two threads do so, because the two parts of a pace are applied in
different places:

    part of the pace         applied by                  how
    interval between starts  Spark's query thread        `hold` delays the end of a micro-batch, and thereby
                                                         Spark's next one; also until another bound is applied,
                                                         five seconds at most
    bound of a micro-batch   the supervisor's thread     an option of Spark's source: Spark's query is stopped
                                                         and started again with the new bound

A query is best stopped while it is held, because then no work is lost. `interrupted` wakes a query that
is held, so that stopping it does not wait for the rest of the interval:

    query thread        write, commit ── `measure` ── `hold` ┄┄┄┄┄┄┐ (stopped here) ── next micro-batch
    supervisor's thread        `due_bound` ── `interrupted`: wake ─┴─ stop ── start with the new bound

The first micro-batch of a query has at most `FIRST_RECORDS_MAX` records, so that a runner that starts with a backlog
commits early. If the first micro-batch has that many, the query is held after it, and started again with the bound of
the pace.

Tasks never wait, and commits are never undone.
"""

import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from braid.lake import Clock, LakeError, Table
from braid.pipelines.maintenance_requests import MaintenanceRequests
from braid.pipelines.pace.back_pressure import Pace, PaceRule
from braid.pipelines.pace.batch_bytes import BytesRule
from braid.records.stream_plan import StreamPlan

_LOG = logging.getLogger(__name__)
FIRST_RECORDS_MAX: Final = 20_000
"""The largest number of records in the first micro-batch of a query: Spark compiles and loads its classes during it, which
makes each record several times as expensive as later."""

# The supervisor looks twice a second. Where it waits for Kafka, one more micro-batch has the former bound.
_BOUND_WAIT_MS = 5_000


class PaceController:
    """The pace of one query, and its handshake between Spark's query thread and the supervisor's.

    Query thread: `measure`, `hold`. Supervisor's thread: `due_bound`, `interrupted`, `release`. Any thread:
    `pace`, `records_max`. Each attribute is written by one thread and replaced as a whole.
    """

    def __init__(
        self,
        plan: StreamPlan,
        *,
        table: Table,
        clock: Clock,
        requests: MaintenanceRequests | None = None,
        first_records_max: int = FIRST_RECORDS_MAX,
    ) -> None:
        """Begin at the declared pace.

        Args:
            plan: The stream; trigger and bound of a running query never change.
            table: The table, in an object of the query's own.
            clock: The clock that decides when an interval ends.
            requests: Asked for maintenance as soon as a bucket has more runs than the compaction trigger; None: by nobody.
            first_records_max: The largest number of records in a micro-batch until another bound is applied.
        """
        self._requests = requests or MaintenanceRequests()
        self._key = plan.key
        self._trigger_ms = plan.spec.interval_ms
        self._declared_records_max = plan.spec.max_records_per_batch
        self._bytes_max = plan.spec.max_bytes_per_batch
        self._message_bytes_max = plan.spec.max_message_bytes
        self._table = table
        self._clock = clock
        self._pace = self._rule().first()
        self._records_max = min(first_records_max, self._pace.records_max)
        self._newest_records = 0
        self._is_held = False
        self._released = threading.Event()

    @property
    def pace(self) -> Pace:
        """The pace at which the stream has to write now."""
        return self._pace

    @property
    def records_max(self) -> int:
        """The bound of a micro-batch that Spark's query is to be started with."""
        return self._records_max

    def measure(
        self,
        buckets: Collection[tuple[bytes, int]],
        *,
        batch_ms: int,
        records: int = 0,
        size: int = 0,
    ) -> None:
        """Set the pace by what a committed micro-batch was, and the runs that it has left to compaction.

        Args:
            buckets: The buckets that the micro-batch wrote to, as (partition, bucket).
            batch_ms: Duration of the micro-batch, milliseconds.
            records: Number of its records.
            size: The sum of their sizes, bytes.
        """
        self._newest_records = records
        runs, sizes = self._most_runs(buckets), self._pace.sizes.after(records, size)
        if runs is not None and runs > self._rule().relaxed_runs:
            self._requests.request()
        if runs is not None or sizes != self._pace.sizes:
            self._pace = self._rule().next(self._pace, runs=runs, batch_ms=batch_ms, sizes=sizes)

    def _most_runs(self, buckets: Collection[tuple[bytes, int]]) -> int | None:
        """Return the largest number of runs of some buckets; None where it is not known."""
        if not buckets:
            return None
        try:
            runs = self._table.runs_per_bucket()
        except (LakeError, OSError) as error:
            # The batch is committed: an error in measuring the pace must not fail it.
            _LOG.warning("sorted runs cannot be counted stream=%s error=%s", self._key, error)
            return None
        return max(runs.get(bucket, 0) for bucket in buckets)

    def hold(self, *, started_ms: int) -> None:
        """Return when the next micro-batch may start: at once, unless there is back-pressure or another bound is due.

        Args:
            started_ms: Start time of the micro-batch that has just ended, milliseconds since the epoch.
        """
        # Without back-pressure Spark's own trigger keeps the interval.
        if self._pace.factor > 1:
            rest_ms = started_ms + self._pace.interval_ms - self._clock.now_ms()
        elif self.due_bound(self._newest_records) is not None:
            rest_ms = _BOUND_WAIT_MS
        else:
            return
        assert not self._is_held, "one micro-batch ends at a time"
        self._is_held = True
        self._released.wait(max(0, rest_ms) / 1_000)
        self._is_held = False

    def due_bound(self, batch_records: int | None) -> int | None:
        """Return the bound with which Spark's query has to be started again; None: it continues.

        A restart interrupts the query, so it is made only where it matters. Without back-pressure: for a smaller
        bound, which is the end of back-pressure or follows from larger records, and for a larger one once
        micro-batches have a quarter of the records that the present bound admits. Under back-pressure: for any other
        bound, while the query is held and its micro-batches have as many records as the smaller of both bounds.

        Args:
            batch_records: Records of the newest micro-batch; None before the first.
        """
        pace = self._pace
        if pace.records_max == self._records_max:
            return None
        if pace.factor == 1 and pace.records_max < self._records_max:
            return pace.records_max
        read, bound = batch_records or 0, min(self._records_max, pace.records_max)
        # The bound is one of offsets, of which markers of transactions take a part.
        is_due = read * 4 >= bound if pace.factor == 1 else read >= bound and self._is_held
        return pace.records_max if is_due else None

    @contextmanager
    def interrupted(self, records_max: int) -> Iterator[None]:
        """Let the caller stop Spark's query without waiting for its interval, and start it with another bound.

        Args:
            records_max: The bound, from `due_bound`.
        """
        _LOG.info(
            "the bound of micro-batches changes stream=%s records=%d>%d",
            self._key,
            self._records_max,
            records_max,
        )
        assert records_max > 0, "a micro-batch has a bound"
        self.release()
        yield
        # Reset only after the query has stopped: else it could be held again while it is being stopped.
        self._released.clear()
        self._records_max = records_max

    def release(self) -> None:
        """Wake a query that is held, and stop holding it: it is about to be stopped."""
        self._released.set()

    def _rule(self) -> PaceRule:
        # Made anew each time: the table's options may have changed.
        options = self._table.schema.table_options
        return PaceRule(
            trigger_ms=self._trigger_ms,
            records_max=self._declared_records_max,
            relaxed_runs=options.num_sorted_run_compaction_trigger,
            runs_max=options.num_sorted_run_stop_trigger,
            in_bytes=None
            if self._bytes_max is None
            else BytesRule(
                records_max=self._declared_records_max,
                bytes_max=self._bytes_max,
                message_bytes_max=self._message_bytes_max,
            ),
        )
