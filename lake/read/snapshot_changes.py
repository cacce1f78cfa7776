"""Changes of one snapshot: the files that have the changes, and the changed rows with their kinds.

| mode | `changelog-producer` | changes of a snapshot |
|---|---|---|
| `delta` | any | the files that an append added: the records as written, not their effect on rows |
| `changelog` | any but `none` | its changelog files |
| `auto` | `none` | as `delta` |
| `auto` | any other | as `changelog` |

Nothing is merged. The changes of a key come in the order in which they happened: a bucket's files are
read in the order of their manifest entries, which is the order in which they were written.

Source: merge-semantics 1.7, 6.1; table-format 17.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum

import pyarrow as pa

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader, ReadCounters
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.partition_path import partition_directory
from braid.lake.format.schema import TableSchema
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.format.system_columns import VALUE_KIND_FIELD
from braid.lake.options.table_options import ChangelogProducer
from braid.lake.read.reader import BATCH_ROWS
from braid.lake.snapshots.manifest_store import ManifestStore


class ChangesMode(StrEnum):
    """Files that changes are read from, named as in the option `incremental-between-scan-mode`."""

    AUTO = "auto"
    DELTA = "delta"
    CHANGELOG = "changelog"

    def for_producer(self, producer: ChangelogProducer) -> "ChangesMode":
        """Return the effective mode for a table; never `AUTO`.

        Raises:
            InvalidRequest: The table has no changelog.
        """
        has_changelog = producer is not ChangelogProducer.NONE
        if self is ChangesMode.AUTO:
            return ChangesMode.CHANGELOG if has_changelog else ChangesMode.DELTA
        if self is ChangesMode.CHANGELOG and not has_changelog:
            problem = Problem(
                field="mode",
                value=self,
                message="the table has no changelog: its `changelog-producer` is `none`",
                hint="`delta` reads the records that were written",
            )
            message = "the changes of the table cannot be read in this mode"
            raise InvalidRequest(message, problems=[problem])
        return self


def changes_schema(schema: TableSchema, columns: Sequence[str]) -> pa.Schema:
    """Return the Arrow schema of changes: the kind int8, not null, then table columns."""
    table_schema = schema.arrow_schema
    return pa.schema([VALUE_KIND_FIELD, *(table_schema.field(name) for name in columns)])


def changed_files(
    snapshot: Snapshot,
    schema: TableSchema,
    manifests: ManifestStore,
    mode: ChangesMode = ChangesMode.AUTO,
) -> tuple[ManifestEntry, ...]:
    """Return the files that have a snapshot's changes, in reading order.

    Args:
        snapshot: Any snapshot whose lists are kept; also an expired one that is kept as a changelog.
        schema: The table's schema, which has its changelog producer.
        manifests: Reads the manifests.
        mode: Which files are wanted.

    Returns:
        ADD entries, by partition directory and bucket; within a bucket, in the order of the
        manifests; none where the snapshot has no changes in this mode, as a compaction or an
        overwrite in `delta`.

    Raises:
        InvalidRequest: The table has no changelog.
        ManifestGone: The snapshot's changes have expired.
        CorruptData: A manifest cannot be read.
    """
    wanted = mode.for_producer(schema.table_options.changelog_producer)
    list_name = _list_of_changes(snapshot, wanted)
    if list_name is None:
        return ()
    by_bucket: dict[BucketId, list[ManifestEntry]] = defaultdict(list)
    for manifest in manifests.read_list(list_name):
        for entry in manifests.read_manifest(manifest.file_name):
            if entry.kind is FileKind.ADD:
                by_bucket[entry.partition, entry.bucket].append(entry)
    # Sorted, so that a reader that is interrupted finds the same order when it continues.
    buckets = sorted(
        by_bucket, key=lambda bucket: (partition_directory(bucket[0], schema), bucket[1])
    )
    return tuple(entry for bucket in buckets for entry in by_bucket[bucket])


def read_changes(
    file_io: FileIO,
    paths: TablePaths,
    schema: TableSchema,
    entries: Sequence[ManifestEntry],
    *,
    columns: Sequence[str],
    older_schemas: OlderSchemas = NO_OLDER_SCHEMAS,
    batch_rows: int = BATCH_ROWS,
    counters: ReadCounters | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files as they were written, with their kinds.

    Memory: one batch, and a row group's compressed bytes.

    Args:
        file_io: Storage.
        paths: The table's paths.
        schema: The schema under which rows are read.
        entries: From `changed_files`.
        columns: Table columns wanted, at least one.
        older_schemas: By id, the schemas of files that were written with other columns.
        batch_rows: Upper bound of the rows of a batch.
        counters: Counters to add to, if given.

    Yields:
        Batches of at least one row, of `changes_schema`; ascending by key within a file.

    Raises:
        CorruptData: A file is absent or does not match its manifest entry.
    """
    target = changes_schema(schema, columns)
    for entry in entries:
        path = live_file_path(paths, schema, entry.partition, entry.bucket, entry.file)
        reader = DataFileReader(
            file_io,
            path,
            file_meta=entry.file,
            schema=schema,
            written=older_schemas.get(entry.file.schema_id),
            counters=counters,
        )
        for batch in reader.batches(columns, batch_rows=batch_rows):
            if batch.num_rows:
                # The first column is the sequence number, which is no part of a change.
                yield pa.RecordBatch.from_arrays(batch.columns[1:], schema=target)


def _list_of_changes(snapshot: Snapshot, mode: ChangesMode) -> str | None:
    assert mode is not ChangesMode.AUTO, "the producer has decided the mode"
    if mode is ChangesMode.CHANGELOG:
        return snapshot.changelog_manifest_list
    # A compaction changes no row, and the format's own readers skip an overwrite as well.
    is_append = snapshot.commit_kind is CommitKind.APPEND
    return snapshot.delta_manifest_list if is_append else None
