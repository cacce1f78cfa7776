"""History of a snapshot: its files as they were before compactions, as far back as snapshots exist.

A compaction replaces files by one that has their rows merged. While the snapshot before the compaction exists, the replaced
files exist as well, so the compaction can be undone: from the newest snapshot on, its new files are exchanged for those
that it has replaced. What remains are the files of the oldest snapshot and all files that were written since: the bucket
as it would be if nothing had been compacted. A read merges it into the same rows, except where a compaction has dropped
deletes, or sums were rounded.

Undoing ends at the oldest snapshot, at an overwrite or rescale, and after `SNAPSHOTS_MAX` snapshots.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from braid.lake.format.manifest import FileIdentity, FileKind, ManifestEntry
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.table.lookup.snapshot_lookup import SnapshotLookup

SNAPSHOTS_MAX: Final = 1_000
"""Most snapshots that are read, each for the cost of two or three small files the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHistory:
    """The files of a snapshot before compactions.

    Attributes:
        entries: ADD entries of the files.
        origins: The snapshot that has written a file, by the file's name; files of older snapshots are absent.
        base: The snapshot before which nothing is known: its deletion vectors hold for the files.
    """

    entries: Sequence[ManifestEntry]
    origins: Mapping[str, Snapshot]
    base: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupHistory:
    """Rows of a snapshot as if nothing had been compacted, as far back as snapshots exist.

    Attributes:
        lookup: The lookup in the files before compactions; None: no compaction was undone, so they are those of the snapshot.
        origins: The snapshot that has written a file, by the file's name.
    """

    lookup: SnapshotLookup | None
    origins: Mapping[str, Snapshot]


def snapshot_history(
    snapshot: Snapshot,
    visible: Iterable[ManifestEntry],
    earlier: Iterable[Snapshot],
    manifests: ManifestStore,
) -> SnapshotHistory:
    """Return the history of a snapshot.

    Args:
        snapshot: The snapshot.
        visible: Its live files that readers see.
        earlier: The snapshots before it that exist, newest first, without a gap.
        manifests: Reads the changes of the snapshots.

    Raises:
        ManifestGone: A snapshot has expired meanwhile.
        CorruptData: A manifest cannot be read.
    """
    files = {entry.identity: entry for entry in visible}
    origins: dict[str, Snapshot] = {}
    for previous in earlier:
        if not _undo(snapshot, files, origins, manifests):
            break
        snapshot = previous
    else:
        # What the oldest snapshot has added is known, and what it has replaced is gone.
        if snapshot.commit_kind is CommitKind.APPEND:
            _undo(snapshot, files, origins, manifests)
    return SnapshotHistory(entries=tuple(files.values()), origins=origins, base=snapshot)


def _undo(
    snapshot: Snapshot,
    files: dict[FileIdentity, ManifestEntry],
    origins: dict[str, Snapshot],
    manifests: ManifestStore,
) -> bool:
    """Exchange the files that a compaction has added for those that it has replaced, or note what an append has added.

    Returns:
        False for a snapshot of another kind, which is not undone.
    """
    if snapshot.commit_kind not in (CommitKind.APPEND, CommitKind.COMPACT, CommitKind.ANALYZE):
        return False
    changes = [
        entry
        for manifest in manifests.read_list(snapshot.delta_manifest_list)
        for entry in manifests.read_manifest(manifest.file_name)
    ]
    if snapshot.commit_kind is CommitKind.COMPACT:
        for entry in changes:
            if entry.kind is FileKind.ADD:
                files.pop(entry.identity, None)
        for entry in changes:
            if entry.kind is FileKind.DELETE:
                files[entry.identity] = replace(entry, kind=FileKind.ADD)
    for entry in changes:
        if entry.kind is FileKind.ADD and snapshot.commit_kind is CommitKind.APPEND:
            origins[entry.file.file_name] = snapshot
    return True
