"""Parts of records as columns: their values in every type that holds them, and timestamps that none holds."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type, to_arrow_type
from braid.records.part_reader import PART_COLUMNS, PartReader
from braid.records.record_columns import TIMESTAMP
from braid.schemas import ColumnSource, Scalar
from tests.unit.records.given_streams import AT, given_records

AT_MS = 1_767_323_045_678
NANOSECONDS_AS_MS_US = 2**62  # what is left of a timestamp in nanoseconds


def column(sql: str, source: ColumnSource, path: tuple[str, ...] = ()) -> MappedColumn:
    return MappedColumn(name=f"{source}: {sql}", path=path, type=parse_type(sql), source=source)


def records_at(*micros: int) -> pa.RecordBatch:
    batch = given_records([None] * len(micros), headers=[("h", b"x")], partition=7)
    times = pa.array(micros, pa.timestamp("us", tz="UTC"))
    index = batch.schema.get_field_index(TIMESTAMP)
    return batch.set_column(index, batch.schema.field(index), times).select(PART_COLUMNS)


def test_a_constant_is_a_value_of_every_record() -> None:
    constants: dict[str, Scalar] = {"STRING": "web", "DECIMAL(4, 2)": 1.10, "BOOLEAN": False}
    columns = [
        MappedColumn(
            name=sql,
            path=(),
            type=parse_type(sql),
            source=ColumnSource.CONSTANT,
            constant=value,
        )
        for sql, value in constants.items()
    ]

    found = PartReader(columns, topic="t").read(given_records([None, b"{"]).select(PART_COLUMNS))

    shown = [["web"] * 2, [Decimal("1.10")] * 2, [False] * 2]
    assert [array.to_pylist() for array in found.arrays] == shown


@pytest.mark.parametrize(
    ("sql", "source", "expected"),
    [
        ("BIGINT", "timestamp", AT_MS),
        ("TIMESTAMP(3)", "timestamp", AT.replace(tzinfo=None, microsecond=678_000)),
        ("TIMESTAMP(6)", "timestamp", AT.replace(tzinfo=None)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp", AT.replace(microsecond=678_000)),
        ("TIMESTAMP(9)", "timestamp", AT.replace(tzinfo=None)),
        ("INT", "partition", 7),
        ("BIGINT", "partition", 7),
        ("BIGINT", "offset", 0),
        ("STRING", "topic", "prices"),
        ("CHAR(6)", "topic", "prices"),
        ("STRING", "header", "x"),
    ],
)
def test_a_part_is_a_value_of_its_types(sql: str, source: str, expected: Any) -> None:
    path = ("h",) if source == "header" else ()
    reader = PartReader([column(sql, ColumnSource(source), path)], topic="prices")
    micros = int(AT.timestamp() * 1_000_000)

    found = reader.read(records_at(micros))
    nothing = reader.read(records_at(micros).take(pa.array([None], pa.int64())))

    assert found.arrays[0].type == to_arrow_type(parse_type(sql))
    assert found.arrays[0].cast(_readable(found.arrays[0].type)).to_pylist() == [expected]
    assert len(found.faults) == 0
    assert nothing.arrays[0].to_pylist() == [None]


def _readable(kind: pa.DataType) -> pa.DataType:
    """Return a type without nanoseconds, for which Python has no value."""
    is_fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return pa.timestamp("us", tz=kind.tz) if is_fine else kind


@pytest.mark.parametrize("sql", ["BIGINT", "TIMESTAMP(3)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"])
def test_a_timestamp_that_is_no_time_is_refused_and_none_is_null(sql: str) -> None:
    reader = PartReader([column(sql, ColumnSource.TIMESTAMP)], topic="t")

    found = reader.read(records_at(NANOSECONDS_AS_MS_US, -1_000, 0))

    assert [array.is_valid for array in found.arrays[0]] == [False, False, True]
    assert found.faults.rows == [0]
    assert found.faults[0].reason == "out_of_range"
    assert "the record's timestamp: found 4611686018427387 milliseconds since 1970" in (
        found.faults[0].message
    )


def test_the_last_moment_of_a_year_with_four_digits_is_a_time() -> None:
    end = dt.datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.UTC)
    micros = (end - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    reader = PartReader([column("TIMESTAMP(3)", ColumnSource.TIMESTAMP)], topic="t")

    found = reader.read(records_at(micros, micros + 1_000))

    assert found.faults.rows == [1]
    assert found.arrays[0].to_pylist() == [end.replace(tzinfo=None), None]
