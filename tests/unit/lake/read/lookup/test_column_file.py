"""Files of one column: what was written batch by batch is read in one piece."""

import os
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.read.lookup.column_file import (
    ColumnWriter,
    TextsTooLong,
    has_column_file,
    read_column,
)

COLUMNS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [1, None, -3, 4, 5, 6, 7, None, 9, 10, -(1 << 63)]),
    (pa.int8(), list(range(-5, 12))),
    (pa.float64(), [0.5, None, -0.0, float("inf")]),
    (pa.bool_(), [True, None, False, True, True, False, False, True, None, True]),
    (pa.date32(), [date(2026, 1, 1), None, date(1969, 12, 31)]),
    (pa.timestamp("us"), [None, None, None]),
    (pa.decimal128(20, 2), [Decimal("1.25"), None, Decimal("-99.99")]),
    (pa.binary(3), [b"abc", None, b"\0\0\1"]),
    (pa.string(), ["", "a", None, "ünïcode", "x" * 300, None, "", "end"]),
    (pa.binary(), [b"", None, b"\xff\0"]),
    (pa.large_string(), ["one", None, "three"]),
    (pa.string(), []),
    (pa.int32(), []),
]


def written(path: Path, array: pa.Array, pieces: list[pa.Array]) -> tuple[pa.Buffer, list[int]]:
    reserved: list[int] = []
    with path.open("w+b") as file:
        writer = ColumnWriter(file, array.type, len(array), reserve=reserved.append)
        for piece in pieces:
            writer.add(piece)
        writer.finish()
    return pa.py_buffer(path.read_bytes()), reserved


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=lambda given: str(given)[:24])
@pytest.mark.parametrize("step", [1, 3, 100])
def test_a_column_is_read_as_it_was_written(
    tmp_path: Path, kind: pa.DataType, values: list[Any], step: int
) -> None:
    array = pa.array(values, kind)
    # Slices: their values begin in the middle of their buffers.
    pieces = [array.slice(first, step) for first in range(0, len(array), step)]

    content, reserved = written(tmp_path / "file", array, pieces)
    read = read_column(content, kind)

    read.validate(full=True)
    assert read.equals(array)
    assert read.null_count == array.null_count
    assert content.size <= sum(reserved)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.struct({"a": pa.int8()}), pa.map_(pa.string(), pa.int8())]
)
def test_nested_columns_have_no_such_file(kind: pa.DataType) -> None:
    assert not has_column_file(kind)


def test_texts_that_are_too_long_for_their_offsets_are_refused() -> None:
    gibibyte = pa.py_buffer(bytearray(1 << 30))  # never touched: it takes no memory
    offsets = pa.py_buffer(np.array([0, 1 << 30], dtype=np.int32))
    text = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, gibibyte])
    with Path(os.devnull).open("w+b") as file:
        writer = ColumnWriter(file, pa.binary(), 2, reserve=lambda size: None)
        writer.add(text)

        with pytest.raises(TextsTooLong):
            writer.add(text)
