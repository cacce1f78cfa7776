"""Points in time as text."""

import pytest

from braid.service.times import iso_utc


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [(0, "1970-01-01T00:00:00.000Z"), (1_700_000_000_999, "2023-11-14T22:13:20.999Z")],
)
def test_milliseconds_keep_their_three_digits(time_ms: int, text: str) -> None:
    assert iso_utc(time_ms) == text
