from dataclasses import fields, replace

import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import AvroDecoder
from braid.lake.format.avro.schemas import DATA_FILE_FIELDS
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.data_file_codec import (
    FIELD_COUNT_MIN,
    decode_data_file,
    encode_data_file,
    parse_source,
    stats_of,
    stats_record,
)
from tests.unit.lake.format.given_files import FILE, PLAIN_FILE

FULL_FILE = replace(
    FILE, external_path="p", first_row_id=1, write_cols=("a",), write_cols_sequences=(1, -1)
)


@pytest.mark.parametrize("file", [FILE, PLAIN_FILE, FULL_FILE], ids=["rich", "plain", "full"])
def test_a_file_comes_back(file: DataFileMeta) -> None:
    out: list[bytes] = []
    encode_data_file(out, file)
    decoder = AvroDecoder(b"".join(out))

    assert decode_data_file(decoder, len(DATA_FILE_FIELDS)) == file
    assert decoder.is_at_end


def test_attributes_have_the_names_and_order_of_the_record() -> None:
    renamed = {"creation_time_ms": "creation_time"}

    names = [renamed.get(field.name, field.name) for field in fields(DataFileMeta)]

    assert names == [str(field["name"])[1:].lower() for field in DATA_FILE_FIELDS]
    assert names[FIELD_COUNT_MIN - 1] == "file_source"


def test_statistics_come_back_as_a_record() -> None:
    assert stats_of(stats_record(FILE.value_stats)) == FILE.value_stats
    assert stats_of({**stats_record(FILE.value_stats), "_NULL_COUNTS": None}).null_counts == ()


def test_sources_are_found_by_number() -> None:
    assert [parse_source(number) for number in (None, 0, 1)] == [None, *FileSource]
    with pytest.raises(CorruptData, match="source 2"):
        parse_source(2)
