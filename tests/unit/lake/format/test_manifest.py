import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.avro.schemas import DATA_FILE_FIELDS, MANIFEST, AvroSchema
from braid.lake.format.data_file import FileSource
from braid.lake.format.manifest import FileKind, decode_manifest, encode_manifest
from tests.support.avro_records import read_records
from tests.unit.lake.format.given_files import ENTRY, FILE, PLAIN_ENTRY
from tests.unit.lake.format.java_files import java_file

ENTRIES = [ENTRY, PLAIN_ENTRY]


def _records(data: bytes) -> list[dict[str, Any]]:
    return read_records(data, what="test")


def _rewritten(data: bytes, schema: Mapping[str, object], **changes: object) -> bytes:
    """Return the records written by fastavro with another schema, top-level values changed."""
    buffer = io.BytesIO()
    records = [{**record, **changes} for record in _records(data)]
    fastavro.writer(buffer, fastavro.parse_schema(dict(schema)), records, codec="deflate")
    return buffer.getvalue()


def _manifest_schema(file_fields: Sequence[AvroSchema]) -> dict[str, Any]:
    top = MANIFEST["fields"]
    assert isinstance(top, list)
    record = {"type": "record", "name": "DataFileMeta", "fields": list(file_fields)}
    fields = [*top[:-1], {"name": "_FILE", "type": record}]
    return {"type": "record", "name": "ManifestEntry", "fields": fields}


@pytest.mark.parametrize("compression", ["zstandard", "deflate", "null"])
def test_entries_come_back(compression: str) -> None:
    assert decode_manifest(encode_manifest(ENTRIES, compression)) == ENTRIES


def test_a_manifest_may_be_empty() -> None:
    assert decode_manifest(encode_manifest([])) == []


def test_many_entries_keep_their_order() -> None:
    entries = [replace(ENTRY, bucket=bucket) for bucket in range(3_000)]

    assert decode_manifest(encode_manifest(entries)) == entries


@pytest.mark.parametrize("name", ["types-manifest", "partitioned-manifest"])
def test_a_manifest_of_java_is_written_back_with_the_same_content(name: str) -> None:
    data = java_file(name)

    written = _records(encode_manifest(decode_manifest(data)))

    for record in written:
        assert record["_FILE"].pop("_WRITE_COLS_SEQUENCES") is None
    assert written == _records(data)


def test_a_file_of_java_is_read_in_every_detail() -> None:
    entry = decode_manifest(java_file("types-manifest"))[2]

    assert entry.kind is FileKind.ADD
    assert entry.file.file_name == "data-d403e461-1425-4e30-9ecc-2975b5dd4dd4-0.parquet"
    assert (entry.file.level, entry.file.row_count, entry.file.delete_row_count) == (5, 10, 0)
    assert entry.file.creation_time_ms == 1_795_209_540_599
    assert entry.file.file_source is FileSource.COMPACT
    assert entry.file.value_stats_cols is not None
    assert len(entry.file.value_stats_cols) == len(entry.file.value_stats.null_counts) == 21


@pytest.mark.parametrize("field_count", [16, 18, 20, 21])
def test_files_of_older_releases_stop_earlier(field_count: int) -> None:
    schema = _manifest_schema(DATA_FILE_FIELDS[:field_count])

    (entry, _) = decode_manifest(_rewritten(encode_manifest(ENTRIES), schema))

    assert entry == (
        replace(ENTRY, file=replace(FILE, value_stats_cols=None)) if field_count == 16 else ENTRY
    )


def test_another_order_and_unknown_fields_are_read_by_name() -> None:
    unknown = {"name": "_NEW", "type": ["null", "string"], "default": None}
    schema = _manifest_schema([unknown, *reversed(DATA_FILE_FIELDS)])

    assert decode_manifest(_rewritten(encode_manifest(ENTRIES), schema)) == ENTRIES


def test_the_identity_holds_what_a_delete_repeats() -> None:
    assert ENTRY.identity == (
        ENTRY.partition,
        3,
        5,
        FILE.file_name,
        FILE.extra_files,
        b"index",
        None,
    )
    assert replace(ENTRY, kind=FileKind.DELETE, total_buckets=9).identity == ENTRY.identity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"external_path": "s3://elsewhere/x"}, "has an external path"),
        ({"first_row_id": 0}, "has a first row id"),
        ({"write_cols": ("a",)}, "has a list of written columns"),
    ],
)
def test_files_of_other_kinds_of_table_are_unsupported(
    changes: Mapping[str, Any], message: str
) -> None:
    data = encode_manifest([replace(ENTRY, file=replace(FILE, **changes))])

    with pytest.raises(UnsupportedFeature, match=message):
        decode_manifest(data)


def test_sequences_of_written_columns_are_kept() -> None:
    entry = replace(ENTRY, file=replace(FILE, write_cols_sequences=(1, 2)))

    assert decode_manifest(encode_manifest([entry])) == [entry]


@pytest.mark.parametrize("schema", [MANIFEST, _manifest_schema(DATA_FILE_FIELDS[::-1])])
def test_another_version_is_unsupported(schema: AvroSchema) -> None:
    data = _rewritten(encode_manifest(ENTRIES), schema, _VERSION=3)

    with pytest.raises(UnsupportedFeature, match="version 3, expected 2"):
        decode_manifest(data)


def test_an_unknown_kind_is_corrupt() -> None:
    with pytest.raises(CorruptData, match="kind 2"):
        decode_manifest(_rewritten(encode_manifest(ENTRIES), MANIFEST, _KIND=2))


def test_an_unknown_source_is_corrupt() -> None:
    (record, *_) = _records(encode_manifest(ENTRIES))
    data = _rewritten(
        encode_manifest(ENTRIES), MANIFEST, _FILE={**record["_FILE"], "_FILE_SOURCE": 7}
    )

    with pytest.raises(CorruptData, match="source 7"):
        decode_manifest(data)


def test_another_file_of_the_format_is_not_a_manifest() -> None:
    with pytest.raises(CorruptData, match=r"manifest cannot be read: .* lacks the field _KIND"):
        decode_manifest(java_file("types-manifest-list"))


def test_bytes_that_are_left_over_are_corrupt() -> None:
    data = bytearray(encode_manifest(ENTRIES, "null"))
    # The header ends with its sync marker, which comes again at the very end.
    count = data.index(data[-16:]) + 16
    assert data[count] == 4
    data[count] = 2

    with pytest.raises(CorruptData, match="bytes are left after 1 entries"):
        decode_manifest(bytes(data))
