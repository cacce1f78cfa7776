"""Views of tags, consumers and schemas of a table; pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from braid.lake.format.schema import TableSchema
from braid.lake.format.tag import Tag
from braid.lake.snapshots.consumer_store import ConsumerFile
from braid.lake.snapshots.tag_store import TagFile
from braid.lake.table.inspection.file_views import table_of

_UTC_MS: Final = pa.timestamp("ms", "UTC")
_WALL_MS: Final = pa.timestamp("ms")

TAGS: Final = pa.schema(
    [
        pa.field("tag", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64()),
        pa.field("committed_at", _UTC_MS),
        pa.field("rows", pa.int64()),
        pa.field("created_at", _WALL_MS),
        pa.field("expires_at", _WALL_MS),
        pa.field("error", pa.string()),
    ]
)
"""`tags`: by snapshot and name. `created_at` and `expires_at` are local wall time, and null for tags without an end.

A tag whose file cannot be read has an error and comes last; it keeps all snapshots from expiring until it is deleted.
"""

CONSUMERS: Final = pa.schema(
    [
        pa.field("consumer", pa.string(), nullable=False),
        pa.field("next_snapshot_id", pa.int64()),
        pa.field("modified_at", _UTC_MS, nullable=False),
        pa.field("is_lease", pa.bool_(), nullable=False),
        pa.field("lease_ends_at", _UTC_MS),
        pa.field("holder", pa.string()),
        pa.field("error", pa.string()),
    ]
)
"""`consumers`: by id. Leases have a deadline; a consumer whose file cannot be read has an error."""

SCHEMAS: Final = pa.schema(
    [
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("created_at", _UTC_MS),
        pa.field("columns", pa.list_(pa.string()), nullable=False),
        pa.field("primary_key", pa.list_(pa.string()), nullable=False),
        pa.field("partition_keys", pa.list_(pa.string()), nullable=False),
        pa.field("options", pa.list_(pa.string()), nullable=False),
        pa.field("comment", pa.string()),
    ]
)
"""`schemas`: oldest first. Columns are `name TYPE`, options `key = value` by key."""


def tag_rows(files: Iterable[TagFile]) -> pa.Table:
    """Return `TAGS`."""
    rows = [
        {
            "tag": file.name,
            "snapshot_id": file.tag and file.tag.snapshot.id,
            "committed_at": file.tag and file.tag.snapshot.time_millis,
            "rows": file.tag and file.tag.snapshot.total_record_count,
            "created_at": file.tag and _to_ms(file.tag.created),
            "expires_at": file.tag and _end_of(file.tag),
            "error": file.error,
        }
        for file in files
    ]
    return table_of(rows, TAGS)


def consumer_rows(consumers: Iterable[ConsumerFile]) -> pa.Table:
    """Return `CONSUMERS`."""
    rows = [
        {
            "consumer": found.id,
            "next_snapshot_id": found.consumer and found.consumer.next_snapshot,
            "modified_at": found.modified_ms,
            "is_lease": found.is_lease,
            "lease_ends_at": found.consumer and found.consumer.deadline_ms,
            "holder": found.consumer and found.consumer.holder,
            "error": found.error,
        }
        for found in consumers
    ]
    return table_of(rows, CONSUMERS)


def schema_rows(schemas: Iterable[TableSchema]) -> pa.Table:
    """Return `SCHEMAS`."""
    rows = [
        {
            "schema_id": schema.id,
            "created_at": schema.time_millis or None,
            "columns": [f"{field.name} {field.type}" for field in schema.fields],
            "primary_key": list(schema.primary_keys),
            "partition_keys": list(schema.partition_keys),
            "options": [f"{key} = {value}" for key, value in sorted(schema.options.items())],
            "comment": schema.comment,
        }
        for schema in schemas
    ]
    return table_of(rows, SCHEMAS)


def _end_of(tag: Tag) -> datetime | None:
    if tag.created is None or tag.retained_ms is None:
        return None
    try:
        return _to_ms(tag.created + timedelta(milliseconds=tag.retained_ms))
    except OverflowError:  # beyond the year 9999: shown as a tag without an end
        return None


def _to_ms(time: datetime | None) -> datetime | None:
    """Return a time cut to milliseconds, as the column has them."""
    if time is None:
        return None
    return time.replace(microsecond=time.microsecond // 1_000 * 1_000)
