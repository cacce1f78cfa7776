"""History of tables: samples of the last hours in bounded memory, taken by a thread of the process.

All series are sampled at the same times, so each is a ring of numbers, and one more ring has the times. A series exists from its
first value until all values in its ring are unknown.
"""

import logging
import math
import threading
from array import array
from collections.abc import Mapping
from typing import Final

from braid.lake import Clock, LakeError
from braid.schemas import HistoryName, HistorySeries, TableHistory
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.table_history import UNITS, SeriesKey, StreamCount, stream_samples
from braid.service.serving.completeness_counts import CompletenessCounts

SAMPLE_S: Final = 15.0
HISTORY_MINUTES: Final = 240
SAMPLES_MAX: Final = HISTORY_MINUTES * 60 // int(SAMPLE_S)
SERIES_MAX: Final = 10_000
"""Series of all tables, 4 KB each: those of 2,500 streams. Further ones are left out."""

_COUNT_AGE_MS_MAX: Final = 60_000
"""Age from which a count of complete rows says nothing of now."""

logger = logging.getLogger(__name__)


class History:
    """The samples of all series; safe between threads."""

    def __init__(self, *, samples_max: int = SAMPLES_MAX, series_max: int = SERIES_MAX) -> None:
        """Keep no sample yet.

        Args:
            samples_max: Samples that are kept; of more, the oldest are forgotten.
            series_max: Series that are kept at once.
        """
        self._samples_max = samples_max
        self._series_max = series_max
        self._taken = (
            0  # samples ever taken; their number modulo `samples_max` is their place in the rings
        )
        self._times = array("q", [0]) * samples_max
        self._rings: dict[SeriesKey, array[float]] = {}
        self._last: dict[SeriesKey, int] = {}  # the number of the newest sample with a value
        self._lock = threading.Lock()

    def add(self, at_ms: int, values: Mapping[SeriesKey, float]) -> None:
        """Add a sample; series without a value in it are unknown at this time.

        Args:
            at_ms: Milliseconds since the epoch.
            values: The values by series.
        """
        with self._lock:
            place, self._taken = self._taken % self._samples_max, self._taken + 1
            self._times[place] = at_ms
            for key in [key for key in self._rings if key not in values]:
                if self._taken - self._last[key] >= self._samples_max:
                    del self._rings[key], self._last[key]
                else:
                    self._rings[key][place] = math.nan
            for key, value in values.items():
                ring = self._rings.get(key)
                if ring is None:
                    if len(self._rings) >= self._series_max:
                        continue
                    ring = self._rings[key] = array("f", [math.nan]) * self._samples_max
                ring[place] = value
                self._last[key] = self._taken

    def of_table(self, table: str, *, since_ms: int) -> TableHistory:
        """Return the series of a table.

        Args:
            table: `db.table`.
            since_ms: Older samples are left out; milliseconds since the epoch.
        """
        with self._lock:
            kept = range(max(0, self._taken - self._samples_max), self._taken)
            places = [number % self._samples_max for number in kept]
            places = [place for place in places if self._times[place] >= since_ms]
            times = tuple(self._times[place] for place in places)
            found = {
                key: [ring[place] for place in places]
                for key, ring in self._rings.items()
                if key.table == table
            }
        return TableHistory(
            times=times,
            series=tuple(
                HistorySeries(
                    name=key.name,
                    stream=key.stream or None,
                    unit=UNITS[key.name],
                    values=tuple(map(_number, values)),
                )
                for key, values in sorted(found.items())
                if not all(map(math.isnan, values))
            ),
        )


def _number(value: float) -> float | None:
    """Return a value as JSON has it, without the digits that a ring of 32-bit numbers does not keep."""
    return None if math.isnan(value) else float(f"{value:.7g}")


class HistoryRecorder:
    """Takes the samples of a process, in a thread. Started once, and closed at the end.

    Attributes:
        history: The samples.
    """

    def __init__(
        self,
        reports: RecentReports,
        completeness: CompletenessCounts,
        clock: Clock,
        *,
        runner_timeout_ms: int,
        history: History | None = None,
    ) -> None:
        """Take no sample yet.

        Args:
            reports: The reports of runners.
            completeness: The counts of complete rows that requests have caused.
            clock: Tells the times of samples.
            runner_timeout_ms: Age of a runner's report from which it counts as gone, milliseconds.
            history: Where the samples are kept; None: a new one.
        """
        self.history = history or History()
        self._reports = reports
        self._completeness = completeness
        self._clock = clock
        self._runner_timeout_ms = runner_timeout_ms
        self._counts: Mapping[str, StreamCount] = {}
        self._is_failing = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Take a sample now, and another every few seconds."""
        threading.Thread(target=self._run, name="history", daemon=True).start()

    def close(self) -> None:
        """Take no further sample; does not wait."""
        self._ended.set()

    def record(self) -> None:
        """Take one sample.

        Raises:
            LakeError: The reports cannot be read.
        """
        runners = self._reports.get().runners
        now_ms = self._clock.now_ms()
        values, self._counts = stream_samples(
            runners, self._counts, alive_since_ms=now_ms - self._runner_timeout_ms
        )
        for table, counted in self._completeness.newest().items():
            if counted.rows and now_ms - counted.measured_ms <= _COUNT_AGE_MS_MAX:
                key = SeriesKey(table, HistoryName.COMPLETENESS)
                values[key] = counted.complete / counted.rows
        self.history.add(now_ms, values)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.record()
                self._is_failing = False
            except (LakeError, OSError) as error:
                if not self._is_failing:
                    logger.warning("the history has a gap: reports cannot be read error=%s", error)
                self._is_failing = True
            self._ended.wait(SAMPLE_S)
