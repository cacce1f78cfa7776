import io
from dataclasses import replace
from typing import Any

import fastavro
import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.binary_row import decode_row, encode_row
from braid.lake.format.data_types import DataField
from braid.lake.format.manifest import FileKind, decode_manifest
from braid.lake.format.manifest_list import (
    ManifestFileMeta,
    decode_manifest_list,
    describe_manifest,
    encode_manifest_list,
)
from braid.lake.format.schema import parse_schema
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.format.type_codec import parse_type
from tests.unit.lake.format.given_files import ENTRY, PLAIN_ENTRY
from tests.unit.lake.format.java_files import java_file

PARTITION = [DataField(id=1, name="p", type=parse_type("STRING"))]
WITHOUT_BOUNDS = ManifestFileMeta(
    file_name="m",
    file_size=1,
    num_added_files=1,
    num_deleted_files=0,
    partition_stats=EMPTY_STATS,
    schema_id=0,
)


@pytest.mark.parametrize("name", ["types-manifest-list", "partitioned-manifest-list"])
def test_a_list_of_java_is_written_back_with_the_same_content(name: str) -> None:
    data = java_file(name)

    written = encode_manifest_list(decode_manifest_list(data))

    assert list(fastavro.reader(io.BytesIO(written))) == list(fastavro.reader(io.BytesIO(data)))


def test_a_list_may_be_empty() -> None:
    assert decode_manifest_list(encode_manifest_list([])) == []


def test_of_a_longer_list_only_new_blocks_are_decoded() -> None:
    manifests = [replace(WITHOUT_BOUNDS, file_name=f"manifest-{number}") for number in range(500)]

    before = decode_manifest_list(encode_manifest_list(manifests[:400]))
    after = decode_manifest_list(encode_manifest_list(manifests))

    assert after == manifests
    same = sum(one is other for one, other in zip(before, after, strict=False))
    assert 300 < same < 400


def test_a_list_in_one_block_is_read() -> None:
    data = encode_manifest_list(decode_manifest_list(java_file("partitioned-manifest-list")))
    reader: Any = fastavro.reader(io.BytesIO(data))
    records: list[dict[str, Any]] = [
        record | {"_FILE_NAME": f"manifest-{number * 7919}"}
        for number, record in enumerate(list(reader) * 500)
    ]
    whole = io.BytesIO()
    fastavro.writer(whole, reader.writer_schema, records, "deflate", sync_interval=1 << 24)

    found = decode_manifest_list(whole.getvalue())

    assert [one.file_name for one in found] == [record["_FILE_NAME"] for record in records]


def test_missing_optional_fields_are_read_back_as_missing() -> None:
    assert decode_manifest_list(encode_manifest_list([WITHOUT_BOUNDS])) == [WITHOUT_BOUNDS]


def test_a_manifest_is_described_as_java_describes_it() -> None:
    (expected,) = decode_manifest_list(java_file("partitioned-manifest-list"))
    data = java_file("partitioned-manifest")
    fields = parse_schema(java_file("partitioned-schema-0")).partition_fields

    described = describe_manifest(expected.file_name, len(data), decode_manifest(data), fields)

    assert described == expected


def test_added_and_deleted_files_are_counted_apart() -> None:
    entries = [ENTRY, PLAIN_ENTRY, replace(ENTRY, bucket=7)]

    described = describe_manifest("m", 10, entries, [])

    assert (described.num_added_files, described.num_deleted_files) == (2, 1)
    assert (described.min_bucket, described.max_bucket) == (3, 7)
    assert (described.min_level, described.max_level) == (0, 5)
    assert described.partition_stats == EMPTY_STATS


def test_bounds_of_partitions_are_whole_and_nulls_count_per_entry() -> None:
    texts = ["a" * 30, None, None]
    entries = [replace(ENTRY, partition=encode_row([text], PARTITION)) for text in texts]

    stats = describe_manifest("m", 10, entries, PARTITION).partition_stats

    assert decode_row(stats.max_values, PARTITION) == ("a" * 30,)
    assert stats.null_counts == (2,)


def test_a_manifest_is_not_a_manifest_list() -> None:
    with pytest.raises(CorruptData, match=r"manifest list .* lacks the field _FILE_NAME"):
        decode_manifest_list(java_file("types-manifest"))


def test_another_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedFeature, match="version 1, expected 2"):
        decode_manifest_list(java_file("index-manifest"))


def test_deletes_alone_are_described() -> None:
    described = describe_manifest("m", 1, [replace(ENTRY, kind=FileKind.DELETE)], [])

    assert (described.num_added_files, described.num_deleted_files) == (0, 1)
