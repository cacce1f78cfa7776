"""Headers of records: values where they fit, a fault that names the header where not."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.header_reader import HeaderReader
from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.lake import parse_type
from braid.schemas import ColumnSource

TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def headers_of(*records: list[tuple[str, bytes | None]] | None) -> pa.ListArray:
    return pa.array(
        [
            None if one is None else [{"key": name, "value": value} for name, value in one]
            for one in records
        ],
        TYPE,
    )


def column(sql: str, *, name: str = "c", header: str = "h.x", finds: bool = False) -> MappedColumn:
    return MappedColumn(
        name=name,
        path=(header,),
        type=parse_type(sql),
        source=ColumnSource.HEADER,
        finds_missing=finds,
    )


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("STRING", "ü".encode(), "ü"),
        ("BYTES", b"\xff", b"\xff"),
        ("INT", b"-7", -7),
        ("TIMESTAMP(3)", b"2026-01-02T03:04:05Z", dt.datetime.fromisoformat("2026-01-02T03:04:05")),
        ("ARRAY<INT>", b"[1, 2]", [1, 2]),
        ("STRING", None, None),
        ("STRING", b"", ""),
    ],
)
def test_a_header_is_one_value(sql: str, value: bytes | None, expected: Any) -> None:
    found = HeaderReader([column(sql)]).read(headers_of([("other", b"x"), ("h.x", value)]))

    assert found.arrays[0].to_pylist() == [expected]
    assert found.arrays[0].type == HeaderReader([column(sql)]).read(headers_of(None)).arrays[0].type
    assert len(found.faults) == 0


@pytest.mark.parametrize(
    ("sql", "value", "reason", "message"),
    [
        ("STRING", b"\xff", "malformed_header", "header h.x: not UTF-8: invalid start byte"),
        ("INT", b"x", "malformed_header", 'header h.x: found "x", expected INT for column c'),
        ("TINYINT", b"128", "out_of_range", "header h.x: found 128, expected TINYINT"),
        ("VARBINARY(1)", b"xy", "out_of_range", "header h.x: found 2 bytes"),
    ],
)
def test_a_header_that_does_not_fit_its_column_is_named(
    sql: str, value: bytes, reason: str, message: str
) -> None:
    found = HeaderReader([column(sql)]).read(headers_of(None, [("h.x", value)], []))

    assert found.faults.rows == [1]
    assert found.faults[1].reason == reason
    assert message in found.faults[1].message
    assert found.arrays[0].to_pylist()[::2] == [None, None]


def test_of_several_headers_the_last_counts_and_records_without_it_are_missing() -> None:
    columns = [
        column("STRING", name="a", header="a", finds=True),
        column("INT", name="b", header="b"),
    ]
    records = headers_of(
        [("a", b"skipped"), ("b", b"9")],
        [("a", b"1"), ("b", b"2"), ("a", b"3")],
        None,
        [("A", b"4")],
        [("a", b"5"), ("a", None)],
        [("b", b"6")],
    )

    # A slice: Spark's batches may be one, and their lists then do not start at 0.
    found = HeaderReader(columns).read(records.slice(1))
    nothing = HeaderReader(columns).read(headers_of(None, None))

    assert found.arrays[0].to_pylist() == ["3", None, None, None, None]
    assert found.arrays[1].to_pylist() == [2, None, None, None, 6]
    assert found.missing["a"].to_pylist() == [False, True, True, False, True]
    assert found.missing.keys() == nothing.missing.keys() == {"a"}
    assert nothing.missing["a"].to_pylist() == [True, True]


def test_an_empty_list_of_headers_is_read_as_none_at_all() -> None:
    reader = HeaderReader([column("STRING", name="a", header="a", finds=True)])

    empty, nulls = reader.read(headers_of([], [])), reader.read(headers_of(None, None))

    assert empty.arrays == nulls.arrays
    assert empty.missing == nulls.missing


def test_a_header_may_have_a_time_format() -> None:
    german = replace(
        column("TIMESTAMP(3)"), time_format=TimeFormat("dd.MM.yyyy HH:mm", "Europe/Berlin")
    )

    found = HeaderReader([german]).read(
        headers_of([("h.x", b"02.01.2026 04:05")], [("h.x", b"2026-01-02")], [("h.x", b"\xff")])
    )

    assert found.arrays[0].to_pylist() == [
        dt.datetime.fromisoformat("2026-01-02T03:05:00"),
        None,
        None,
    ]
    assert [found.faults[row].reason.value for row in found.faults.rows] == ["malformed_header"] * 2
    assert found.faults[1].message.startswith(
        'header h.x: found "2026-01-02", expected TIMESTAMP(3), written as dd.MM.yyyy HH:mm'
    )
