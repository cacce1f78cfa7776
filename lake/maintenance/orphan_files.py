"""Search for orphan files, which nothing in a table references, and their deletion.

A process leaves orphans if it dies before its files are committed, or if it dies in an expiry after it has deleted a
snapshot and before it has deleted the snapshot's files. A rollback leaves orphans on purpose.

1. List the candidates. In the directories of manifests, index files, statistics and buckets these are all files,
   except managed blobs of other engines; so in those of Iceberg metadata, also where the table has none now. In the directories of snapshots and changelogs they are the files that are
   neither snapshots or changelogs nor hints. In the directories of schemas, tags and consumers they are unfinished
   files.
2. Collect the reachable files (`braid.lake.maintenance.reachable_files`), *after* the listing: a file that was listed
   and is committed meanwhile is then found to be reachable.
3. A file that is not reachable and is older than the minimum age is an orphan. The age protects files that are
   written and not committed yet, so it must exceed the time that any writer takes.
4. Iceberg metadata are brought up to date before a deletion, so that they name no orphan.
5. Before a deletion, collect the reachable files once more, and delete only the orphans that are still unreachable.

Source:
    Table-format 1, 19.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.files.paths import CHANGELOG_PREFIX, SNAPSHOT_PREFIX, TablePaths
from braid.lake.files.storage.file_io import FileStatus
from braid.lake.iceberg.metadata_directory import directories_with_orphans, is_metadata_file
from braid.lake.iceberg.publication import publish
from braid.lake.iceberg.referenced_files import referenced_files
from braid.lake.maintenance.reachable_files import ReachableFiles, ReachableFileScan
from braid.lake.maintenance.spread_work import DeleteFiles, ListDirectories, Spread, here
from braid.lake.snapshots.live_files import LiveFiles
from braid.lake.snapshots.table_store import TableStore
from braid.lake.snapshots.tag_store import list_branches

DAY_MS = 86_400_000

_LOG = logging.getLogger(__name__)
_HINTS = frozenset({"LATEST", "EARLIEST"})
_BUCKET_PREFIX = "bucket-"
# Rows of other engines' tables reference files with these suffixes; no manifest does.
_NEVER_OURS = (".managed.blob",)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanFile:
    """A file that nothing references.

    Attributes:
        path: Absolute path.
        size: Size in bytes.
        modified_ms: When the file was last written, milliseconds since 1970 UTC by storage's clock.
        reason: Why the file is an orphan, as text for users.
    """

    path: str
    size: int
    modified_ms: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanReport:
    """Result of orphan cleaning.

    Attributes:
        files: The orphans, by path.
        is_deleted: Whether the orphans were deleted; False for a dry run.
        younger_files: The number of files that nothing references and that are younger than the
            minimum age.
    """

    files: tuple[OrphanFile, ...]
    is_deleted: bool
    younger_files: int

    @property
    def size(self) -> int:
        """Return the bytes of all orphans."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    status: FileStatus
    reason: str


class OrphanCleaner:
    """Finds and deletes the orphan files of one table (see the module)."""

    def __init__(self, store: TableStore) -> None:
        """Create a cleaner from the store of any branch of the table."""
        self._file_io = store.file_io
        self._paths = replace(store.paths, branch="")
        self._store = replace(store, paths=self._paths)
        self._partition_depth = len(store.schema.partition_keys)
        self._manifests = store.manifests

    def clean(
        self,
        *,
        now_ms: int,
        min_age_ms: int = DAY_MS,
        delete: bool = False,
        spread: Spread = here,
    ) -> OrphanReport:
        """Find the orphans and, with `delete`, delete them.

        Args:
            now_ms: Milliseconds since 1970 UTC, to be compared with storage's clock.
            min_age_ms: Minimum age of an orphan, milliseconds.
            delete: Delete the orphans.
            spread: Lists the directories of buckets, and deletes files.

        Raises:
            InvalidRequest: The age is negative.
            CorruptData: A snapshot, tag or manifest that is in use cannot be read; nothing was
                deleted.
            StorageUnavailable: Some orphans may be deleted; clean again.
        """
        if min_age_ms < 0:
            problem = Problem(
                field="min_age_ms",
                value=str(min_age_ms),
                message="expected a duration of 0 or more",
            )
            message = "the minimum age of orphan files is not valid"
            raise InvalidRequest(message, problems=[problem])
        if delete:
            # Metadata that were not published since a rollback name files that are orphans by now.
            publish(self._store)
        candidates = [*self._metadata_candidates(), *self._bucket_candidates(spread)]
        scan = ReachableFileScan(
            file_io=self._file_io,
            paths=self._paths,
            reachable=ReachableFiles(manifests=self._manifests, live=LiveFiles(self._manifests)),
        )
        reachable = scan.collect() | referenced_files(self._store)
        unnamed = [found for found in candidates if found.status.name not in reachable]
        old = [found for found in unnamed if found.status.modified_ms <= now_ms - min_age_ms]
        younger = len(unnamed) - len(old)
        if delete:
            # A slow commit may have made an old file reachable during the first collection.
            reachable = scan.collect() | referenced_files(self._store)
            old = [found for found in old if found.status.name not in reachable]
            self._delete(old, spread)
        return OrphanReport(
            files=tuple(map(_orphan, sorted(old, key=lambda found: found.status.path))),
            is_deleted=delete,
            younger_files=younger,
        )

    def _delete(self, orphans: Sequence[_Candidate], spread: Spread) -> None:
        spread(DeleteFiles(self._file_io), [orphan.status.path for orphan in orphans])
        for orphan in orphans:
            _LOG.info("deleted %s: %s", orphan.status.path, orphan.reason)

    def _metadata_candidates(self) -> Iterator[_Candidate]:
        """Yield every file of metadata that is an orphan if nothing references it."""
        paths = self._paths
        for directory, what in (
            (paths.manifest_dir, "manifest"),
            (paths.index_dir, "index file"),
            (paths.statistics_dir, "statistics file"),
        ):
            yield from self._files(directory, what)
        yield from self._iceberg_files()
        for branch in ("", *list_branches(self._file_io, paths)):
            yield from self._branch_files(replace(paths, branch=branch))

    def _bucket_candidates(self, spread: Spread) -> Iterator[_Candidate]:
        """Yield every file of a bucket that is an orphan if nothing references it."""
        paths = self._paths
        roots = {paths.root, "/".join(filter(None, (paths.root, paths.data_directory)))}
        buckets = [
            bucket
            for root in sorted(roots)
            for bucket in self._buckets(root, self._partition_depth)
        ]
        found = spread(ListDirectories(self._file_io), buckets)
        yield from _candidates(found, "data or changelog file")

    def _iceberg_files(self) -> Iterator[_Candidate]:
        options = self._store.schema.table_options
        for directory in sorted(directories_with_orphans(self._paths, options)):
            for found in self._files(directory, "file"):
                name = found.status.name
                if _is_unfinished(name):
                    yield found
                elif is_metadata_file(name):
                    yield replace(found, reason="the Iceberg metadata do not need the file")

    def _files(self, directory: str, what: str) -> Iterator[_Candidate]:
        yield from _candidates(self._file_io.list(directory), what)

    def _branch_files(self, paths: TablePaths) -> Iterator[_Candidate]:
        for directory, prefix in (
            (paths.snapshot_dir, SNAPSHOT_PREFIX),
            (paths.changelog_dir, CHANGELOG_PREFIX),
        ):
            for found in self._files(directory, "file"):
                name = found.status.name
                if _is_unfinished(name):
                    yield found
                elif name not in _HINTS and not name.startswith(prefix):
                    yield replace(found, reason="the format has no such file in this directory")
        for directory in (paths.schema_dir, paths.tag_dir, paths.consumer_dir):
            yield from (
                found
                for found in self._files(directory, "file")
                if _is_unfinished(found.status.name)
            )

    def _buckets(self, directory: str, depth: int) -> Iterator[str]:
        for status in self._file_io.list(directory):
            if not status.is_directory:
                continue
            if depth == 0 and status.name.startswith(_BUCKET_PREFIX):
                yield status.path
            elif depth > 0 and "=" in status.name:
                yield from self._buckets(status.path, depth - 1)


def _candidates(listed: Iterable[FileStatus], what: str) -> Iterator[_Candidate]:
    for status in listed:
        if status.is_directory or status.name.endswith(_NEVER_OURS):
            continue
        reason = f"{what} that no snapshot, tag, branch or changelog names"
        yield _Candidate(
            status=status, reason=_UNFINISHED if _is_unfinished(status.name) else reason
        )


_UNFINISHED = "unfinished file of a write that was interrupted"


def _is_unfinished(name: str) -> bool:
    """Return whether a name is one under which engines write a file before they publish it."""
    return name.startswith(".") and name.endswith(".tmp")


def _orphan(found: _Candidate) -> OrphanFile:
    status = found.status
    return OrphanFile(
        path=status.path, size=status.size, modified_ms=status.modified_ms, reason=found.reason
    )
