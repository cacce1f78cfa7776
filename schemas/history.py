"""History of a table: series of its streams and of itself over the last hours, for charts."""

from enum import StrEnum

from braid.schemas.contract import Contract


class HistoryName(StrEnum):
    """What a series measures; the first four by stream, the others of the whole table."""

    LAG_RECORDS = "lag_records"
    LAG_SECONDS = "lag_seconds"
    RATE = "rate"
    BATCH_SECONDS = "batch_seconds"
    SORTED_RUNS = "sorted_runs"
    COMPLETENESS = "completeness"


class HistorySeries(Contract):
    """The values of one series.

    Attributes:
        name: What is measured.
        stream: The stream; None: the whole table.
        unit: `records`, `seconds`, `records_per_second`, `runs`, or `ratio` (from 0 to 1).
        values: One value for each of the history's times, with seven significant digits; None: not known then.
    """

    name: HistoryName
    stream: str | None
    unit: str
    values: tuple[float | None, ...]


class TableHistory(Contract):
    """Series of a table, all at the same times.

    Attributes:
        times: Times of the samples, oldest first, milliseconds since the epoch, UTC.
        series: The series with a value at one of these times, in the order of names and streams.
    """

    times: tuple[int, ...]
    series: tuple[HistorySeries, ...]
