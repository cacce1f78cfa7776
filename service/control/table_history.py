"""Samples for the history of tables: what the reports of runners say of lag, rate, batches and sorted runs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from braid.registry.store.progress import current_report
from braid.schemas import HistoryName, RunnerProgress, StreamProgress

UNITS: Final[Mapping[HistoryName, str]] = {
    HistoryName.LAG_RECORDS: "records",
    HistoryName.LAG_SECONDS: "seconds",
    HistoryName.RATE: "records_per_second",
    HistoryName.BATCH_SECONDS: "seconds",
    HistoryName.SORTED_RUNS: "runs",
    HistoryName.COMPLETENESS: "ratio",
}


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey:
    """What a series is of.

    Attributes:
        table: `db.table`.
        name: What is measured.
        stream: The stream; empty: the whole table.
    """

    table: str
    name: HistoryName
    stream: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCount:
    """What was known of a stream at a sample, with which the next sample is compared.

    Attributes:
        records: Records that the stream has committed.
        commit_ms: Time of its newest commit, milliseconds since the epoch; None: not known.
        at_ms: Time of the report, milliseconds since the epoch.
    """

    records: int
    commit_ms: int | None
    at_ms: int


def stream_samples(
    runners: Iterable[RunnerProgress],
    before: Mapping[str, StreamCount],
    *,
    alive_since_ms: int,
) -> tuple[dict[SeriesKey, float], dict[str, StreamCount]]:
    """Return the values of all series that runners report, and the counts for the next sample.

    Args:
        runners: All reports.
        before: The counts at the sample before, by `<database>.<table>/<stream>`.
        alive_since_ms: A runner whose report is older is gone; milliseconds since the epoch.
    """
    alive = [runner for runner in runners if runner.is_alive(alive_since_ms)]
    values: dict[SeriesKey, float] = {}
    counts: dict[str, StreamCount] = {}
    for key in sorted({key for runner in alive for key in runner.streams}):
        report = current_report(alive, key, alive_since_ms=alive_since_ms)
        assert report is not None, "a living runner has the stream"
        table, _, stream = key.partition("/")
        counts[key] = StreamCount(
            records=report.progress.account.records,
            commit_ms=report.progress.last_commit_ms,
            at_ms=report.updated_ms,
        )
        for name, value in _stream_values(report.progress, counts[key], before.get(key)):
            values[SeriesKey(table, name, stream)] = value
    for table, runs in _sorted_runs(alive).items():
        values[SeriesKey(table, HistoryName.SORTED_RUNS)] = runs
    return values, counts


def _stream_values(
    progress: StreamProgress, count: StreamCount, before: StreamCount | None
) -> Iterator[tuple[HistoryName, float]]:
    if progress.lag_records is not None:
        yield HistoryName.LAG_RECORDS, progress.lag_records
    if progress.lag_seconds is not None:
        yield HistoryName.LAG_SECONDS, progress.lag_seconds
    if before is None:
        return
    # Fewer records: the table was dropped and made again.
    if count.at_ms > before.at_ms and count.records >= before.records:
        seconds = (count.at_ms - before.at_ms) / 1_000
        yield HistoryName.RATE, (count.records - before.records) / seconds
    if progress.batch_ms is not None and count.commit_ms != before.commit_ms:
        yield HistoryName.BATCH_SECONDS, progress.batch_ms / 1_000


def _sorted_runs(runners: Iterable[RunnerProgress]) -> dict[str, int]:
    """Return the largest number of sorted runs of a bucket by table.

    As the maintenance of a runner has found it; for tables that no runner maintains, as streams that write to the buckets have.
    """
    maintained: dict[str, int] = {}
    written: dict[str, int] = {}
    for runner in runners:
        for table, done in runner.tables.items():
            if done.looks:
                maintained[table] = max(maintained.get(table, 0), done.most_runs)
        for key, progress in runner.streams.items():
            if progress.back_pressure is not None:
                table = key.partition("/")[0]
                written[table] = max(written.get(table, 0), progress.back_pressure.runs)
    return written | maintained
