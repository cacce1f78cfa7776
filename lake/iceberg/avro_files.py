"""Manifests and manifest lists as Avro files.

Files of other engines are read by the names of their fields, which are those of Iceberg's specification. Partition
columns whose names Avro does not allow have other names in the file, so they are taken by position.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from braid.lake.errors import CorruptData
from braid.lake.format.avro.codecs import compress
from braid.lake.format.avro.container import (
    container_block,
    container_header,
    decode_block,
    encode_records,
    parsed_schema,
    read_blocks,
    sync_marker,
)
from braid.lake.format.avro.schemas import AvroSchema
from braid.lake.format.data_types import DataField, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.iceberg.manifest_entries import (
    EntryStatus,
    IcebergDataFile,
    IcebergEntry,
    IcebergManifest,
    PartitionSummary,
)
from braid.lake.iceberg.manifest_schemas import count_of, entry_schema, list_schema
from braid.lake.iceberg.single_values import (
    PlainValue,
    decimal_length,
    plain_value,
    unscaled_bytes,
)
from braid.lake.iceberg.table_columns import SPEC_ID, iceberg_schema, partition_fields

FORMAT_VERSION: Final = 2
_DATA: Final = 0
_BLOCK_ROWS: Final = 256
_WHAT: Final = "Iceberg manifest"
_LIST: Final = "Iceberg manifest list"
_NOT_IN_NAMES: Final = re.compile("[^A-Za-z0-9_]")


def encode_manifest(
    entries: Sequence[IcebergEntry], schema: TableSchema, *, name: str, codec: str
) -> bytes:
    """Return the bytes of a manifest.

    Args:
        entries: In the order of the file.
        schema: Schema of the table; in the header, as the specification has it.
        name: Name of the file, unique.
        codec: A codec of Avro.
    """
    fields = _named_for_avro(schema.partition_fields)
    metadata = {
        "schema": json.dumps(iceberg_schema(schema), separators=(",", ":")),
        "schema-id": str(schema.id),
        "partition-spec": json.dumps(partition_fields(schema), separators=(",", ":")),
        "partition-spec-id": str(SPEC_ID),
        "format-version": str(FORMAT_VERSION),
        "content": "data",
    }
    records = (_entry_record(entry, fields) for entry in entries)
    return _container(entry_schema(fields), records, metadata, name=name, codec=codec)


def decode_manifest(data: bytes) -> tuple[IcebergEntry, ...]:
    """Return the entries of a manifest, in file order.

    Raises:
        CorruptData: It is no manifest of data files.
        UnsupportedFeature: This version does not support the codec.
    """
    return tuple(map(_entry, _records(data, _WHAT)))


def encode_list(
    manifests: Iterable[IcebergManifest],
    *,
    snapshot_id: int,
    parent_id: int | None,
    name: str,
    codec: str,
    is_legacy: bool,
) -> bytes:
    """Return the bytes of a manifest list.

    Args:
        manifests: In the order of the file.
        snapshot_id: The Iceberg snapshot.
        parent_id: The one before it; None for the first.
        name: Name of the file, unique.
        codec: A codec of Avro.
        is_legacy: Whether the counts have the names that older readers know.
    """
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
        "sequence-number": str(snapshot_id),
        "format-version": str(FORMAT_VERSION),
    }
    kinds = dict(zip(("added", "existing", "deleted"), _STATUSES, strict=True))
    middle = "_data" if is_legacy else ""
    records = (
        {
            "manifest_path": manifest.path,
            "manifest_length": manifest.length,
            "partition_spec_id": SPEC_ID,
            "content": _DATA,
            "sequence_number": manifest.sequence_number,
            "min_sequence_number": manifest.min_sequence_number,
            "added_snapshot_id": manifest.added_snapshot_id,
            **{f"{kind}{middle}_files_count": manifest.files[s] for kind, s in kinds.items()},
            **{f"{kind}_rows_count": manifest.rows[s] for kind, s in kinds.items()},
            "partitions": [
                {
                    "contains_null": summary.contains_null,
                    "contains_nan": summary.contains_nan,
                    "lower_bound": summary.lower_bound,
                    "upper_bound": summary.upper_bound,
                }
                for summary in manifest.partitions
            ],
        }
        for manifest in manifests
    )
    return _container(list_schema(is_legacy=is_legacy), records, metadata, name=name, codec=codec)


def decode_list(data: bytes) -> tuple[IcebergManifest, ...]:
    """Return the manifests of a list, in file order.

    Raises:
        CorruptData: It is no manifest list, or names manifests of deletes.
        UnsupportedFeature: This version does not support the codec.
    """
    return tuple(map(_manifest, _records(data, _LIST)))


_STATUSES: Final = (EntryStatus.ADDED, EntryStatus.EXISTING, EntryStatus.DELETED)


def _named_for_avro(fields: Sequence[DataField]) -> tuple[DataField, ...]:
    """Return partition columns with names that Avro allows, as Iceberg's own writer replaces the others."""
    return tuple(
        DataField(id=field.id, name=_avro_name(field.name), type=field.type) for field in fields
    )


def _avro_name(name: str) -> str:
    escaped = _NOT_IN_NAMES.sub(lambda found: f"_x{ord(found[0]):X}", name)
    return f"_{escaped}" if escaped[:1].isdigit() else escaped


def _entry_record(entry: IcebergEntry, fields: Sequence[DataField]) -> Mapping[str, object]:
    file = entry.file
    return {
        "status": int(entry.status),
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": {
            "content": _DATA,
            "file_path": file.path,
            "file_format": file.file_format,
            "partition": {
                field.name: _avro_value(value, field)
                for field, value in zip(fields, file.partition, strict=True)
            },
            "record_count": file.record_count,
            "file_size_in_bytes": file.size,
            "null_value_counts": _pairs(file.null_counts),
            "lower_bounds": _pairs(file.lower_bounds),
            "upper_bounds": _pairs(file.upper_bounds),
        },
    }


def _avro_value(value: PlainValue | None, field: DataField) -> object:
    if field.type.root is not TypeRoot.DECIMAL or value is None:
        return value
    assert isinstance(value, int)
    assert field.type.precision is not None
    return unscaled_bytes(value, decimal_length(field.type.precision))


def _pairs(values: Mapping[int, object]) -> list[Mapping[str, object]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _entry(record: Mapping[str, Any]) -> IcebergEntry:
    try:
        file = record["data_file"]
        return IcebergEntry(
            status=EntryStatus(record["status"]),
            snapshot_id=record["snapshot_id"],
            sequence_number=record["sequence_number"],
            file_sequence_number=record["file_sequence_number"],
            file=IcebergDataFile(
                path=file["file_path"],
                file_format=file["file_format"],
                partition=tuple(
                    None if value is None else plain_value(value)
                    for value in file["partition"].values()
                ),
                record_count=file["record_count"],
                size=file["file_size_in_bytes"],
                null_counts=_mapping(file["null_value_counts"]),
                lower_bounds=_mapping(file["lower_bounds"]),
                upper_bounds=_mapping(file["upper_bounds"]),
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        text = f"{_WHAT} holds an entry that cannot be read: {error!r}"
        raise CorruptData(text) from error


def _mapping(pairs: Sequence[Mapping[str, Any]] | None) -> dict[int, Any]:
    return {pair["key"]: pair["value"] for pair in pairs or ()}


def _manifest(record: Mapping[str, Any]) -> IcebergManifest:
    try:
        if record["content"] != _DATA:
            text = f"{_LIST} names manifests of deletes, which tables of this version do not have"
            raise CorruptData(text)
        kinds = ("added", "existing", "deleted")
        return IcebergManifest(
            path=record["manifest_path"],
            length=record["manifest_length"],
            sequence_number=record["sequence_number"],
            min_sequence_number=record["min_sequence_number"],
            added_snapshot_id=record["added_snapshot_id"],
            files={s: count_of(record, kind) for s, kind in zip(_STATUSES, kinds, strict=True)},
            rows={
                s: record[f"{kind}_rows_count"] for s, kind in zip(_STATUSES, kinds, strict=True)
            },
            partitions=tuple(
                PartitionSummary(
                    contains_null=summary["contains_null"],
                    contains_nan=bool(summary["contains_nan"]),
                    lower_bound=summary["lower_bound"],
                    upper_bound=summary["upper_bound"],
                )
                for summary in record["partitions"] or ()
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        text = f"{_LIST} holds a record that cannot be read: {error!r}"
        raise CorruptData(text) from error


def _records(data: bytes, what: str) -> list[Mapping[str, Any]]:
    written, blocks = read_blocks(data, what=what)
    parsed = parsed_schema(written, what=what)
    return [record for block in blocks for record in decode_block(block, parsed, what=what)]


def _container(
    schema: AvroSchema,
    records: Iterable[Mapping[str, object]],
    metadata: Mapping[str, str],
    *,
    name: str,
    codec: str,
) -> bytes:
    sync = sync_marker(schema, name)
    out = [container_header(schema, codec, sync, metadata=metadata)]
    encoded = list(encode_records(schema, records))
    for begin in range(0, len(encoded), _BLOCK_ROWS):
        block = encoded[begin : begin + _BLOCK_ROWS]
        out.append(container_block(len(block), compress(b"".join(block), codec), sync))
    return b"".join(out)
