"""Entries of manifests do not depend on the form of the schema that their writer chose."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.avro.resolution import not_null, resolver, written_schema
from braid.lake.format.avro.schemas import INDEX_MANIFEST, MANIFEST, MANIFEST_LIST, AvroSchema
from braid.lake.format.indexes.index_manifest import decode_index_manifest, encode_index_manifest
from braid.lake.format.manifest import decode_manifest, encode_manifest
from braid.lake.format.manifest_list import (
    decode_manifest_list,
    describe_manifest,
    encode_manifest_list,
)
from tests.support.avro_records import read_records
from tests.unit.lake.format.avro_variants import (
    VARIANTS,
    Variant,
    in_union,
    in_union_before_null,
    without_optional_fields,
    written,
)
from tests.unit.lake.format.given_files import ENTRY, PLAIN_ENTRY
from tests.unit.lake.format.indexes.test_index_manifest import GLOBAL, HASHES, VECTORS


class Kind(NamedTuple):
    schema: AvroSchema
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    entries: list[Any]


KINDS = {
    "manifest": Kind(MANIFEST, encode_manifest, decode_manifest, [ENTRY, PLAIN_ENTRY, ENTRY]),
    "manifest list": Kind(
        MANIFEST_LIST,
        encode_manifest_list,
        decode_manifest_list,
        [describe_manifest("m", 7, [entry], []) for entry in (ENTRY, PLAIN_ENTRY)],
    ),
    "index manifest": Kind(
        INDEX_MANIFEST, encode_index_manifest, decode_index_manifest, [HASHES, VECTORS, GLOBAL]
    ),
}
_each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def as_another_writes(kind: Kind, schema: Any, **changes: object) -> bytes:
    records = read_records(kind.encode(kind.entries), what="test")
    return written(schema, [{**record, **changes} for record in records])


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
@_each_kind
def test_entries_do_not_depend_on_the_form_of_the_schema(kind: Kind, variant: Variant) -> None:
    data = as_another_writes(kind, variant(kind.schema))

    assert kind.decode(data) == kind.entries


@_each_kind
def test_absent_optional_fields_are_null(kind: Kind) -> None:
    data = as_another_writes(kind, without_optional_fields(kind.schema))

    found = kind.decode(data)

    assert len(found) == len(kind.entries)
    assert kind.decode(kind.encode(found)) == found


@pytest.mark.parametrize("variant", [in_union, in_union_before_null])
@_each_kind
def test_an_entry_that_is_null_is_corrupt(kind: Kind, variant: Variant) -> None:
    records: list[Any] = [*read_records(kind.encode(kind.entries), what="test"), None]

    with pytest.raises(CorruptData, match="null"):
        kind.decode(written(variant(kind.schema), records))


@pytest.mark.parametrize("variant", [in_union, in_union_before_null])
def test_a_null_in_a_required_field_is_corrupt(variant: Variant) -> None:
    file = read_records(encode_manifest([ENTRY]), what="test")[0]["_FILE"]
    data = as_another_writes(
        KINDS["manifest"], variant(MANIFEST), _FILE={**file, "_VALUE_STATS": None}
    )

    with pytest.raises(CorruptData, match=r"manifest .* null"):
        decode_manifest(data)


@_each_kind
def test_a_file_of_another_writer_without_entries_has_none(kind: Kind) -> None:
    assert kind.decode(written(in_union(kind.schema), [])) == []


def test_an_absent_required_field_is_named() -> None:
    fields: Any = MANIFEST_LIST["fields"]
    schema = {**MANIFEST_LIST, "fields": [f for f in fields if f["name"] != "_FILE_SIZE"]}

    with pytest.raises(CorruptData, match=r"manifest list .* lacks the field _FILE_SIZE"):
        decode_manifest_list(as_another_writes(KINDS["manifest list"], schema))


def test_a_field_of_another_type_is_named() -> None:
    fields: Any = MANIFEST_LIST["fields"]
    double = [{**f, "type": "double"} if f["name"] == "_FILE_SIZE" else f for f in fields]

    with pytest.raises(CorruptData, match="the field _FILE_SIZE is double, expected long"):
        decode_manifest_list(
            as_another_writes(KINDS["manifest list"], {**MANIFEST_LIST, "fields": double})
        )


def test_texts_and_bytes_are_interchangeable() -> None:
    fields: Any = MANIFEST["fields"]
    text = [{**f, "type": "string"} if f["name"] == "_PARTITION" else f for f in fields]
    data = as_another_writes(
        KINDS["manifest"], {**MANIFEST, "fields": text}, _PARTITION=ENTRY.partition.decode()
    )

    assert decode_manifest(data) == KINDS["manifest"].entries
    assert resolver("bytes", "string") == bytes.decode


def test_entries_of_a_later_version_are_refused_by_their_version() -> None:
    """Their fields may differ as well."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "_VERSION", "type": "int"}]}

    with pytest.raises(Exception, match="manifest list entry has version 3, expected 2"):
        decode_manifest_list(written(schema, [{"_VERSION": 3}]))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("string", "its schema is not a record schema"),
        (["null", "string"], "its schema is not a record schema"),
        (["null"], "a union of 1 types"),
        (["null", {"type": "record", "name": "r", "fields": []}, "int"], "a union of 3 types"),
        (
            {"type": "record", "name": "r", "fields": [{"name": "again", "type": "r"}]},
            "uses a type r before it declares it",
        ),
    ],
)
def test_a_schema_without_records_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        written_schema(schema)


def test_a_union_is_of_null_and_one_type() -> None:
    assert not_null(["null", "int"]) == not_null(["int", "null"]) == not_null("int") == "int"
    with pytest.raises(ValueError, match="expected null and one other type"):
        not_null(["int", "long"])


def test_equal_files_of_two_writers_give_equal_entries() -> None:
    entries = [replace(ENTRY, bucket=bucket) for bucket in range(300)]
    records = read_records(encode_manifest(entries), what="test")

    for variant in VARIANTS:
        assert decode_manifest(written(variant(MANIFEST), records)) == entries
