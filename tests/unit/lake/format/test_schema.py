import json
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData, InvalidRequest, UnsupportedFeature
from braid.lake.format.data_types import DataField
from braid.lake.format.schema import TableSchema, check_supported, parse_schema, serialize_schema
from braid.lake.format.type_codec import parse_type
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.format.java_files import java_file

SCHEMA = TableSchema(
    id=0,
    fields=(
        DataField(id=0, name="k", type=parse_type("INT NOT NULL")),
        DataField(id=1, name="p", type=parse_type("STRING NOT NULL")),
        DataField(id=2, name="v", type=parse_type("STRING")),
    ),
    highest_field_id=2,
    partition_keys=("p",),
    primary_keys=("k", "p"),
    options={"bucket": "2", "merge-engine": "partial-update"},
)


def _document(**changes: object) -> bytes:
    document = {**json.loads(serialize_schema(SCHEMA)), **changes}
    return json.dumps({key: value for key, value in document.items() if value != ...}).encode()


@pytest.mark.parametrize("name", ["types-schema-0", "partitioned-schema-0"])
def test_a_schema_of_java_is_written_back_with_the_same_content(name: str) -> None:
    data = java_file(name)

    assert json.loads(serialize_schema(parse_schema(data))) == json.loads(data)


def test_keys_are_split_as_the_format_splits_them() -> None:
    assert SCHEMA.trimmed_primary_keys == ("k",)
    assert SCHEMA.bucket_keys == ("k",)
    assert [field.name for field in SCHEMA.key_fields] == ["k"]
    assert [field.name for field in SCHEMA.partition_fields] == ["p"]
    assert SCHEMA.field_names == ("k", "p", "v")


def test_a_bucket_key_takes_the_place_of_the_primary_key() -> None:
    schema = replace(SCHEMA, options={"bucket-key": "v,k"})

    assert schema.bucket_keys == ("v", "k")


def test_the_arrow_schema_has_the_declared_nullability() -> None:
    assert SCHEMA.arrow_schema.field("k") == pa.field("k", pa.int32(), nullable=False)


def test_options_are_typed_once() -> None:
    assert SCHEMA.table_options.merge_engine is MergeEngine.PARTIAL_UPDATE
    assert SCHEMA.table_options is SCHEMA.table_options


def test_a_schema_survives_pickling_and_hashing() -> None:
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert hash(replace(SCHEMA)) == hash(SCHEMA)


def test_an_unknown_column_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="k, p, v"):
        SCHEMA.field("w")


def test_an_unset_comment_is_left_out() -> None:
    assert b"comment" not in serialize_schema(SCHEMA)
    assert json.loads(serialize_schema(replace(SCHEMA, comment="c")))["comment"] == "c"


def test_unknown_keys_and_numbers_among_the_options_are_tolerated() -> None:
    schema = parse_schema(_document(extra=1, options={"bucket": 3, "write-only": True}))

    assert schema.options == {"bucket": "3", "write-only": "true"}


@pytest.mark.parametrize(
    ("version", "bucket", "file_format"), [(1, 1, "orc"), (2, -1, "orc"), (3, -1, "parquet")]
)
def test_defaults_depend_on_the_version_of_the_file(
    version: int, bucket: int, file_format: str
) -> None:
    options = parse_schema(_document(version=version, options={})).table_options

    assert (options.bucket, options.file_format) == (bucket, file_format)


def test_a_schema_without_version_is_of_the_first() -> None:
    assert parse_schema(_document(version=...)).version == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", "expected an object"),
        (_document(id=...), "nothing under `id`"),
        (_document(id="0"), "'0' under `id`, expected a whole number"),
        (_document(highestFieldId=None), "under `highestFieldId`"),
        (_document(primaryKeys="k"), "expected a list of strings"),
        (_document(fields=[1]), "expected a list of objects"),
        (_document(options=...), "expected an object of strings"),
        (_document(comment=4), "expected a string"),
        (_document(primaryKeys=["z"]), "the key column `z`, but has no such column"),
        (_document(fields=[{"id": 0, "name": "k", "type": "TEXT"}]), "cannot be read"),
    ],
)
def test_schemas_that_no_writer_writes_are_corrupt(data: bytes, message: str) -> None:
    with pytest.raises(CorruptData, match=message):
        parse_schema(data)


@pytest.mark.parametrize(
    "data",
    [_document(version=4), _document(fields=[{"id": 0, "name": "k", "type": "BLOB"}])],
)
def test_what_a_later_version_writes_is_unsupported(data: bytes) -> None:
    with pytest.raises(UnsupportedFeature):
        parse_schema(data)


def test_a_plain_table_is_supported() -> None:
    check_supported(SCHEMA)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bucket-function.type", "mod"),
        ("row-tracking.enabled", "true"),
        ("data-evolution.enabled", "true"),
        ("data-file.external-paths", "s3://elsewhere"),
        ("bucket", "-2"),
    ],
)
def test_unsupported_options_are_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(UnsupportedFeature, match=key) as caught:
        check_supported(replace(SCHEMA, options={key: value}))

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == (key, value)
    assert problem.hint
