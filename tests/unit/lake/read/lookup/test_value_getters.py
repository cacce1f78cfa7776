"""Values of columns as a whole, and of single rows, are those that Arrow's own conversion gives."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import UnsupportedFeature
from braid.lake.read.lookup.python_rows import python_columns
from braid.lake.read.lookup.value_getters import value_getter

BEGIN = datetime(1970, 1, 1)  # noqa: DTZ001 (TIMESTAMP has no zone)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tinyint": (pa.int8(), [-128, 0, 127]),
    "bigint": (pa.int64(), [-(2**63), 0, 2**63 - 1]),
    "float": (pa.float32(), [1.1, -0.0, float("inf")]),
    "double": (pa.float64(), [1e300, -0.0, 0.1]),
    "text": (pa.string(), ["", "été", "x" * 100]),
    "large text": (pa.large_string(), ["", "日本", "b"]),
    "empty texts": (pa.string(), ["", "", ""]),
    "bytes": (pa.binary(), [b"", b"\x00\xff", b"b"]),
    "bool": (pa.bool_(), [True, False, True]),
    "date": (pa.date32(), [date.min, date(1969, 12, 31), date.max]),
    "time": (pa.time32("ms"), [1, 2, 3]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.10"), Decimal("-5.00"), Decimal("0.01")]),
    "timestamp(0)": (
        pa.timestamp("s"),
        [BEGIN, BEGIN - timedelta(days=700_000), BEGIN + timedelta(days=2_900_000)],
    ),
    "timestamp(3)": (pa.timestamp("ms"), [BEGIN - timedelta(milliseconds=1), BEGIN, BEGIN]),
    "timestamp(6)": (
        pa.timestamp("us"),
        [BEGIN + timedelta(microseconds=1), BEGIN, BEGIN - timedelta(microseconds=1)],
    ),
    "timestamp(9)": (pa.timestamp("ns"), [1, 2, 3]),
    "timestamp_ltz": (
        pa.timestamp("ms", tz="UTC"),
        [datetime(2026, 1, 2, 3, 4, 5, 6000, UTC), datetime(1, 1, 1, tzinfo=UTC), None],
    ),
    "timestamp of a zone": (
        pa.timestamp("ms", tz="Europe/Paris"),
        [datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), None],
    ),
    "array": (pa.list_(pa.int32()), [[1], [], [None]]),
    "row": (pa.struct({"a": pa.timestamp("ns")}), [{"a": 1}, {"a": None}, {"a": 3}]),
    "nulls": (pa.null(), [None, None, None]),
}
ROWS = 40


@pytest.mark.parametrize("nulls", [0, 1, 2], ids=["no nulls", "some nulls", "only nulls"])
@pytest.mark.parametrize("offset", [0, 3, 8, 13])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_value_is_that_of_the_column(name: str, offset: int, nulls: int) -> None:
    kind, values = COLUMNS[name]
    given = [values[row % len(values)] for row in range(ROWS)]
    if nulls:
        given = [value if nulls == 1 and row % 5 else None for row, value in enumerate(given)]
    array = pa.array(given, kind).slice(offset)
    # Times of nanoseconds are numbers, whether pandas is installed or not.
    plain = {"timestamp(9)": pa.int64(), "row": pa.struct({"a": pa.int64()})}.get(name, kind)
    expected = array.cast(plain).to_pylist()

    get = value_getter("v", pa.chunked_array([array]))

    assert repr([get(row) for row in range(len(array))]) == repr(expected)
    assert repr(python_columns(pa.record_batch({"v": array}))["v"]) == repr(expected)


def test_a_column_in_several_pieces_is_read_as_well() -> None:
    get = value_getter("v", pa.chunked_array([["a"], [None, "c"]]))

    assert [get(row) for row in range(3)] == ["a", None, "c"]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
        pa.array([2**62], pa.int64()).cast(pa.timestamp("ms")),
        pa.array([2**40], pa.int64()).cast(pa.timestamp("s", tz="UTC")),
    ],
    ids=str,
)
def test_a_value_that_python_cannot_hold_is_refused_with_its_column(array: pa.Array) -> None:
    with pytest.raises(UnsupportedFeature, match="column `born`"):
        value_getter("born", pa.chunked_array([array]))(0)
