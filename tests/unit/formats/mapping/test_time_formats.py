"""Dates and times in declared forms become exact values of the column's type, or are refused for a reason."""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.mapped_column import TimeFormat
from braid.formats.mapping.time_formats import time_texts
from braid.lake import parse_type


def read(
    texts: Sequence[str | None],
    sql: str = "TIMESTAMP(3)",
    declared: str = "iso",
    zone: str | None = None,
) -> list[Any]:
    """Return the value of each text as ISO 8601, or the reason why it has none."""
    found, unfit = time_texts(TimeFormat(declared, zone), parse_type(sql)).column(
        pa.array(texts, pa.string())
    )
    values = [None if one is None else one.isoformat() for one in found.to_pylist()]
    assert all(values[row] is None for row in unfit)
    return [unfit[row].value if row in unfit else value for row, value in enumerate(values)]


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("epoch_ms", "1767323045678", "2026-01-02T03:04:05.678000"),
        ("epoch_s", "1767323045", "2026-01-02T03:04:05"),
        ("epoch_s", "1767323045.6789", "2026-01-02T03:04:05.678000"),
        ("epoch_s", "1.767323045e9", "2026-01-02T03:04:05"),
        ("epoch_us", "-1", "1969-12-31T23:59:59.999000"),
        ("epoch_s", "-0.0001", "1969-12-31T23:59:59.999000"),
        ("epoch_ns", "1767323045678999999", "2026-01-02T03:04:05.678000"),
        ("epoch_days", "20455", "2026-01-02T00:00:00"),
        ("epoch_days", "20455.5", "2026-01-02T12:00:00"),
        ("epoch_s", "253402300799", "9999-12-31T23:59:59"),
        ("epoch_s", "253402300800", "out_of_range"),
        ("epoch_ms", "9" * 19, "out_of_range"),
        ("epoch_ms", "1e999999999", "out_of_range"),
        ("epoch_ms", "1e-999999999", "1970-01-01T00:00:00"),
        ("epoch_ms", "0e50", "1970-01-01T00:00:00"),
        ("epoch_ms", "-0.0e999999999", "1970-01-01T00:00:00"),
        ("epoch_ms", "2026-01-02", "wrong_type"),
        ("epoch_ms", "true", "wrong_type"),
        ("epoch_ms", "", "wrong_type"),
    ],
)
def test_a_number_is_units_since_the_epoch(declared: str, text: str, expected: str) -> None:
    assert read([text, None, "0"], declared=declared) == [expected, None, "1970-01-01T00:00:00"]


def test_a_date_is_the_day_in_utc_and_a_time_is_since_midnight() -> None:
    assert read(["1767323045678", "-1"], "DATE", "epoch_ms") == ["2026-01-02", "1969-12-31"]
    assert read(["20455"], "DATE", "epoch_days") == ["2026-01-02"]
    assert read(["11045.678", "86400", "-1"], "TIME", "epoch_s") == [
        "03:04:05.678000",
        "out_of_range",
        "out_of_range",
    ]
    assert read(["1767323045678901"], "TIMESTAMP(9)", "epoch_us") == ["2026-01-02T03:04:05.678901"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2026-01-02 03:04:05", "2026-01-02T03:04:05"),
        ("dd.MM.yyyy", "02.01.2026", "2026-01-02T00:00:00"),
        ("d.M.yy H:mm", "2.1.26 3:04", "2026-01-02T03:04:00"),
        ("MM/dd/yyyy hh:mm:ss a", "01/02/2026 12:04:05 AM", "2026-01-02T00:04:05"),
        ("MM/dd/yyyy h:mm a", "01/02/2026 11:04 pm", "2026-01-02T23:04:00"),
        ("MM/dd/yyyy h:mm a", "01/02/2026 13:04 pm", "wrong_type"),
        ("MM/dd/yyyy hh:mm[ a]", "01/02/2026 00:30", "wrong_type"),
        ("MM/dd/yyyy hh:mm[ a]", "01/02/2026 01:30", "wrong_type"),
        ("MM/dd/yyyy hh:mm a", "01/02/2026 00:30 am", "wrong_type"),
        ("MM/dd/yyyy[ h:mm a]", "01/02/2026", "2026-01-02T00:00:00"),
        ("EEE, dd MMM yyyy HH:mm:ss 'GMT'", "Fri, 02 Jan 2026 03:04:05 GMT", "2026-01-02T03:04:05"),
        ("yyyyMMddHHmmssSSS", "20260102030405678", "2026-01-02T03:04:05.678000"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05"),
        ("yyyy-MM-dd HH:mm:ss[.SSS][X]", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05"),
        ("yyyy-MM-dd HH:mm:ss[.SSS][X]", "2026-01-02 03:04:05.5Z", "wrong_type"),
        ("yyyy-MM-dd[ HH[:mm]]".replace("[:mm]", ":mm"), "2026-01-02", "2026-01-02T00:00:00"),
        ("d MMMM yyyy 'o''clock'", "2 september 2026 o'clock", "2026-09-02T00:00:00"),
        ("dd.MM.yyyy", "30.02.2026", "wrong_type"),
        ("dd.MM.yyyy", "02.01.2026\n", "wrong_type"),
        ("dd.MM.yyyy", "02.01.0000", "out_of_range"),
        ("dd.MM.yyyy HH:mm", "02.01.2026 24:00", "wrong_type"),
    ],
)
def test_texts_of_a_pattern(pattern: str, text: str, expected: str) -> None:
    assert read([text, None], declared=pattern) == [expected, None]


def test_a_pattern_gives_what_the_type_holds() -> None:
    assert read(["20260102 2359"], "DATE", "yyyyMMdd HHmm") == ["2026-01-02"]
    assert read(["3.04"], "TIME", "H.mm") == ["03:04:00"]


def test_the_clock_of_a_zone() -> None:
    texts = [
        "2026-01-02 03:04",
        "2026-07-02 03:04",
        "2026-03-29 02:30",  # skipped
        "2026-10-25 02:30",  # shown twice
        "2026-07-02 03:04Z",
        "9999-12-31 23:59",
        "0001-01-01 00:00",
        None,
    ]

    assert read(texts, zone="Europe/Berlin") == [
        "2026-01-02T02:04:00",
        "2026-07-02T01:04:00",
        "2026-03-29T01:30:00",
        "2026-10-25T00:30:00",
        "2026-07-02T03:04:00",
        "9999-12-31T22:59:00",
        "out_of_range",
        None,
    ]
    assert read(["2.7.2026 3"], declared="d.M.yyyy H", zone="Europe/Berlin") == [
        "2026-07-02T01:00:00"
    ]


@pytest.mark.parametrize("declared", ["iso", "yyyy-MM-dd'T'HH:mm:ss[XXX]"])
@pytest.mark.parametrize("sql", ["TIMESTAMP(9)", "TIMESTAMP(7) WITH LOCAL TIME ZONE"])
def test_a_zone_moves_no_time_over_the_bounds_of_its_type(declared: str, sql: str) -> None:
    texts = [
        "2262-04-11T19:47:15",
        "2262-04-11T19:47:16",
        "2262-04-11T23:00:00",
        "2262-04-11T23:00:00-04:00",
    ]
    early = [
        "1677-09-21T12:00:00",
        "1677-09-21T00:12:45",
        "1677-09-21T02:00:00",
        "1677-09-21T02:00:00+09:00",
    ]

    american = read(texts, sql, declared, "America/New_York")
    japanese = read(early, sql, declared, "Asia/Tokyo")

    assert american[1:] == japanese[1:] == ["out_of_range"] * 3
    assert american[0].startswith("2262-04-11T23:47:15")
    assert japanese[0].startswith("1677-09-21T02:41:01")


@pytest.mark.parametrize(
    ("declared", "sql", "zone", "message"),
    [
        ("epoch_m", "DATE", None, "`e` has no meaning; put texts into quotes: `'e'`"),
        ("yyyy-MM", "DATE", None, "a DATE needs year, month and day in the pattern"),
        (
            "yyyy-[MM]-dd",
            "TIMESTAMP(3)",
            None,
            "a TIMESTAMP needs year, month and day in the pattern",
        ),
        ("yyyy-MM-dd", "TIME", None, "a TIME needs an hour in the pattern"),
        ("dd HH", "TIME", None, "the pattern has a part of a date, but a TIME has none"),
        ("HH:mm X", "TIME", None, "the pattern has an offset from UTC, but a TIME has none"),
        (
            "yyyy-MM-dd HH X",
            "DATE",
            None,
            "the pattern has an offset from UTC, but a DATE has none",
        ),
        (
            "yyyy-MM-dd hh",
            "TIMESTAMP(3)",
            None,
            "the pattern has no AM or PM, which the hour from 1 to 12 needs",
        ),
        ("yyyy-MM-dd mm", "TIMESTAMP(3)", None, "the pattern has no hour, which the minute needs"),
        (
            "yyyy-MM-dd X",
            "TIMESTAMP(3)",
            None,
            "the pattern has no hour, which the offset from UTC needs",
        ),
        ("yyyy-MM-dd yy", "DATE", None, "the year occurs twice"),
        ("yyyy-MM-dd dd", "DATE", None, "the day occurs twice"),
        (
            "dMMyyyy",
            "DATE",
            None,
            "`MM` follows a number of 1 or 2 digits with nothing in between",
        ),
        ("yyyy-MM-dd[", "DATE", None, "`[` has no `]`"),
        ("yyyy-MM-dd]", "DATE", None, "`]` has no `[`"),
        ("yyyy-MM-dd[ [HH]]", "DATE", None, "brackets cannot be nested"),
        ("yyyy-MM-dd'", "DATE", None, "a quote is not closed"),
        ("yyyy-MM-dd\n", "DATE", None, "the pattern contains a character that is not printable"),
        ("iso", "TIMESTAMP(3)", "Mars/Base", "no time zone has the name 'Mars/Base'"),
        ("iso", "TIMESTAMP(3)", "../../etc/passwd", "no time zone has the name '../../etc/passwd'"),
        ("iso", "TIMESTAMP(3)", "localtime", "no time zone has the name 'localtime'"),
        ("iso", "TIMESTAMP(3)", "posixrules", "no time zone has the name 'posixrules'"),
        ("iso", "TIMESTAMP(3)", "right/UTC", "no time zone has the name 'right/UTC'"),
        ("iso", "DATE", "Europe/Berlin", "a DATE has no time zone"),
        ("epoch_ms", "TIMESTAMP(3)", "Europe/Berlin", "a number since the epoch has no time zone"),
        (
            "yyyy-MM-dd HHX",
            "TIMESTAMP(3)",
            "Europe/Berlin",
            "every text has an offset from UTC, so the zone has no effect",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(
    declared: str, sql: str, zone: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        time_texts(TimeFormat(declared, zone), parse_type(sql))


def test_a_fraction_beside_whole_numbers_changes_nothing() -> None:
    plain = ["1767323045", "-5", "253402300799", "99999999999"]

    assert read([*plain, "0.5"], declared="epoch_s")[:-1] == read(plain, declared="epoch_s")
    assert dt.datetime.fromisoformat(read(plain, declared="epoch_s")[0]).year == 2026
