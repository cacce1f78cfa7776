"""The metadata file of an Iceberg table, `v<N>.metadata.json`, as JSON. Pure.

N is the id of the table's snapshot whose state the file has, and ids of Iceberg snapshots are those of the table's
snapshots too. A snapshot that leaves the compacted files as they are has no Iceberg snapshot.

Source: Iceberg's table specification, "Table Metadata", version 2.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from braid.lake.errors import CorruptData
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import Snapshot
from braid.lake.iceberg.avro_files import FORMAT_VERSION
from braid.lake.iceberg.table_columns import (
    SPEC_ID,
    Json,
    has_counterpart,
    highest_column_id,
    iceberg_schema,
    last_partition_id,
    partition_spec,
)

_IDENTITY: Final = "paimon-commit-identity"
_SORT_ORDER_ID: Final = 0
_FOR_EVER_MS: Final = (1 << 63) - 1


def identity_of(snapshot: Snapshot) -> str:
    """Return what tells a snapshot from one that gets its id after a rollback."""
    if snapshot.uuid is not None:
        return snapshot.uuid
    return f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSnapshot:
    """A snapshot in the metadata.

    Attributes:
        id: Id of the table's snapshot.
        manifest_list: Path of its manifest list.
        record: The snapshot as in the JSON.
    """

    id: int
    manifest_list: str
    record: Json

    @property
    def identity(self) -> str | None:
        """Return `identity_of` the table's snapshot; None in metadata of older versions of Paimon."""
        found: str | None = self.record.get("summary", {}).get(_IDENTITY)
        return found

    def is_of(self, snapshot: Snapshot) -> bool:
        """Return whether it has the state of a snapshot of the table, as far as can be told."""
        return self.id == snapshot.id and self.identity in (None, identity_of(snapshot))

    def total(self, what: str) -> int | None:
        """Return a total of the summary, such as `records`; None where it has none."""
        found = self.record.get("summary", {}).get(f"total-{what}")
        return int(found) if found is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergMetadata:
    """What a metadata file says.

    Attributes:
        version: Number in the name of the file.
        uuid: Id of the table, for ever.
        schema_id: The current schema.
        last_column_id: The highest id of a column so far.
        snapshots: Oldest first; the current one is the last.
        refs: Snapshot ids by the name of a tag.
    """

    version: int
    uuid: str
    schema_id: int
    last_column_id: int
    snapshots: tuple[IcebergSnapshot, ...]
    refs: Mapping[str, int]

    @property
    def current(self) -> IcebergSnapshot:
        """Return the current snapshot."""
        return self.snapshots[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCounts:
    """Sizes of a change, for the summary of a snapshot.

    Attributes:
        files: Number of files.
        records: Number of their rows.
        bytes: Their size.
    """

    files: int
    records: int
    bytes: int


def new_snapshot(
    snapshot: Snapshot,
    *,
    parent: IcebergSnapshot | None,
    manifest_list: str,
    added: ChangeCounts,
    removed: ChangeCounts,
    total: ChangeCounts,
    partitions: int,
) -> IcebergSnapshot:
    """Return the Iceberg snapshot of a snapshot of the table.

    Args:
        snapshot: The snapshot.
        parent: The Iceberg snapshot before; None for the first.
        manifest_list: Path of its manifest list.
        added: Files that the parent does not have.
        removed: Files of the parent that it does not have.
        total: All of its files.
        partitions: Number of partitions with an added or removed file.
    """
    record: dict[str, Any] = {"sequence-number": snapshot.id, "snapshot-id": snapshot.id}
    if parent is not None:
        record["parent-snapshot-id"] = parent.id
    record |= {
        "timestamp-ms": snapshot.time_millis,
        "summary": {
            "operation": "overwrite" if removed.files else "append",
            "added-data-files": str(added.files),
            "added-records": str(added.records),
            "added-files-size": str(added.bytes),
            "deleted-data-files": str(removed.files),
            "deleted-records": str(removed.records),
            "removed-files-size": str(removed.bytes),
            "changed-partition-count": str(partitions),
            "total-records": str(total.records),
            "total-data-files": str(total.files),
            "total-files-size": str(total.bytes),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
            _IDENTITY: identity_of(snapshot),
        },
        "manifest-list": manifest_list,
        "schema-id": snapshot.schema_id,
    }
    return IcebergSnapshot(id=snapshot.id, manifest_list=manifest_list, record=record)


def serialize_metadata(
    metadata: IcebergMetadata,
    *,
    location: str,
    schemas: Iterable[TableSchema],
    schema: TableSchema,
    now_ms: int,
) -> bytes:
    """Return the bytes of a metadata file.

    Args:
        metadata: What it says.
        location: The table's directory.
        schemas: All schemas of the table; those without a counterpart are left out.
        schema: The current one.
        now_ms: Milliseconds since 1970 UTC.
    """
    snapshots = metadata.snapshots
    document = {
        "format-version": FORMAT_VERSION,
        "table-uuid": metadata.uuid,
        "location": location,
        "last-sequence-number": metadata.current.id,
        "last-updated-ms": max(now_ms, metadata.current.record["timestamp-ms"]),
        "last-column-id": max(metadata.last_column_id, highest_column_id(schema)),
        "schemas": [iceberg_schema(found) for found in schemas if has_counterpart(found)],
        "current-schema-id": schema.id,
        "partition-specs": [partition_spec(schema)],
        "default-spec-id": SPEC_ID,
        "last-partition-id": last_partition_id(schema),
        "sort-orders": [{"order-id": _SORT_ORDER_ID, "fields": []}],
        "default-sort-order-id": _SORT_ORDER_ID,
        "snapshots": [snapshot.record for snapshot in snapshots],
        "current-snapshot-id": metadata.current.id,
        "snapshot-log": _log(snapshots),
        "properties": {},
        "refs": {
            name: {"snapshot-id": number, "type": "tag", "max-ref-age-ms": _FOR_EVER_MS}
            for name, number in metadata.refs.items()
        },
    }
    return json.dumps(document, separators=(",", ":")).encode()


def parse_metadata(data: bytes, *, version: int) -> IcebergMetadata:
    """Return what a metadata file of this or another engine says.

    Raises:
        CorruptData: It is no metadata file, has another format version, or its current snapshot is not in it.
    """
    try:
        document = json.loads(data)
        if document["format-version"] != FORMAT_VERSION:
            text = f"Iceberg metadata {version} have format version {document['format-version']}"
            raise CorruptData(text)
        current = document["current-snapshot-id"]
        # Other engines may have the current one anywhere; ids rise with time.
        records = sorted(document["snapshots"], key=lambda record: record["snapshot-id"])
        snapshots = tuple(
            IcebergSnapshot(
                id=record["snapshot-id"], manifest_list=record["manifest-list"], record=record
            )
            for record in records
            if record["snapshot-id"] <= current
        )
        if not snapshots or snapshots[-1].id != current:
            text = f"Iceberg metadata {version} do not have their current snapshot"
            raise CorruptData(text)
        return IcebergMetadata(
            version=version,
            uuid=document["table-uuid"],
            schema_id=document["current-schema-id"],
            last_column_id=document["last-column-id"],
            snapshots=snapshots,
            refs={
                name: ref["snapshot-id"]
                for name, ref in (document.get("refs") or {}).items()
                if ref["type"] == "tag"
            },
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"Iceberg metadata {version} cannot be read: {error!r}"
        raise CorruptData(text) from error


def _log(snapshots: Sequence[IcebergSnapshot]) -> list[Json]:
    """Return when each snapshot became the current one; readers find a snapshot by a time in it."""
    return [
        {"timestamp-ms": snapshot.record["timestamp-ms"], "snapshot-id": snapshot.id}
        for snapshot in snapshots
    ]
