"""Footers are parsed and written byte for byte."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.files.parquet.thrift_compact import (
    ThriftList,
    ThriftStruct,
    WireType,
    parse_struct,
    serialize_struct,
)


def footer_of(table: pa.Table) -> bytes:
    """Return the footer that Arrow writes for a table."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    size = int.from_bytes(data[-8:-4], "little")
    return data[-8 - size : -8]


def test_a_real_footer_is_written_as_it_was_read() -> None:
    columns = {f"column{i}": pa.array([i, None]) for i in range(20)}
    footer = footer_of(pa.table({**columns, "s": ["a", "b"], "l": [[1], []]}))

    assert serialize_struct(parse_struct(footer)) == footer


def test_every_wire_type_comes_back() -> None:
    inner = ThriftStruct({1: (WireType.I16, -3)})
    struct = ThriftStruct(
        {
            1: (WireType.TRUE, True),
            2: (WireType.FALSE, False),
            3: (WireType.BYTE, 200),
            4: (WireType.I32, -(2**31)),
            5: (WireType.I64, 2**62),
            6: (WireType.DOUBLE, b"12345678"),
            7: (WireType.BINARY, b"abc"),
            8: (WireType.LIST, ThriftList(WireType.TRUE, [True, False])),
            9: (WireType.LIST, ThriftList(WireType.I32, list(range(20)))),
            10: (WireType.STRUCT, inner),
            300: (WireType.BINARY, b""),
        }
    )

    assert parse_struct(serialize_struct(struct)) == struct


def test_accessors_read_the_kinds_of_field() -> None:
    struct = ThriftStruct(
        {
            1: (WireType.I32, 5),
            2: (WireType.BINARY, b"name"),
            3: (WireType.STRUCT, ThriftStruct()),
            4: (WireType.LIST, ThriftList(WireType.BINARY, [b"a", b"b"])),
            5: (WireType.LIST, ThriftList(WireType.STRUCT, [ThriftStruct()])),
        }
    )

    assert struct.integer(1) == 5
    assert struct.text(2) == "name"
    assert struct.struct(3) == ThriftStruct()
    assert struct.texts(4) == ["a", "b"]
    assert struct.structs(5) == [ThriftStruct()]


def test_maps_are_refused() -> None:
    with pytest.raises(ValueError, match="found a map"):
        parse_struct(bytes([0x1B, 0x00]))


def test_a_value_that_ends_early_is_refused() -> None:
    footer = serialize_struct(ThriftStruct({1: (WireType.BINARY, b"abcde")}))

    with pytest.raises(ValueError, match="a footer of 4 bytes ends inside of a value of 5 bytes"):
        parse_struct(footer[:4])
