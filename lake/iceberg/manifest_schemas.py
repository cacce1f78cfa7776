"""The Avro schemas of Iceberg's manifests and manifest lists, format version 2.

Readers find fields by their ids. The names of records and the order of fields are those of Paimon and of Iceberg's
own writer. The record of a partition has a field for each partition column.

Source: Iceberg's table specification, "Manifests", "Manifest Lists" and appendix A.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from braid.lake.format.avro.schemas import AvroSchema
from braid.lake.format.avro.types import PLAIN_TYPES
from braid.lake.format.data_types import DataField, DataType, TypeRoot
from braid.lake.iceberg.single_values import decimal_length
from braid.lake.iceberg.table_columns import PARTITION_FIELD_ID

_PRIMITIVES: Final[Mapping[TypeRoot, object]] = {
    **PLAIN_TYPES,
    TypeRoot.DATE: {"type": "int", "logicalType": "date"},
    TypeRoot.TIMESTAMP: {
        "type": "long",
        "logicalType": "timestamp-micros",
        "adjust-to-utc": False,
    },
    TypeRoot.TIMESTAMP_LTZ: {
        "type": "long",
        "logicalType": "timestamp-micros",
        "adjust-to-utc": True,
    },
}
_COUNT_NAMES: Final = ("added_files_count", "existing_files_count", "deleted_files_count")
_LEGACY_COUNT_NAMES: Final = (
    "added_data_files_count",
    "existing_data_files_count",
    "deleted_data_files_count",
)


def entry_schema(partition_fields: Sequence[DataField]) -> AvroSchema:
    """Return the schema of the entries of a manifest."""
    partition = _record(
        "r102",
        [
            _optional(field.name, _partition_type(field.type), PARTITION_FIELD_ID + number)
            for number, field in enumerate(partition_fields)
        ],
    )
    data_file = _record(
        "r2",
        [
            _field("content", "int", 134),
            _field("file_path", "string", 100),
            _field("file_format", "string", 101),
            _field("partition", partition, 102),
            _field("record_count", "long", 103),
            _field("file_size_in_bytes", "long", 104),
            _optional("null_value_counts", _map("long", 121, 122), 110),
            _optional("lower_bounds", _map("bytes", 126, 127), 125),
            _optional("upper_bounds", _map("bytes", 129, 130), 128),
        ],
    )
    return _record(
        "manifest_entry",
        [
            _field("status", "int", 0),
            _optional("snapshot_id", "long", 1),
            _optional("sequence_number", "long", 3),
            _optional("file_sequence_number", "long", 4),
            _field("data_file", data_file, 2),
        ],
    )


def list_schema(*, is_legacy: bool) -> AvroSchema:
    """Return the schema of the manifests of a manifest list.

    Args:
        is_legacy: Name the counts of files as older readers know them.
    """
    added, existing, deleted = _LEGACY_COUNT_NAMES if is_legacy else _COUNT_NAMES
    summary = _record(
        "r508",
        [
            _field("contains_null", "boolean", 509),
            _optional("contains_nan", "boolean", 518),
            _optional("lower_bound", "bytes", 510),
            _optional("upper_bound", "bytes", 511),
        ],
    )
    summaries = {"type": "array", "items": summary, "element-id": 508}
    return _record(
        "manifest_file",
        [
            _field("manifest_path", "string", 500),
            _field("manifest_length", "long", 501),
            _field("partition_spec_id", "int", 502),
            _field("content", "int", 517),
            _field("sequence_number", "long", 515),
            _field("min_sequence_number", "long", 516),
            _field("added_snapshot_id", "long", 503),
            _field(added, "int", 504),
            _field(existing, "int", 505),
            _field(deleted, "int", 506),
            _field("added_rows_count", "long", 512),
            _field("existing_rows_count", "long", 513),
            _field("deleted_rows_count", "long", 514),
            _optional("partitions", summaries, 507),
        ],
    )


def count_of(record: Mapping[str, object], kind: str) -> int:
    """Return a count of files of a manifest list's record, under either of its names.

    Args:
        record: The record.
        kind: `added`, `existing` or `deleted`.
    """
    found = record.get(f"{kind}_files_count", record.get(f"{kind}_data_files_count"))
    return found if isinstance(found, int) else 0


def _partition_type(data_type: DataType) -> object:
    if data_type.root is not TypeRoot.DECIMAL:
        return _PRIMITIVES[data_type.root]
    precision = data_type.precision
    assert precision is not None
    return {
        "type": "fixed",
        "name": f"decimal_{precision}_{data_type.scale}",
        "size": decimal_length(precision),
        "logicalType": "decimal",
        "precision": precision,
        "scale": data_type.scale,
    }


def _record(name: str, fields: Sequence[AvroSchema]) -> AvroSchema:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, type_: object, field_id: int) -> AvroSchema:
    return {"name": name, "type": type_, "field-id": field_id}


def _optional(name: str, type_: object, field_id: int) -> AvroSchema:
    return {"name": name, "type": ["null", type_], "default": None, "field-id": field_id}


def _map(value: str, key_id: int, value_id: int) -> AvroSchema:
    """Return a map with keys that are no texts: an array of pairs."""
    pair = _record(
        f"k{key_id}_v{value_id}", [_field("key", "int", key_id), _field("value", value, value_id)]
    )
    return {"type": "array", "items": pair, "logicalType": "map"}
