"""The Avro schemas of manifests, manifest lists and index manifests, as Java writes them.

The order of the fields and their types are part of the format. From version 2.1 on, Paimon reads
the top level of manifest entries by position. All its versions require that null comes first in
unions, and that the creation time has its logical type. `layout` reduces a schema to the part that
determines the bytes, for comparisons.

Source: table-format 5.1 to 5.3.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

AvroSchema = Mapping[str, object]

_NAMESPACE: Final = "org.apache.paimon.avro.generated"
_STRINGS: Final = {"type": "array", "items": "string"}


def _record(name: str, fields: Sequence[AvroSchema]) -> AvroSchema:
    return {"type": "record", "name": name, "fields": list(fields)}


def _root(fields: Sequence[AvroSchema]) -> AvroSchema:
    return {"type": "record", "name": "record", "namespace": _NAMESPACE, "fields": list(fields)}


def _field(name: str, type_: object) -> AvroSchema:
    return {"name": name, "type": type_}


def _optional(name: str, type_: object) -> AvroSchema:
    return {"name": name, "type": ["null", type_], "default": None}


def _stats(name: str) -> AvroSchema:
    counts = {"type": "array", "items": ["null", "long"]}
    return _record(
        name,
        [
            _field("_MIN_VALUES", "bytes"),
            _field("_MAX_VALUES", "bytes"),
            _optional("_NULL_COUNTS", counts),
        ],
    )


# Releases append fields at the end; the schema of a file determines how many of these fields it has.
DATA_FILE_FIELDS: Final = (
    _field("_FILE_NAME", "string"),
    _field("_FILE_SIZE", "long"),
    _field("_ROW_COUNT", "long"),
    _field("_MIN_KEY", "bytes"),
    _field("_MAX_KEY", "bytes"),
    _field("_KEY_STATS", _stats("record__FILE__KEY_STATS")),
    _field("_VALUE_STATS", _stats("record__FILE__VALUE_STATS")),
    _field("_MIN_SEQUENCE_NUMBER", "long"),
    _field("_MAX_SEQUENCE_NUMBER", "long"),
    _field("_SCHEMA_ID", "long"),
    _field("_LEVEL", "int"),
    _field("_EXTRA_FILES", _STRINGS),
    _optional("_CREATION_TIME", {"type": "long", "logicalType": "timestamp-millis"}),
    _optional("_DELETE_ROW_COUNT", "long"),
    _optional("_EMBEDDED_FILE_INDEX", "bytes"),
    _optional("_FILE_SOURCE", "int"),
    _optional("_VALUE_STATS_COLS", _STRINGS),
    _optional("_EXTERNAL_PATH", "string"),
    _optional("_FIRST_ROW_ID", "long"),
    _optional("_WRITE_COLS", _STRINGS),
    _optional("_WRITE_COLS_SEQUENCES", {"type": "array", "items": "long"}),
)

MANIFEST: Final = _root(
    [
        _field("_VERSION", "int"),
        _field("_KIND", "int"),
        _field("_PARTITION", "bytes"),
        _field("_BUCKET", "int"),
        _field("_TOTAL_BUCKETS", "int"),
        _field("_FILE", _record("record__FILE", DATA_FILE_FIELDS)),
    ]
)

MANIFEST_LIST: Final = _root(
    [
        _field("_VERSION", "int"),
        _field("_FILE_NAME", "string"),
        _field("_FILE_SIZE", "long"),
        _field("_NUM_ADDED_FILES", "long"),
        _field("_NUM_DELETED_FILES", "long"),
        _field("_PARTITION_STATS", _stats("record__PARTITION_STATS")),
        _field("_SCHEMA_ID", "long"),
        _optional("_MIN_BUCKET", "int"),
        _optional("_MAX_BUCKET", "int"),
        _optional("_MIN_LEVEL", "int"),
        _optional("_MAX_LEVEL", "int"),
        _optional("_MIN_ROW_ID", "long"),
        _optional("_MAX_ROW_ID", "long"),
    ]
)

_DELETION_VECTOR_RANGE: Final = _record(
    "record__DELETIONS_VECTORS_RANGES",
    [
        _field("f0", "string"),
        _field("f1", "int"),
        _field("f2", "int"),
        _optional("_CARDINALITY", "long"),
    ],
)

INDEX_MANIFEST: Final = _root(
    [
        _field("_VERSION", "int"),
        _field("_KIND", "int"),
        _field("_PARTITION", "bytes"),
        _field("_BUCKET", "int"),
        _field("_INDEX_TYPE", "string"),
        _field("_FILE_NAME", "string"),
        _field("_FILE_SIZE", "long"),
        _field("_ROW_COUNT", "long"),
        _optional(
            "_DELETIONS_VECTORS_RANGES",
            {"type": "array", "items": ["null", _DELETION_VECTOR_RANGE]},
        ),
        _optional("_EXTERNAL_PATH", "string"),
        _optional(
            "_GLOBAL_INDEX",
            _record(
                "record__GLOBAL_INDEX",
                [
                    _field("_ROW_RANGE_START", "long"),
                    _field("_ROW_RANGE_END", "long"),
                    _field("_INDEX_FIELD_ID", "int"),
                    _optional("_EXTRA_FIELD_IDS", {"type": "array", "items": "int"}),
                    _optional("_INDEX_META", "bytes"),
                    _optional("_SOURCE_META", "bytes"),
                ],
            ),
        ),
    ]
)


def layout(schema: object) -> Any:
    """Return the part of a schema that determines the bytes of its values: field names, order, types.

    Record names, namespaces, defaults and logical types are left out. A record is the tuple
    `("record", (name, layout), …)`. Of a map, an enum or a fixed only the word is returned: metadata
    files have none.
    """
    match schema:
        case str():
            return schema
        case {"type": "record", "fields": fields}:
            return ("record", *((field["name"], layout(field["type"])) for field in fields))
        case {"type": "array", "items": items}:
            return ("array", layout(items))
        case {"type": type_}:
            return layout(type_)
        case _:
            assert isinstance(schema, Sequence), schema
            return tuple(layout(branch) for branch in schema)
