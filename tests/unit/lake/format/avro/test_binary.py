import pytest

from braid.lake.format.avro import binary as avro_binary
from braid.lake.format.avro.binary import AvroDecoder


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (64, "8001"),
        (-64, "7f"),
        (2047, "fe1f"),
        (2048, "8020"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_a_long_is_a_zigzag_varint(number: int, encoded: str) -> None:
    assert avro_binary.encode_long(number).hex() == encoded
    assert AvroDecoder(bytes.fromhex(encoded)).long() == number
    assert avro_binary.encode_optional_long(number).hex() == "02" + encoded


@pytest.mark.parametrize(
    "counts",
    [(), (0,), (63, 0, 1), (64, 0), (None, 1), (1, None, 2), (10**12,), tuple(range(200))],
)
def test_null_counts_come_back(counts: tuple[int | None, ...]) -> None:
    out: list[bytes] = []
    avro_binary.encode_null_counts(out, counts)
    decoder = AvroDecoder(b"".join(out))

    assert decoder.null_counts() == counts
    assert decoder.is_at_end


def test_arrays_of_other_writers_may_come_in_sized_blocks() -> None:
    # Block of 2 with its size, then a block of 1, then the end.
    data = bytes.fromhex("03080261026202026300")

    assert AvroDecoder(data).strings() == ("a", "b", "c")


def test_optional_values_come_back_in_turn() -> None:
    out: list[bytes] = []
    avro_binary.encode_optional_bytes(out, None)
    avro_binary.encode_optional_bytes(out, b"x" * 100)
    avro_binary.encode_optional_strings(out, None)
    avro_binary.encode_optional_strings(out, ["", "é"])
    avro_binary.encode_longs(out, [1, -1])
    out.append(avro_binary.encode_optional_long(None))
    decoder = AvroDecoder(b"".join(out))

    assert decoder.optional_bytes() is None
    assert decoder.optional_bytes() == b"x" * 100
    assert decoder.optional_strings() is None
    assert decoder.optional_strings() == ("", "é")
    assert decoder.longs() == (1, -1)
    assert decoder.optional_long() is None
    assert decoder.is_at_end


@pytest.mark.parametrize("data", ["", "80", "04", "0461", "01"])
def test_bytes_that_end_early_are_reported(data: str) -> None:
    with pytest.raises(IndexError):
        AvroDecoder(bytes.fromhex(data)).byte_string()


def test_a_union_has_two_branches() -> None:
    with pytest.raises(IndexError, match="branch 2 of a union that has two"):
        AvroDecoder(b"\x04").is_present()
