import io
from dataclasses import replace

import fastavro
import pytest

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.format.binary_row import EMPTY_ROW
from braid.lake.format.indexes.index_manifest import (
    DELETION_VECTORS_INDEX,
    HASH_INDEX,
    DeletionVectorRange,
    GlobalIndexMeta,
    IndexManifestEntry,
    decode_index_manifest,
    encode_index_manifest,
    replace_indexes,
)
from tests.unit.lake.format.java_files import java_file

HASHES = IndexManifestEntry(
    partition=EMPTY_ROW,
    bucket=0,
    index_type=HASH_INDEX,
    file_name="index-0",
    file_size=8,
    row_count=2,
)
VECTORS = replace(
    HASHES,
    index_type=DELETION_VECTORS_INDEX,
    deletion_vector_ranges=(DeletionVectorRange(data_file_name="d", offset=1, length=2),),
    external_path="elsewhere",
)
GLOBAL = replace(
    HASHES,
    index_type="lucene",
    global_index=GlobalIndexMeta(
        row_range_start=0,
        row_range_end=9,
        index_field_id=3,
        extra_field_ids=(4, 5),
        index_meta=b"m",
        source_meta=b"s",
    ),
)


@pytest.mark.parametrize("entry", [HASHES, VECTORS, GLOBAL], ids=["hash", "vectors", "global"])
def test_an_entry_comes_back(entry: IndexManifestEntry) -> None:
    assert decode_index_manifest(encode_index_manifest([entry, entry])) == [entry, entry]


def test_deletion_vectors_of_java_are_read() -> None:
    (entry,) = decode_index_manifest(java_file("index-manifest"))

    assert entry.index_type == DELETION_VECTORS_INDEX
    assert entry.deletion_vector_ranges == (
        DeletionVectorRange(
            data_file_name="data-c0d187c6-0e1d-4526-9c14-8b25707769bc-0.parquet",
            offset=1,
            length=66,
            cardinality=23,
        ),
    )


@pytest.mark.parametrize("name", ["index-manifest", "index-manifest-1.4.2"])
def test_an_index_manifest_of_java_is_carried_forward_unchanged(name: str) -> None:
    data = java_file(name)

    written = encode_index_manifest(decode_index_manifest(data))

    assert list(fastavro.reader(io.BytesIO(written))) == list(fastavro.reader(io.BytesIO(data)))


def test_a_manifest_list_is_not_an_index_manifest() -> None:
    with pytest.raises(UnsupportedFeature, match="version 2, expected 1"):
        decode_index_manifest(java_file("types-manifest-list"))


def test_an_avro_file_of_another_kind_is_corrupt() -> None:
    buffer = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "_VERSION", "type": "int"}]}
    fastavro.writer(buffer, fastavro.parse_schema(schema), [{"_VERSION": 1}])

    with pytest.raises(CorruptData, match="lacks the field"):
        decode_index_manifest(buffer.getvalue())


def test_an_index_replaces_the_one_of_its_bucket_and_type() -> None:
    def entry(name: str, *, bucket: int = 0, index_type: str = HASH_INDEX) -> IndexManifestEntry:
        return IndexManifestEntry(
            partition=EMPTY_ROW,
            bucket=bucket,
            index_type=index_type,
            file_name=name,
            file_size=4,
            row_count=1,
        )

    kept = [entry("other-bucket", bucket=1), entry("vectors", index_type=DELETION_VECTORS_INDEX)]
    new = [entry("new"), entry("more", bucket=2)]

    assert replace_indexes([entry("old"), *kept], new) == (*kept, *new)
    assert replace_indexes([], new) == tuple(new)
