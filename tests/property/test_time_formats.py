"""Times in declared forms are what Python's own parsers find, whatever else is in the batch."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.formats.mapped_column import TimeFormat
from braid.formats.mapping.time_formats import EPOCH_UNIT_NS, time_texts
from braid.lake import parse_type

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
PATTERNS = {
    "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S",
    "dd/MMM/yyyy hh:mm:ss a": "%d/%b/%Y %I:%M:%S %p",
    "EEEE d. MMMM yyyy H'h'mm": "%A %d. %B %Y %Hh%M",
    "yyyyMMdd'T'HHmmssXX": "%Y%m%dT%H%M%S%z",
}
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]
MOMENTS = st.integers(-70 * 366, 130 * 365).flatmap(
    lambda days: st.integers(0, 86_399).map(
        lambda seconds: dt.timedelta(days=days, seconds=seconds)
    )
)
# Around the hours at which clocks change.
CHANGES = st.builds(
    lambda month, day, minutes: (
        dt.datetime(2026, month, day, tzinfo=dt.UTC) - EPOCH + dt.timedelta(minutes=minutes)
    ),
    st.sampled_from([3, 4, 10, 11]),
    st.integers(1, 30),
    st.integers(0, 240),
)


def values(texts: list[str], declared: TimeFormat, sql: str) -> list[Any]:
    """Return the value of each text, or the reason why it has none."""
    found, unfit = time_texts(declared, parse_type(sql)).column(pa.array(texts, pa.string()))
    return [
        unfit[row].value if row in unfit else value for row, value in enumerate(found.to_pylist())
    ]


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(
        st.decimals(-(10**15), 10**15, places=3) | st.integers(-(10**20), 10**20), max_size=8
    ),
    declared=st.sampled_from(sorted(EPOCH_UNIT_NS)),
)
def test_numbers_are_counted_from_the_epoch(numbers: list[Any], declared: str) -> None:
    def expected(number: Any) -> Any:
        try:
            since = floor(Fraction(number) * EPOCH_UNIT_NS[declared] / 1_000)
            moment = EPOCH + dt.timedelta(microseconds=since)
        except OverflowError:
            return "out_of_range"
        return moment.replace(tzinfo=None)

    texts = [f"{number:f}" if isinstance(number, Decimal) else str(number) for number in numbers]

    assert values(texts, TimeFormat(declared), "TIMESTAMP(6)") == [expected(n) for n in numbers]


@settings(max_examples=60, deadline=None)
@given(
    moments=st.lists(MOMENTS | CHANGES, min_size=1, max_size=8),
    pattern=st.sampled_from(sorted(PATTERNS)),
    zone=st.sampled_from(ZONES),
    junk=st.text(max_size=12),
)
def test_patterns_and_zones_are_read_as_python_reads_them(
    moments: list[dt.timedelta], pattern: str, zone: str, junk: str
) -> None:
    python = PATTERNS[pattern]
    has_zone = "X" in pattern
    texts = [
        (EPOCH + since)
        .astimezone(dt.timezone(dt.timedelta(minutes=since.days % 60)))
        .strftime(python)
        for since in moments
    ]

    def expected(text: str) -> Any:
        if has_zone:
            shown = dt.datetime.strptime(text, "%Y%m%dT%H%M%S%z")
        else:
            found = dt.datetime.strptime(f"{text} +0000", f"{python} %z")
            shown = found.replace(tzinfo=ZoneInfo(zone))
        return shown.astimezone(dt.UTC).replace(tzinfo=None)

    declared = TimeFormat(pattern, None if has_zone else zone)

    assert values([*texts, f"{junk}!"], declared, "TIMESTAMP(3)") == [
        *map(expected, texts),
        "wrong_type",
    ]
