"""Texts of points in time, as answers contain them."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1_024)  # answers that are read from one snapshot have the same times
def iso_utc(time_ms: int) -> str:
    """Return milliseconds since the epoch as ISO 8601 in UTC.

    Example:
        >>> iso_utc(1_700_000_000_001)
        '2023-11-14T22:13:20.001Z'
    """
    moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
