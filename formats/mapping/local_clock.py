"""Local clock of a time zone: the offset from UTC that applies when the clock shows a given time.

When clocks are set back, some local times occur twice: the earlier moment is taken. When clocks are set forward, some local
times are skipped: such a time is read with the offset before the change, as in `java.time`, so the result is later by the time
that was skipped.
"""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

_DAY_S: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
# What machines keep beside the zones of the database: their own zone, and second forms of the others.
_OF_MACHINE: Final = frozenset({"localtime", "posixrules", "posix", "right"})
_DAYS_MAX: Final = 4_096  # days whose offsets are remembered


class NoSuchTimeZone(ValueError):
    """No time zone has the name."""


class LocalClock:
    """The clocks of one zone."""

    def __init__(self, zone: str) -> None:
        """Find the zone.

        Args:
            zone: A name of the IANA database, such as `Europe/Berlin`.

        Raises:
            NoSuchTimeZone: There is no such zone.
        """
        message = f"no time zone has the name {zone!r}"
        if zone.partition("/")[0] in _OF_MACHINE:
            raise NoSuchTimeZone(message)
        try:
            self._zone = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, OSError, ValueError) as error:
            raise NoSuchTimeZone(message) from error
        self._offset_of_day: dict[int, int | None] = {}

    def offset(self, shown: int) -> int:
        """Return how far clocks are ahead of UTC, in seconds.

        Args:
            shown: What they show, in seconds since 1970-01-01 00:00; a moment of the years 1 to 9999.
        """
        moment = (_EPOCH + timedelta(seconds=shown)).replace(tzinfo=self._zone)
        offset = moment.utcoffset()
        assert offset is not None, "a moment with a zone has an offset"
        return int(offset.total_seconds())

    def offsets(self, shown: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return `offset` of many times."""
        days, places = np.unique(np.floor_divide(shown, _DAY_S), return_inverse=True)
        by_day = [self._of_day(int(day)) for day in days]
        found = np.array([0 if one is None else one for one in by_day], np.int64)[places]
        is_changing = np.array([one is None for one in by_day], bool)[places]
        for row in np.flatnonzero(is_changing).tolist():
            found[row] = self.offset(int(shown[row]))
        return found

    def _of_day(self, day: int) -> int | None:
        """Return the offset of a whole day; None where it changes."""
        if day not in self._offset_of_day:
            if len(self._offset_of_day) >= _DAYS_MAX:
                self._offset_of_day.clear()
            first, last = self.offset(day * _DAY_S), self.offset((day + 1) * _DAY_S - 1)
            self._offset_of_day[day] = first if first == last else None
        return self._offset_of_day[day]
