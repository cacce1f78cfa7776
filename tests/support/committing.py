"""Small tables, files that exist in manifests only, and committers that never really wait."""

import random
from collections.abc import Mapping
from typing import Any

from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.streams.stream_position import BatchAccount, StreamBatch
from braid.lake.files.clock import ManualClock
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.binary_row import EMPTY_ROW, encode_row
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta, FileSource
from braid.lake.format.data_types import DataField
from braid.lake.format.indexes.index_manifest import HASH_INDEX, IndexManifestEntry
from braid.lake.format.manifest import ManifestEntry
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import EMPTY_STATS, SimpleStats
from braid.lake.format.type_codec import parse_type
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.schema_store import SchemaStore
from braid.lake.snapshots.snapshot_store import SnapshotStore

ID = DataField(id=0, name="id", type=parse_type("BIGINT NOT NULL"))
VALUE = DataField(id=1, name="v", type=parse_type("STRING"))
TOPIC = "orders"
TOPIC_ID = "topic-id-1"


def table_schema(*, schema_id: int = 0, options: Mapping[str, str] | None = None) -> TableSchema:
    """Return a schema of (id BIGINT primary key, v STRING), two buckets by default."""
    return TableSchema(
        id=schema_id,
        fields=(ID, VALUE),
        highest_field_id=1,
        partition_keys=(),
        primary_keys=("id",),
        options={"bucket": "2", **(options or {})},
    )


def given_table(
    file_io: FileIO, root: str = "/warehouse/db.db/t", options: Mapping[str, str] | None = None
) -> TablePaths:
    """Create a table and return its paths."""
    paths = TablePaths(root)
    assert SchemaStore(file_io, paths).create(table_schema(options=options))
    return paths


def data_file(
    name: str, *, level: int = 0, low: int = 0, high: int = 9, **given: Any
) -> DataFileMeta:
    """Return a file of keys low..high, one row per key."""
    key_row = encode_row([low], [ID])
    high_row = encode_row([high], [ID])
    values: dict[str, Any] = {
        "file_name": name,
        "file_size": 1_000,
        "row_count": high - low + 1,
        "min_key": key_row,
        "max_key": high_row,
        "key_stats": SimpleStats(min_values=key_row, max_values=high_row, null_counts=(0,)),
        "value_stats": EMPTY_STATS,
        "value_stats_cols": (),
        "min_sequence_number": low,
        "max_sequence_number": high,
        "schema_id": 0,
        "level": level,
        "delete_row_count": 0,
        "file_source": FileSource.APPEND if level == 0 else FileSource.COMPACT,
    }
    return DataFileMeta(**{**values, **given})


def appended(*files: DataFileMeta, bucket: int = 0, **given: Any) -> CommitMessage:
    """Return the message of a writer that made these files."""
    values: dict[str, Any] = {"total_buckets": 2, "schema_id": 0, **given}
    return CommitMessage(partition=EMPTY_ROW, bucket=bucket, new_files=files, **values)


def compacted(
    before: tuple[DataFileMeta, ...], after: tuple[DataFileMeta, ...], **given: Any
) -> CommitMessage:
    """Return the message of a compaction."""
    return appended(compact_before=before, compact_after=after, **given)


def new_committer(
    file_io: FileIO, paths: TablePaths, *, seed: int = 0, **given: Any
) -> TableCommitter:
    """Return a committer with a manual clock, a seeded random source and no real waits."""
    values: dict[str, Any] = {
        "clock": ManualClock(),
        "random": random.Random(seed),
        "sleep_ms": lambda _: None,
    }
    return TableCommitter(file_io, paths, **{**values, **given})


def stream_batch(
    start: Mapping[int, int],
    end: Mapping[int, int],
    *,
    epoch: int = 1,
    batch_id: int = 0,
    **given: Any,
) -> StreamBatch:
    """Return a batch of stream `s` in which every record is accepted."""
    count = sum(end.values()) - sum(start.values())
    values: dict[str, Any] = {
        "stream": "s",
        "topic": TOPIC,
        "topic_id": TOPIC_ID,
        "account": BatchAccount(accepted=max(count, 0)),
    }
    return StreamBatch(epoch=epoch, batch_id=batch_id, start=start, end=end, **{**values, **given})


def hash_index(name: str, *, bucket: int = 0) -> IndexManifestEntry:
    """Return the index of a bucket that has one key."""
    return IndexManifestEntry(
        partition=EMPTY_ROW,
        bucket=bucket,
        index_type=HASH_INDEX,
        file_name=name,
        file_size=4,
        row_count=1,
    )


def index_names(file_io: FileIO, paths: TablePaths) -> list[str]:
    """Return the names of the index files of the newest snapshot, sorted."""
    latest = SnapshotStore(file_io, paths).latest()
    if latest is None or latest.index_manifest is None:
        return []
    entries = ManifestStore(file_io, paths).read_index_manifest(latest.index_manifest)
    return sorted(entry.file_name for entry in entries)


def live_names(file_io: FileIO, paths: TablePaths) -> list[str]:
    """Return the names of the live files of the newest snapshot, sorted, repetitions and all."""
    return sorted(entry.file.file_name for entry in newest_entries(file_io, paths))


def newest_entries(file_io: FileIO, paths: TablePaths) -> list[ManifestEntry]:
    """Return the live entries of the newest snapshot, read without any cache."""
    latest = SnapshotStore(file_io, paths).latest()
    return [] if latest is None else LiveFiles(ManifestStore(file_io, paths)).entries(latest)


def referenced_manifests(file_io: FileIO, paths: TablePaths) -> set[str]:
    """Return the names of all manifests and lists that a snapshot on storage names."""
    names: set[str] = set()
    store = ManifestStore(file_io, paths)
    snapshots = SnapshotStore(file_io, paths)
    for snapshot_id in snapshots.list_ids():
        snapshot = snapshots.get(snapshot_id)
        for name in (
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
            snapshot.changelog_manifest_list,
        ):
            if name is not None:
                names |= {name, *(manifest.file_name for manifest in store.read_list(name))}
        if snapshot.index_manifest is not None:
            names.add(snapshot.index_manifest)
    return names


def stored_manifests(file_io: FileIO, paths: TablePaths) -> set[str]:
    """Return the names of all files in the manifest directory."""
    return {status.name for status in file_io.list(paths.manifest_dir)}
