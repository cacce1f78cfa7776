import io

import fastavro
import pytest

from braid.lake.errors import CorruptData, InvalidRequest, UnsupportedFeature
from braid.lake.format.avro.container import (
    encode_records,
    read_blocks,
    write_container,
)
from tests.support.avro_records import read_records

SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "string"}],
}
RECORDS = [{"x": n, "y": "é" * (n % 50)} for n in range(20_000)]


def _written(records: list[dict[str, object]], compression: str = "zstandard") -> bytes:
    return write_container(SCHEMA, encode_records(SCHEMA, records), compression)


@pytest.mark.parametrize("compression", ["zstandard", "deflate", "null"])
def test_written_files_are_read_by_fastavro(compression: str) -> None:
    data = _written(RECORDS, compression)

    assert list(fastavro.reader(io.BytesIO(data))) == RECORDS
    assert read_records(data, what="test") == RECORDS


def test_many_records_come_in_several_blocks() -> None:
    schema, blocks = read_blocks(_written(RECORDS), what="test")

    assert len(blocks) > 1
    assert sum(block.count for block in blocks) == len(RECORDS)
    assert schema.record == SCHEMA


def test_no_records_are_a_file_of_a_header() -> None:
    data = _written([])

    assert read_records(data, what="test") == []
    assert read_blocks(data, what="test")[1] == []


def test_the_same_records_give_the_same_bytes() -> None:
    assert _written(RECORDS[:5]) == _written(RECORDS[:5])


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="`snappy` is not one of zstandard, deflate, null"):
        _written([], "snappy")


@pytest.mark.parametrize(
    "data",
    [b"", b"no avro", _written(RECORDS[:9])[:-20], _written(RECORDS[:9])[:40]],
    ids=["nothing", "other bytes", "cut in a block", "cut in the header"],
)
def test_damaged_files_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptData, match=r"test of .* bytes is not a complete Avro file"):
        read_records(data, what="test")
    with pytest.raises(CorruptData, match=r"test of .* bytes is not a complete Avro file"):
        read_blocks(data, what="test")


def test_a_flipped_bit_in_a_block_is_corrupt() -> None:
    data = bytearray(_written(RECORDS[:200]))
    data[-60] ^= 0x10

    with pytest.raises(CorruptData):
        read_records(bytes(data), what="test")


def test_another_codec_is_unsupported() -> None:
    data = _written(RECORDS[:1], "null").replace(b"\x08null", b"\x0cbrotli")

    with pytest.raises(UnsupportedFeature, match="`brotli` is not supported, only null, deflate"):
        read_records(data, what="test")


def test_records_that_the_schema_does_not_fit_are_corrupt() -> None:
    data = write_container(SCHEMA, [b"\x02\x08x"])

    with pytest.raises(CorruptData, match="do not fit its schema"):
        read_records(data, what="test")


def test_a_root_that_is_not_a_record_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="its schema is not a record schema"):
        read_blocks(write_container({"type": "string"}, []), what="test")


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "bzip2", "xz", "null"])
def test_files_of_fastavro_are_read(codec: str) -> None:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(SCHEMA), RECORDS, codec=codec)

    assert read_records(buffer.getvalue(), what="test") == RECORDS


def test_a_block_without_its_marker_is_corrupt() -> None:
    data = _written(RECORDS[:1])

    with pytest.raises(CorruptData, match="does not end with the sync marker"):
        read_blocks(data[:-1] + bytes([data[-1] ^ 1]), what="test")


def test_a_schema_is_parsed_once_for_all_files_that_have_it() -> None:
    one, other = (_written(RECORDS[:count], "null") for count in (1, 2))

    assert read_blocks(one, what="file")[0] is read_blocks(other, what="file")[0]
