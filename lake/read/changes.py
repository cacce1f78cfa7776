"""What a snapshot changed, as rows with kinds.

| mode | `changelog-producer` | a snapshot's changes are |
|---|---|---|
| `delta` | any | the files that an append brought, as they are: what was written, not what it made of the row |
| `changelog` | any but `none` | its changelog files |
| `auto` | `none` | as `delta` |
| `auto` | any other | as `changelog` |

Nothing is merged. The rows of a key come in the order in which they happened: a bucket's files are
read in the order of their manifest, which is that in which they were written.

Source: merge-semantics 1.7, 6.1; table-format 17.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

import pyarrow as pa

from lake.errors import InvalidRequest, Problem
from lake.files.column_mapping import NO_OLDER_SCHEMAS, OlderSchemas
from lake.files.data_file_path import live_file_path
from lake.files.data_files import DataFileReader, ReadCounters
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.manifest import FileKind, ManifestEntry
from lake.format.partition_path import partition_directory
from lake.format.schema import TableSchema
from lake.format.snapshot import CommitKind, Snapshot
from lake.format.system_columns import VALUE_KIND, VALUE_KIND_FIELD
from lake.options import ChangelogProducer
from lake.read.reader import BATCH_ROWS
from lake.snapshots.manifest_store import ManifestStore


class ChangesMode(StrEnum):
    """Which files tell what changed, called as the reference's `incremental-between-scan-mode`."""

    AUTO = "auto"
    DELTA = "delta"
    CHANGELOG = "changelog"

    def for_producer(self, producer: ChangelogProducer) -> "ChangesMode":
        """Return the mode that is meant for a table: not `AUTO`.

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
                message="the table has no changelog, its `changelog-producer` is `none`",
                hint="`delta` tells what was written",
            )
            message = "the table does not tell its changes so"
            raise InvalidRequest(message, problems=[problem])
        return self


KIND_COLUMN: Final = VALUE_KIND
"""Name of the column that says what happened to a row; the first one of each batch."""


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
    """Return the files that hold a snapshot's changes, in the order to read them in.

    Args:
        snapshot: Any snapshot whose lists are kept, an expired one that is kept for its changes too.
        schema: Says which producer the table has.
        manifests: Where to read.
        mode: Which files are wanted.

    Returns:
        ADD entries, by partition directory and bucket, those of a bucket in the order of the
        manifest; none where the snapshot changed no rows.

    Raises:
        InvalidRequest: The table has no changelog.
        ManifestGone: The snapshot's changes have expired.
        CorruptData: A manifest cannot be read.
    """
    wanted = mode.for_producer(schema.table_options.changelog_producer)
    list_name = _list_of_changes(snapshot, wanted)
    if list_name is None:
        return ()
    by_bucket: dict[tuple[bytes, int], list[ManifestEntry]] = defaultdict(list)
    for manifest in manifests.read_list(list_name):
        for entry in manifests.read_manifest(manifest.file_name):
            if entry.kind is FileKind.ADD:
                by_bucket[entry.partition, entry.bucket].append(entry)
    places = sorted(by_bucket, key=lambda place: (partition_directory(place[0], schema), place[1]))
    return tuple(entry for place in places for entry in by_bucket[place])


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
    """Yield the rows of files as they are, with their kinds.

    Memory: one batch, and a row group's compressed bytes.

    Args:
        file_io: Storage.
        paths: Of the table.
        schema: Under which rows are read.
        entries: From `changed_files`.
        columns: Table columns wanted, at least one.
        older_schemas: By id, those that files were written under if their columns are others.
        batch_rows: Upper bound of the rows of a batch.
        counters: Added to when given.

    Yields:
        Batches of at least one row, of `changes_schema`; ascending by key within a file.

    Raises:
        CorruptData: A file is absent or not what its manifest entry says.
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
                yield pa.RecordBatch.from_arrays(batch.columns[1:], schema=target)


def _list_of_changes(snapshot: Snapshot, mode: ChangesMode) -> str | None:
    if mode is ChangesMode.CHANGELOG:
        return snapshot.changelog_manifest_list
    # A compaction changes no row, and readers of the format pass an overwrite over as well.
    is_append = snapshot.commit_kind is CommitKind.APPEND
    return snapshot.delta_manifest_list if is_append else None
