"""A raw message is one value: its bytes, or its text read as the column's type."""

import pyarrow as pa

from braid.formats.mapped_column import MappedColumn
from braid.formats.raw_reader import RawReader
from braid.lake import parse_type


def reader(*types: str) -> RawReader:
    return RawReader(
        [
            MappedColumn(name=f"c{index}", path=("value",), type=parse_type(sql))
            for index, sql in enumerate(types)
        ]
    )


def test_several_columns_can_have_the_message() -> None:
    found = reader("BYTES", "STRING", "INT").read(pa.array([b"12", b"-7", None], pa.binary()))

    assert [array.to_pylist() for array in found.arrays] == [
        [b"12", b"-7", None],
        ["12", "-7", None],
        [12, -7, None],
    ]
    assert len(found.faults) == 0


def test_bytes_need_no_text() -> None:
    found = reader("VARBINARY(2)").read(pa.array([b"\xff", b"\xff\xfe\xfd"], pa.binary()))

    assert found.arrays[0].to_pylist() == [b"\xff", None]
    assert found.faults.rows == [1]
    assert found.faults[1].message == (
        "the message: found 3 bytes, expected VARBINARY(2) for column c0"
    )


def test_a_message_that_is_no_value_of_the_type_is_a_fault() -> None:
    found = reader("DOUBLE").read(pa.array([b"1e2", b"\xff", b"one", b"1e400"], pa.binary()))

    assert found.arrays[0][0].as_py() == 100.0
    assert [found.faults[row].reason.value for row in (1, 2, 3)] == [
        "malformed",
        "wrong_type",
        "out_of_range",
    ]
    assert found.faults[1].message == "not UTF-8: invalid start byte at byte 0"
