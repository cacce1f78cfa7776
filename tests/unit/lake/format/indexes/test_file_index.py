"""The container of file indexes: Java's bytes, names of every kind, and damage."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake.errors import CorruptData
from braid.lake.format.indexes.file_index import decode_file_index, encode_file_index

JAVA = Path(__file__).with_name("data") / "file-index-1.4.2"

# i64 magic, i32 version, head length, columns; "a", 1 index, "x", start, length; no redundant bytes.
SMALL = bytes.fromhex(
    "00054e4ed01a35ae 00000001 0000002a 00000001 0001 61 00000001 0001 78 0000002a 00000003 00000000"
    "010203"
)


def decoded(data: bytes) -> dict[str, dict[str, bytes | None]]:
    return {
        column: {kind: None if body is None else bytes(body) for kind, body in kinds.items()}
        for column, kinds in decode_file_index(data).items()
    }


def test_the_bytes_are_as_specified() -> None:
    assert encode_file_index({"a": {"x": b"\1\2\3"}}) == SMALL
    assert decoded(SMALL) == {"a": {"x": b"\1\2\3"}}


def test_a_file_of_java_is_read_and_written_anew_with_the_same_bytes() -> None:
    data = JAVA.read_bytes()

    indexes = decode_file_index(data)

    assert len(indexes) == 19
    assert "naïve\0😀" in indexes
    assert encode_file_index(indexes) == data


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=5),
        st.dictionaries(st.text(max_size=3), st.none() | st.binary(max_size=9), max_size=3),
        max_size=4,
    )
)
def test_indexes_come_back(indexes: dict[str, dict[str, bytes | None]]) -> None:
    assert decoded(encode_file_index(indexes)) == indexes


def test_a_column_without_values_has_no_body() -> None:
    data = encode_file_index({"a": {"x": None}})

    assert data.endswith(struct.pack(">iii", -1, 0, 0))
    assert decoded(data) == {"a": {"x": None}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a file index has 0 bytes"),
        (b"\0" + SMALL[1:][::-1], "not a file index of version 1"),
        (SMALL[:8] + b"\0\0\0\2" + SMALL[12:], "version 2"),
        (SMALL[:12] + b"\0\0\xff\xff" + SMALL[16:], "cannot have 65535 bytes"),
        (SMALL[:12] + b"\0\0\0\x0f" + SMALL[16:], "cannot have 15 bytes"),
        (SMALL[:12] + b"\0\0\0\x20" + SMALL[16:], "cannot be read"),
        (SMALL[:20] + b"\xff\xff" + SMALL[22:], "cannot be read"),
        (SMALL[:-1], "a file index of 44 bytes cannot have 3 bytes at offset 42"),
    ],
    ids=["empty", "magic", "version", "long head", "short head", "cut head", "name", "cut body"],
)
def test_damage_is_reported(data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        decode_file_index(data)


@given(st.binary(max_size=60), st.integers(0, len(SMALL)))
def test_arbitrary_bytes_are_read_or_reported(data: bytes, kept: int) -> None:
    try:
        decode_file_index(SMALL[:kept] + data)
    except CorruptData:
        return
