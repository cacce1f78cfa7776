"""Pace rule: how fast a stream writes if compaction is behind. Pure: no clock, thread or table.

A pace also includes the bound of a micro-batch in bytes, which `batch_bytes` expresses as a number of records.

Every commit adds a sorted run to each bucket that it writes to, and compaction merges them. Reads of a bucket
with more runs than `num-sorted-run.stop-trigger` are slow, so the streams that write there commit less often
and more at once:

    runs of a bucket                                    factor
    more than num-sorted-run.stop-trigger * factor      doubles, up to 8
    at most num-sorted-run.compaction-trigger           halves, down to 1
    at most num-sorted-run.stop-trigger, four in a row  halves, down to 1
    otherwise                                           stays

After each micro-batch the factor is set by the largest number of runs among the buckets that the batch wrote to. The
factor multiplies two numbers. One is the declared interval between the starts of two batches, or the duration of a
batch if that is longer; the product is at most a minute (`INTERVAL_MS_MAX`) or the declared interval. The other is the
declared number of records of a batch, after `batch_bytes` has halved it. So the stream may write as much per second as
before: its latency grows, but its backlog does not. Compaction has fewer and larger files to merge.

The factor grows with the number of runs, not with the number of micro-batches that find too many: while one large
compaction runs for seconds, every micro-batch does, and the stream would be eight times as slow for long after it.

The range between the two triggers is a hysteresis: the factor does not change with every run that is added or merged.
After four micro-batches in this range the factor halves nevertheless, because a bucket may stay there even if
compaction keeps up: a merge of level 0 leaves one run more than the compaction trigger, and every stream adds a run.
"""

from dataclasses import dataclass
from typing import Final

from braid.pipelines.pace.batch_bytes import NO_SIZES, BytesRule, RecordSizes

FACTOR_MAX: Final = 8
INTERVAL_MS_MAX: Final = 60_000
"""The longest interval that back-pressure makes; one that is declared longer stays."""

CALM_BATCHES: Final = 4
"""Micro-batches in a row between the two triggers after which the factor halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast a stream writes.

    Attributes:
        factor: The factor, a power of two; 1: the declared pace.
        runs: Largest number of runs among the buckets that the newest batch wrote to; None before the first.
        calm: Micro-batches in a row, since the factor changed, that left no bucket with more runs than the stop trigger.
        interval_ms: Least time between the starts of two micro-batches, milliseconds.
        records_max: The largest number of records in a micro-batch.
        halvings: How often the declared number of records is halved because of their size.
        sizes: The sizes of the records of the newest micro-batches.
    """

    factor: int
    runs: int | None
    interval_ms: int
    records_max: int
    calm: int = 0
    halvings: int = 0
    sizes: RecordSizes = NO_SIZES


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceRule:
    """What a stream and its table declare.

    Attributes:
        trigger_ms: Interval between two micro-batches; 0: each begins when the one before has ended.
        records_max: The largest number of records in a micro-batch.
        relaxed_runs: With at most this many runs in a bucket the factor halves.
        runs_max: With more than this many runs, times the factor, the factor doubles.
        in_bytes: The bound in bytes; None: none is declared.
    """

    trigger_ms: int
    records_max: int
    relaxed_runs: int
    runs_max: int
    in_bytes: BytesRule | None = None

    def first(self) -> Pace:
        """Return the pace as declared."""
        halvings = 0 if self.in_bytes is None else self.in_bytes.first()
        return self._pace(1, runs=None, calm=0, batch_ms=0, halvings=halvings, sizes=NO_SIZES)

    def next(
        self, pace: Pace, *, runs: int | None, batch_ms: int, sizes: RecordSizes | None = None
    ) -> Pace:
        """Return the pace after a micro-batch.

        Args:
            pace: The pace before the micro-batch.
            runs: Largest number of runs among the buckets that the micro-batch wrote to; None: it wrote to none.
            batch_ms: Duration of the micro-batch. Where batches take longer than their trigger, the interval
                is a multiple of their duration, because a multiple of the trigger might not delay anything.
            sizes: The sizes of records, those of the micro-batch included; None: as before.

        Example:
            >>> rule = PaceRule(trigger_ms=1_000, records_max=100, relaxed_runs=5, runs_max=8)
            >>> pressed = rule.next(rule.first(), runs=9, batch_ms=300)
            >>> pressed.factor, pressed.interval_ms, pressed.records_max
            (2, 2000, 200)
        """
        factor, calm = pace.factor, pace.calm
        if runs is None:
            runs = pace.runs
        elif runs > self.runs_max * factor:
            factor, calm = min(FACTOR_MAX, factor * 2), 0
        elif runs > self.runs_max:
            calm = 0
        elif runs <= self.relaxed_runs or calm + 1 >= CALM_BATCHES:
            factor, calm = max(1, factor // 2), 0
        else:
            calm += 1
        sizes = pace.sizes if sizes is None else sizes
        halvings = 0 if self.in_bytes is None else self.in_bytes.next(pace.halvings, sizes)
        return self._pace(
            factor, runs=runs, calm=calm, batch_ms=batch_ms, halvings=halvings, sizes=sizes
        )

    def _pace(
        self,
        factor: int,
        *,
        runs: int | None,
        calm: int,
        batch_ms: int,
        halvings: int,
        sizes: RecordSizes,
    ) -> Pace:
        assert 1 <= factor <= FACTOR_MAX, factor
        interval_ms = self.trigger_ms
        if factor > 1:
            longest_ms = max(INTERVAL_MS_MAX, self.trigger_ms)
            interval_ms = min(longest_ms, factor * max(self.trigger_ms, batch_ms))
        return Pace(
            factor=factor,
            runs=runs,
            calm=calm,
            interval_ms=interval_ms,
            records_max=factor * max(1, self.records_max >> halvings),
            halvings=halvings,
            sizes=sizes,
        )
