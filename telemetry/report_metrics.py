"""Metrics of streams, tables and runners, from the reports of runners.

A runner shows its own report, `braid maintain` its tables, and the service the reports of all runners. So a stream may have the same
series at several processes: `max by (table, stream)` takes each once. Names of tables, streams and runners are labels up to a bound;
the others are one series each, with the label `other`.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from braid.lake import Clock, LakeError
from braid.registry.store.progress import Report, current_report
from braid.schemas import RunnerProgress, StreamProgress, StreamState, TableProgress

NAMES_MAX: Final = 2_000
"""Streams, and tables, that have a series of their own."""

OTHER: Final = "other"

logger = logging.getLogger(__name__)

_WITHOUT_RUNNER: Final = (StreamState.STOPPED, StreamState.COMPLETED, StreamState.EXTERNAL)
"""States in which no runner has the stream, because nobody wants one to have it."""

_Labels = tuple[str, ...]
_Combine = Callable[[float, float], float]


def _add(one: float, other: float) -> float:
    return one + other


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """A metric.

    Attributes:
        name: Its name; that of a counter without `_total`.
        kind: Whether it only grows.
        help: What it measures, with the unit.
        labels: Names of its labels, of which the first is the table or the runner.
        combine: How the values of two series become that of `other`.
    """

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: _Labels
    combine: _Combine = _add

    def metric(self, values: Mapping[_Labels, float]) -> Metric:
        """Return the metric with its samples."""
        make = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        found = make(self.name, self.help, labels=self.labels)
        for labels, value in values.items():
            found.add_metric(list(labels), value)
        return found


_STREAM: Final = ("table", "stream")
_TABLE: Final = ("table",)


def _gauge(name: str, meaning: str, labels: _Labels, combine: _Combine = max) -> _Family:
    return _Family(name=name, kind="gauge", help=meaning, labels=labels, combine=combine)


def _counter(name: str, meaning: str, labels: _Labels) -> _Family:
    return _Family(name=name, kind="counter", help=meaning, labels=labels)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000


_STATE: Final = _gauge(
    "braid_stream_state",
    "1 for the state that the stream is in, such as RUNNING, RETRYING or FAILED.",
    (*_STREAM, "state"),
    _add,
)
_RECORDS: Final = _counter(
    "braid_stream_records",
    "Records of the topic that the stream has committed, by outcome: accepted, folded, ignored or dead_lettered.",
    (*_STREAM, "outcome"),
)
_LETTERS: Final = _counter(
    "braid_stream_dead_letters", "Dead letters of the stream, by reason.", (*_STREAM, "reason")
)
_RUNNER_AGE: Final = _gauge(
    "braid_runner_report_age_seconds",
    "Age of the runner's last report, which a living runner writes every few seconds; none of a runner that has ended in order.",
    ("runner",),
    min,
)
_HELD: Final = _gauge(
    "braid_runner_leases",
    "Streams that the runner has, and leases of tables' maintenance that it holds, by kind: stream, or maintenance.",
    ("runner", "kind"),
    _add,
)
_READABLE: Final = _gauge(
    "braid_reports_readable",
    "Whether the reports of runners could be read for this answer; if not, it has no metrics of streams and tables.",
    (),
)

_OF_STREAM: Final[Sequence[tuple[_Family, Callable[[StreamProgress], float | None]]]] = (
    (
        _gauge("braid_stream_lag_records", "Records of the topic that are not committed.", _STREAM, _add),
        lambda one: one.lag_records,
    ),
    (
        _gauge("braid_stream_lag_seconds", "Age of the oldest record that is not committed.", _STREAM),
        lambda one: one.lag_seconds,
    ),
    (
        _gauge("braid_stream_last_commit_timestamp_seconds", "Time of the newest commit, seconds since 1970.", _STREAM, min),
        lambda one: _seconds(one.last_commit_ms),
    ),
    (
        _gauge("braid_stream_batch_duration_seconds", "Duration of the newest micro-batch.", _STREAM),
        lambda one: _seconds(one.batch_ms),
    ),
    (
        _gauge("braid_stream_batch_records", "Records of the newest micro-batch.", _STREAM),
        lambda one: one.batch_records,
    ),
    (
        _gauge("braid_stream_back_pressure_factor", "Slowdown because compaction is behind; 1 is none.", _STREAM),
        lambda one: None if one.back_pressure is None else one.back_pressure.factor,
    ),
    (
        _gauge("braid_stream_failed_attempts", "Consecutive failures of the stream without a commit.", _STREAM),
        lambda one: 0 if one.failure is None else one.failure.attempts,
    ),
    (
        _gauge("braid_stream_crash_loop", "1 while starts of the stream fail again and again without a commit.", _STREAM),
        lambda one: 0 if one.failure is None else int(one.failure.crash_loop),
    ),
)  # fmt: skip

_OF_TABLE: Final[Sequence[tuple[_Family, Callable[[TableProgress], float | None]]]] = (
    (
        _gauge("braid_table_sorted_runs", "Largest number of sorted runs of a bucket, all of which each read merges.", _TABLE),
        lambda one: one.most_runs,
    ),
    (_gauge("braid_table_files", "Live data files.", _TABLE, _add), lambda one: one.files),
    (
        _gauge("braid_table_file_bytes", "Size of the live data files.", _TABLE, _add),
        lambda one: one.file_bytes,
    ),
    (_gauge("braid_table_buckets", "Buckets with files.", _TABLE, _add), lambda one: one.buckets),
    (
        _gauge("braid_table_newest_snapshot", "Id of the newest snapshot.", _TABLE),
        lambda one: one.snapshot_id,
    ),
    (
        _gauge("braid_table_snapshots", "Snapshots that are kept.", _TABLE, _add),
        lambda one: one.snapshots,
    ),
    (
        _gauge("braid_table_maintenance_failing", "1 while a compaction, a poll or an expiry of the table fails.", _TABLE),
        lambda one: float(one.error is not None),
    ),
    (
        _counter("braid_table_maintenance_failures", "Compactions, polls and expiries that failed.", _TABLE),
        lambda one: one.failures,
    ),
    (_counter("braid_table_compactions", "Compactions of a bucket.", _TABLE), lambda one: one.compactions),
    (
        _counter("braid_table_compactions_dropped", "Compactions that were dropped because of a conflicting commit.", _TABLE),
        lambda one: one.dropped,
    ),
    (
        _counter("braid_table_compaction_rows_read", "Rows that compactions have read.", _TABLE),
        lambda one: one.rows_in,
    ),
    (
        _counter("braid_table_compaction_rows_written", "Rows that compactions have written, or moved with their files.", _TABLE),
        lambda one: one.rows_out,
    ),
    (
        _counter("braid_table_snapshots_expired", "Snapshots that expiry has removed.", _TABLE),
        lambda one: one.expired,
    ),
)  # fmt: skip

_FAMILIES: Final = (
    _STATE,
    _RECORDS,
    _LETTERS,
    *(family for family, _ in _OF_STREAM),
    *(family for family, _ in _OF_TABLE),
    _RUNNER_AGE,
    _HELD,
)


class ReportMetrics(Collector):
    """The metrics of reports, read when they are collected."""

    def __init__(
        self,
        reports: Callable[[], Sequence[RunnerProgress]],
        *,
        clock: Clock,
        runner_timeout_ms: int,
        names_max: int = NAMES_MAX,
        declared: Callable[[], Mapping[str, StreamState]] = dict,
    ) -> None:
        """Collect nothing yet.

        Args:
            reports: Returns the reports.
            clock: Tells the age of reports.
            runner_timeout_ms: Age of a runner's report from which it counts as gone, milliseconds.
            names_max: Streams, tables and runners with series of their own, each.
            declared: Returns the states that streams are in while no living runner reports them, by
                `<database>.<table>/<stream>`. The state of a stream that is not among them follows from its
                newest report.
        """
        self._reports = reports
        self._declared = declared
        self._clock = clock
        self._runner_timeout_ms = runner_timeout_ms
        self._names_max = names_max
        self._is_failing = False

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without samples."""
        for family in (_READABLE, *_FAMILIES):
            yield family.metric({})

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics with their samples; those of reports without any while the reports cannot be read."""
        try:
            runners = self._reports()
        except (LakeError, OSError) as error:
            if not self._is_failing:
                logger.warning("metrics lack streams: reports cannot be read error=%s", error)
            self._is_failing = True
            yield _READABLE.metric({(): 0.0})
            return
        self._is_failing = False
        yield _READABLE.metric({(): 1.0})
        now_ms = self._clock.now_ms()
        alive_since_ms = now_ms - self._runner_timeout_ms
        alive = [runner for runner in runners if runner.is_alive(alive_since_ms)]
        samples: dict[str, list[tuple[_Labels, float]]] = defaultdict(list)
        for family, labels, value in chain(
            _stream_samples(runners, self._declared(), alive_since_ms=alive_since_ms),
            _table_samples(alive),
            _runner_samples(runners, now_ms=now_ms),
            _lease_samples(alive),
        ):
            samples[family.name].append((labels, value))
        for family in _FAMILIES:
            yield family.metric(self._bounded(family, samples[family.name]))

    def _bounded(
        self, family: _Family, samples: Iterable[tuple[_Labels, float]]
    ) -> dict[_Labels, float]:
        """Return the values of a metric by labels, those of names beyond the bound as one."""
        width = len(_STREAM) if family.labels[: len(_STREAM)] == _STREAM else 1
        names: set[_Labels] = set()
        values: dict[_Labels, float] = {}
        for labels, value in samples:
            name = labels[:width]
            if name not in names and len(names) >= self._names_max:
                name = (OTHER,) * width
            else:
                names.add(name)
            shown = (*name, *labels[width:])
            known = values.get(shown)
            values[shown] = value if known is None else family.combine(known, value)
        return values


def _stream_samples(
    runners: Sequence[RunnerProgress],
    declared: Mapping[str, StreamState],
    *,
    alive_since_ms: int,
) -> Iterator[tuple[_Family, _Labels, float]]:
    reported = {key for runner in runners for key in runner.streams}
    # In the order of names, so that the same streams have series of their own each time.
    for key in sorted(reported | declared.keys()):
        report = current_report(runners, key, alive_since_ms=alive_since_ms)
        table, _, stream = key.partition("/")
        name = (table, stream)
        state = _state(report, declared.get(key), alive_since_ms=alive_since_ms)
        yield _STATE, (*name, state.value), 1.0
        if report is None or state is StreamState.UNASSIGNED:
            continue  # there is no report, or it is old
        progress = report.progress
        account = progress.account
        for outcome in ("accepted", "folded", "ignored", "dead_lettered"):
            yield _RECORDS, (*name, outcome), getattr(account, outcome)
        for reason, count in progress.dead_letters_by_reason.items():
            yield _LETTERS, (*name, reason), count
        for family, value_of in _OF_STREAM:
            value = value_of(progress)
            if value is not None:
                yield family, name, value


def _state(
    report: Report | None, declared: StreamState | None, *, alive_since_ms: int
) -> StreamState:
    """Return the state of a stream from its newest report, and the one that it is in without a living runner."""
    if report is not None and report.is_alive(alive_since_ms):
        return report.progress.state
    if declared is not None:
        return declared
    assert report is not None, "a runner has reported the stream, or it is declared"
    state = report.progress.state
    return state if state in _WITHOUT_RUNNER else StreamState.UNASSIGNED


def _table_samples(runners: Iterable[RunnerProgress]) -> Iterator[tuple[_Family, _Labels, float]]:
    reported = [
        (table, progress) for runner in runners for table, progress in runner.tables.items()
    ]
    # A table that has just moved to another runner is in the reports of both: the one with more polls is kept.
    newest = dict(sorted(reported, key=lambda one: (one[0], one[1].looks)))
    for table, progress in newest.items():
        for family, value_of in _OF_TABLE:
            value = value_of(progress)
            if value is not None:
                yield family, (table,), value


def _runner_samples(
    runners: Iterable[RunnerProgress], *, now_ms: int
) -> Iterator[tuple[_Family, _Labels, float]]:
    # Living runners first: those that are beyond the bound are the ones that went longest ago.
    for runner in sorted(runners, key=lambda one: -one.updated_ms):
        if runner.has_ended:
            continue  # nobody has to look for it
        yield _RUNNER_AGE, (runner.runner,), max(0, now_ms - runner.updated_ms) / 1_000


def _lease_samples(runners: Iterable[RunnerProgress]) -> Iterator[tuple[_Family, _Labels, float]]:
    without = (StreamState.UNASSIGNED, *_WITHOUT_RUNNER)
    for runner in runners:
        streams = sum(one.state not in without for one in runner.streams.values())
        yield _HELD, (runner.runner, "stream"), streams
        yield _HELD, (runner.runner, "maintenance"), len(runner.tables)
