import json

import fastavro
import pytest

from braid.lake.format.avro.schemas import (
    DATA_FILE_FIELDS,
    INDEX_MANIFEST,
    MANIFEST,
    MANIFEST_LIST,
    AvroSchema,
    layout,
)
from tests.unit.lake.format.java_files import avro_schema_text, java_file


def _text(schema: AvroSchema) -> bytes:
    return json.dumps(schema, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("schema", "name"), [(MANIFEST_LIST, "types-manifest-list"), (INDEX_MANIFEST, "index-manifest")]
)
def test_a_schema_is_the_text_that_java_writes(schema: AvroSchema, name: str) -> None:
    assert _text(schema) == avro_schema_text(java_file(name))


def test_a_manifest_has_one_field_more_than_java_2_0_writes() -> None:
    # Release 2.1 has appended it.
    added = (
        b',{"name":"_WRITE_COLS_SEQUENCES",'
        b'"type":["null",{"type":"array","items":"long"}],"default":null}'
    )

    assert _text(MANIFEST).replace(added, b"") == avro_schema_text(java_file("types-manifest"))
    assert len(DATA_FILE_FIELDS) == 21


@pytest.mark.parametrize("schema", [MANIFEST, MANIFEST_LIST, INDEX_MANIFEST])
def test_every_schema_is_valid_for_fastavro(schema: AvroSchema) -> None:
    fastavro.parse_schema(dict(schema))


def test_a_layout_leaves_names_and_logical_types_out() -> None:
    first = {
        "type": "record",
        "name": "a",
        "fields": [
            {"name": "x", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "y", "type": {"type": "array", "items": "string"}},
        ],
    }
    second = {
        "type": "record",
        "name": "b",
        "namespace": "n",
        "fields": [
            {"name": "x", "type": ["null", "long"], "default": None},
            {"name": "y", "type": {"type": "array", "items": {"type": "string"}}},
        ],
    }

    assert layout(first) == layout(second)
    assert layout(first) != layout({**second, "fields": second["fields"][::-1]})
