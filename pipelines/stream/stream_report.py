"""Report of one stream in the progress document of its runner: state, lag, dead letters, and committed records.

One thread writes the report; any thread may read `progress`.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from braid.lake import Clock
from braid.pipelines.kafka.lag import LagMeter
from braid.pipelines.pace.back_pressure import Pace
from braid.pipelines.sink.sink_progress import SinkProgress
from braid.pipelines.stream.dead_letter_counts import counts_before
from braid.pipelines.stream.group_mirror import MirrorState
from braid.pipelines.stream.load_meter import LoadMeter
from braid.schemas import (
    Account,
    BackPressure,
    MirrorProgress,
    StreamFailure,
    StreamProgress,
    StreamState,
    TopicOffsets,
)


class StreamReport:
    """The report of one stream, which outlives its queries."""

    def __init__(
        self, *, measure_ms: int, clock: Clock, dead_letters: Callable[[], Mapping[str, int]]
    ) -> None:
        """Begin with the state UNASSIGNED.

        Args:
            measure_ms: Interval between two reads of the topic's end, milliseconds.
            clock: The clock for the lag.
            dead_letters: Returns the numbers of dead letters of the stream, by reason, that runners
                have reported. Called here and once for each query that starts; raises nothing.
        """
        self._measure_ms = measure_ms
        self._clock = clock
        self._dead_letters = dead_letters
        self._measured_ms = 0
        self._meter = LagMeter()
        self._load = LoadMeter()
        # Dead letters from before the running query. Reported from the start: this report may replace the
        # report that had them.
        self._counted: Counter[str] = Counter(dict(dead_letters()))
        self._progress = StreamProgress(
            state=StreamState.UNASSIGNED, dead_letters_by_reason=dict(self._counted)
        )

    @property
    def progress(self) -> StreamProgress:
        """The latest report of the stream."""
        return self._progress

    def measure_anew(self) -> None:
        """Forget what was measured, because another query begins."""
        self._measured_ms = 0
        self._meter = LagMeter()
        self._load = LoadMeter()
        self._update(load=None)

    def count_before(self, done: SinkProgress | None) -> None:
        """Determine how many dead letters the stream had before a query that has just started.

        Args:
            done: What the query has committed so far.
        """
        # This process's count may be newer than any report of this runner, and another runner may have had
        # the stream since: each count only grows, so the larger one of each reason is right.
        known = Counter(dict(self._progress.dead_letters_by_reason))
        known |= Counter(dict(self._dead_letters()))
        if done is None:
            self._counted = Counter(counts_before(known, dead_lettered=0))
            return
        # What the query itself has committed since its start does not count as earlier.
        own = Counter(dict(done.dead_letters))
        known |= Counter(dict(done.position.letters.by_reason)) - own
        total = done.position.account.dead_lettered - own.total()
        self._counted = Counter(counts_before(known, dead_lettered=total))

    def note_contact(self, *, storage_ms: int | None = None, broker_ms: int | None = None) -> None:
        """Note when storage or Kafka answered, in milliseconds since the epoch; None: unchanged."""
        if storage_ms is not None:
            self._update(storage_reached_ms=storage_ms)
        if broker_ms is not None:
            self._update(broker_reached_ms=broker_ms)

    def measure(
        self,
        done: SinkProgress | None,
        end: Callable[[], Mapping[int, int]],
        *,
        beginning: Mapping[int, int],
    ) -> bool:
        """Measure how far the stream is behind its topic, if the next measurement is due.

        Args:
            done: What the query has committed.
            end: Returns the topic's end by partition. If it raises, the lag becomes unknown and the
                exception is raised.
            beginning: First offset that the topic had when the query started, by partition.

        Returns:
            Whether the topic's end was read.
        """
        # A negative difference: the clock was set back.
        if 0 <= self._clock.now_ms() - self._measured_ms < self._measure_ms:
            return False
        try:
            if done is None:
                return False
            offsets = end()
        except Exception:
            self._forget_lag()
            raise
        finally:
            # Some answers take long: the interval to the next measurement begins here.
            self._measured_ms = self._clock.now_ms()
        now_ms = self._clock.now_ms()
        self.note_contact(broker_ms=now_ms)
        lag = self._meter.measure(
            offsets=done.position.offsets, end=offsets, newest_ms=done.newest_ms, now_ms=now_ms
        )
        self._update(
            end_offsets=dict(offsets),
            lag_records=lag.records,
            lag_seconds=lag.seconds,
            topic_offsets=TopicOffsets(
                beginning=dict(beginning), end=dict(offsets), measured_ms=now_ms
            ),
        )
        return True

    def set_state(
        self,
        state: StreamState,
        *,
        generation: int,
        trace: str | None,
        failure: StreamFailure | None = None,
    ) -> None:
        """Report a state.

        Args:
            state: The state.
            generation: `restart_generation` of the entry that the current query was started for; 0: none.
            trace: Why the stream has failed; ignored for STARTING, which keeps the last trace.
            failure: The reason as fields; ignored for STARTING, too.
        """
        if state is StreamState.STARTING:
            # An attempt may take long; until it ends, the failure before it stays reported.
            trace, failure = self._progress.trace, self._progress.failure
        if state is not StreamState.RUNNING:
            self._forget_lag()
        self._update(state=state, trace=trace, failure=failure, restart_generation=generation)

    def note_progress(self, done: SinkProgress | None) -> None:
        """Report what a query has committed."""
        if done is None:
            return
        position, pace, version = done.position, done.pace, done.plan_version
        if version is not None:
            self._update(
                schema_id=version.schema_id,
                stream_version=version.stream_version,
                followed_ms=version.since_ms,
            )
        self._update(
            epoch=position.epoch,
            topic_id=position.topic_id,
            generation=position.generation,
            offsets=dict(position.offsets),
            account=Account(
                accepted=position.account.accepted,
                folded=position.account.folded,
                ignored=position.account.ignored,
                dead_lettered=position.account.dead_lettered,
            ),
            last_commit_snapshot=done.snapshot_id,
            last_commit_ms=position.commit_time_ms,
            dead_letters_by_reason=dict(self._counted + Counter(dict(done.dead_letters))),
            batch_id=done.batch_id,
            batch_records=done.batch_records,
            batch_ms=done.batch_ms,
            back_pressure=None if pace is None else _back_pressure(pace),
            records_since_start=done.records,
            unmatched_columns=dict(done.unmatched),
            unmatched_fields=done.unmatched_fields,
            load=self._load.measure(
                commits=done.commits, batch_ms=done.batch_ms, now_ms=self._clock.now_ms()
            ),
        )

    def note_mirror(self, mirror: MirrorState | None) -> None:
        """Report what was mirrored in a consumer group; None: no mirror is declared."""
        if mirror is None:
            self._update(mirror=None)
            return
        reported = MirrorProgress(
            group=mirror.group, mirrored_ms=mirror.mirrored_ms, error=mirror.error
        )
        self._update(mirror=reported)

    def _forget_lag(self) -> None:
        """Report no lag: while the topic's end is not read, an old value would look like a new one."""
        self._update(end_offsets={}, lag_records=None, lag_seconds=None)

    def _update(self, **values: object) -> None:
        # Replaced as a whole, so that a reader in another thread sees one state or the next.
        self._progress = self._progress.model_copy(update=values)


def _back_pressure(pace: Pace) -> BackPressure:
    return BackPressure(
        factor=pace.factor,
        runs=pace.runs or 0,
        interval_ms=pace.interval_ms,
        records_max=pace.records_max,
    )
