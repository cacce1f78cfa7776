"""Entries of manifests and of the index manifest for one commit, derived from the messages of its writers.

Messages that contradict each other or the kind of the commit are refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from braid.lake.errors import InvalidRequest
from braid.lake.format.commit_message import CommitMessage
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.index_manifest import (
    DELETION_VECTORS_INDEX,
    IndexKey,
    IndexManifestEntry,
    index_key,
)
from braid.lake.format.manifest import FileKind, ManifestEntry
from braid.lake.format.snapshot import CommitKind
from braid.lake.format.statistics import EMPTY_STATS, REDUCED_FROM


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChanges:
    """The entries of one commit.

    Attributes:
        delta: Data files added and deleted, deletes of a message before its adds.
        changelog: Changelog files added.
        indexes: Index files added; each replaces the index file of the same type and bucket.
        removed_indexes: Buckets and types of index files that are removed without a replacement.
        moved: Names of added files whose rows are not new, because they replace other files.
    """

    delta: tuple[ManifestEntry, ...] = ()
    changelog: tuple[ManifestEntry, ...] = ()
    indexes: tuple[IndexManifestEntry, ...] = ()
    removed_indexes: tuple[IndexKey, ...] = ()
    moved: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Return whether there is no entry at all."""
        return not self.delta and not self.changelog and not self.changes_indexes

    @property
    def changes_indexes(self) -> bool:
        """Return whether the commit needs an index manifest of its own."""
        return bool(self.indexes or self.removed_indexes)

    @property
    def delta_record_count(self) -> int:
        """Return the number of rows in added files less the number in deleted files, not merged by key."""
        return sum(
            entry.file.row_count if entry.kind is FileKind.ADD else -entry.file.row_count
            for entry in self.delta
        )

    @property
    def changelog_record_count(self) -> int:
        """Return the number of rows in changelog files."""
        return sum(entry.file.row_count for entry in self.changelog)

    @property
    def max_sequence_number(self) -> int:
        """Return the highest sequence number in added files, -1 without any."""
        return max(
            (e.file.max_sequence_number for e in self.delta if e.kind is FileKind.ADD), default=-1
        )

    def with_sequence_numbers(self, snapshot_id: int) -> "CommitChanges":
        """Return the changes with a snapshot's id as the sequence numbers of files with new rows.

        Tables with `sequence.snapshot-ordering` order records by the snapshot's id (merge-semantics 3.7).
        """
        delta = tuple(
            entry if entry.file.file_name in self.moved else _numbered(entry, snapshot_id)
            for entry in self.delta
        )
        return replace(self, delta=delta)


def changes_of(messages: Sequence[CommitMessage], kind: CommitKind) -> CommitChanges:
    """Return the entries of a commit of some messages.

    Raises:
        InvalidRequest: The messages do not fit the kind (an append may not replace files, a compaction
            may not bring new files), the kind is ANALYZE, or two messages have an index for the same
            bucket.
    """
    for message in messages:
        if kind is CommitKind.APPEND and (message.compact_before or message.compact_after):
            text = "an append cannot replace files\nhint: commit them as COMPACT or OVERWRITE"
            raise InvalidRequest(text)
        if kind is CommitKind.COMPACT and message.new_files:
            text = "a compaction cannot bring new files\nhint: commit them as APPEND first"
            raise InvalidRequest(text)
    if kind is CommitKind.ANALYZE:
        text = "this version makes no commits of kind ANALYZE"
        raise InvalidRequest(text)
    indexes = tuple(entry for message in messages for entry in _new_indexes(message))
    if len({index_key(entry) for entry in indexes}) < len(indexes):
        text = (
            "two writers indexed the keys of one bucket, and each index lacks the other's keys\n"
            "hint: write a table of dynamic buckets with one writer, and commit its messages"
        )
        raise InvalidRequest(text)
    return CommitChanges(
        delta=tuple(entry for message in messages for entry in _delta_of(message)),
        changelog=tuple(
            _entry(message, FileKind.ADD, file)
            for message in messages
            for file in message.changelog_files
        ),
        indexes=indexes,
        removed_indexes=tuple(
            (message.partition, message.bucket, DELETION_VECTORS_INDEX)
            for message in messages
            # Vectors that lost their last mark are removed, not replaced by an empty file.
            if message.vectors and message.vectors.base and message.vectors.new is None
        ),
        moved=frozenset(file.file_name for message in messages for file in message.compact_after),
    )


def _new_indexes(message: CommitMessage) -> Iterator[IndexManifestEntry]:
    yield from message.new_index_files
    vectors = message.vectors
    if vectors is not None and vectors.new is not None and vectors.new.file_name != vectors.base:
        yield vectors.new


def _delta_of(message: CommitMessage) -> Iterator[ManifestEntry]:
    for file in message.compact_before:
        yield _entry(message, FileKind.DELETE, _without_large_statistics(file))
    for file in (*message.new_files, *message.compact_after):
        yield _entry(message, FileKind.ADD, file)


def _without_large_statistics(file: DataFileMeta) -> DataFileMeta:
    """Return a file to delete without value statistics that take most of its entry and that nobody needs any more.

    The form is that of the reference's option `manifest.delete-file-drop-stats`.
    """
    stats = file.value_stats
    if len(stats.min_values) + len(stats.max_values) < REDUCED_FROM:
        return file
    return replace(file, value_stats=EMPTY_STATS, value_stats_cols=())


def _numbered(entry: ManifestEntry, snapshot_id: int) -> ManifestEntry:
    if entry.kind is not FileKind.ADD:
        return entry
    file = replace(entry.file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
    return replace(entry, file=file)


def _entry(message: CommitMessage, kind: FileKind, file: DataFileMeta) -> ManifestEntry:
    return ManifestEntry(
        kind=kind,
        partition=message.partition,
        bucket=message.bucket,
        total_buckets=message.total_buckets,
        file=file,
    )
