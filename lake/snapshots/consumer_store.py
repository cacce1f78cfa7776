"""Store of the consumers of a table: readers, each with the oldest snapshot that it still needs.

A consumer with a deadline is a lease (`braid.lake.snapshots.lease`). Each consumer has a file, which is overwritten
as the reader advances. It may be impossible to parse the file, because it is empty or torn after a power failure, or
because another program wrote it, perhaps under a name that would be refused here. Expiry deletes what no consumer
needs, so such a file must not count as absent. It counts as a consumer that needs every snapshot, until
`UNREADABLE_MS` after it was last written, or until `consumer.expiration-time` if that is shorter. No lease lasts
longer without a refresh. Afterwards the file no longer counts.

The same directory holds the markers of running expiries; each names the snapshot that the run is about to remove. A
file appears as a whole, so a marker that cannot be parsed belongs to a run that died, and is ignored.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from braid.lake.errors import CorruptData, UnsupportedFeature
from braid.lake.files.paths import CONSUMER_PREFIX, EXPIRING_PREFIX, TablePaths
from braid.lake.files.storage.file_io import FileIO, FileStatus
from braid.lake.format.consumer import Consumer, parse_consumer, serialize_consumer
from braid.lake.format.corruption import corrupt_at
from braid.lake.format.snapshot import Snapshot, parse_snapshot, serialize_snapshot
from braid.lake.snapshots.tag_store import existing_name

LEASE_MS_MAX: Final = 86_400_000
"""The longest that a lease holds without a refresh, milliseconds: a day."""

UNREADABLE_MS: Final = LEASE_MS_MAX
"""Time after its last write during which an unreadable consumer holds every snapshot, milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFile:
    """The file of one consumer.

    Attributes:
        id: Id of the consumer, unique within the table.
        consumer: Content of the file; None if the file cannot be parsed.
        modified_ms: When the file was last written, milliseconds since 1970 UTC by storage's clock.
        error: Why the file cannot be parsed, without its path; None if it can.
    """

    id: str
    consumer: Consumer | None
    modified_ms: int
    error: str | None = None

    @property
    def is_lease(self) -> bool:
        """Whether the consumer has a deadline; False if its file cannot be parsed."""
        return self.consumer is not None and self.consumer.deadline_ms is not None

    def is_expired(self, *, now_ms: int, expiration_ms: int | None) -> bool:
        """Return whether the consumer no longer holds snapshots.

        A lease expires at its deadline. Any consumer expires when its file has not been written for
        `consumer.expiration-time`, as in other engines. A consumer whose file cannot be parsed also expires
        when the file has not been written for as long as a lease can last.

        Args:
            now_ms: Milliseconds since 1970 UTC.
            expiration_ms: Value of the option, None when consumers never expire.
        """
        if self.consumer is None:
            # Unknown whether the file was a lease, so it expires after the shorter of both times.
            limits_ms = (UNREADABLE_MS, expiration_ms or UNREADABLE_MS)
            return now_ms - self.modified_ms > min(limits_ms)
        if self.consumer.deadline_ms is not None and now_ms > self.consumer.deadline_ms:
            return True
        return expiration_ms is not None and now_ms - self.modified_ms > expiration_ms


class ConsumerStore:
    """Reads and writes consumer files; caches nothing."""

    def __init__(self, file_io: FileIO, paths: TablePaths) -> None:
        self._file_io = file_io
        self._paths = paths

    def list(self) -> list[ConsumerFile]:
        """Return all consumers in the order of their ids; costs one listing and a read of each."""
        found = []
        for consumer_id, status in self._files():
            file = self._file(consumer_id, status)
            if file is not None:  # else it was deleted since the listing
                found.append(file)
        return found

    def find(self, consumer_id: str) -> Consumer | None:
        """Return one consumer, or None if there is none of that id.

        Raises:
            InvalidRequest: There is none, and the id is not valid.
            CorruptData: The file cannot be read.
        """
        return self._read(self._path(consumer_id))

    def put(self, consumer_id: str, consumer: Consumer) -> None:
        """Write a consumer, replacing an earlier file of the same id.

        Raises:
            InvalidRequest: There is no such file yet, and the id is not valid.
        """
        self._file_io.overwrite(self._path(consumer_id), serialize_consumer(consumer))

    def delete(self, consumer_id: str) -> bool:
        """Delete a consumer durably; return whether it existed.

        Raises:
            InvalidRequest: There is none, and the id is not valid.
        """
        is_deleted = self._file_io.delete(self._path(consumer_id))
        if is_deleted:
            # A file that reappeared after a power failure would hold snapshots for ever.
            self._file_io.sync_directory(self._paths.consumer_dir)
        return is_deleted

    def mark_expiring(self, expiry: str, snapshot: Snapshot) -> None:
        """Mark a snapshot that an expiry is about to remove, replacing the run's earlier marker.

        Args:
            expiry: Name of the run, unique.
            snapshot: The snapshot that will be removed.
        """
        self._file_io.overwrite(self._paths.expiring(expiry), serialize_snapshot(snapshot))

    def unmark_expiring(self, expiry: str) -> None:
        """Remove the marker of an expiry, durably: a marked snapshot cannot be leased."""
        if self._file_io.delete(self._paths.expiring(expiry)):
            self._file_io.sync_directory(self._paths.consumer_dir)

    def is_marked_expiring(self, snapshot: Snapshot) -> bool:
        """Return whether an expiry is about to remove a snapshot.

        The marker of a run that died also counts, for the one snapshot that the run would have removed next.
        """
        return any(snapshot.is_same(marked) for _, marked in self._marks() if marked is not None)

    def delete_stale_marks(self, *, before_ms: int) -> None:
        """Delete the markers of runs that have died: old ones, and those that cannot be parsed.

        Args:
            before_ms: Milliseconds since 1970 UTC; markers written before are deleted.
        """
        for status, marked in self._marks():
            if marked is None or status.modified_ms < before_ms:
                self._file_io.delete(status.path)

    def _file(self, consumer_id: str, status: FileStatus) -> ConsumerFile | None:
        try:
            consumer = self._read(status.path)
        except CorruptData as error:
            return ConsumerFile(
                id=consumer_id,
                consumer=None,
                modified_ms=status.modified_ms,
                error=str(error).removeprefix(f"{status.path}: "),
            )
        if consumer is None:
            return None
        return ConsumerFile(id=consumer_id, consumer=consumer, modified_ms=status.modified_ms)

    def _marks(self) -> Iterator[tuple[FileStatus, Snapshot | None]]:
        for status in self._file_io.list(self._paths.consumer_dir):
            if not status.name.startswith(EXPIRING_PREFIX):
                continue
            try:
                data = self._file_io.read_bytes(status.path)
            except FileNotFoundError:
                continue  # the run has ended since the listing
            marked = None
            with suppress(CorruptData, UnsupportedFeature):
                marked = parse_snapshot(data)
            yield status, marked

    def _read(self, path: str) -> Consumer | None:
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError:
            return None
        with corrupt_at(path):
            return parse_consumer(data)

    def _path(self, consumer_id: str) -> str:
        return self._paths.consumer(existing_name(consumer_id, field="consumer", listed=self._ids))

    def _ids(self) -> set[str]:
        return {consumer_id for consumer_id, _ in self._files()}

    def _files(self) -> Iterator[tuple[str, FileStatus]]:
        for status in self._file_io.list(self._paths.consumer_dir):
            consumer_id = status.name.removeprefix(CONSUMER_PREFIX)
            if consumer_id != status.name and not status.is_directory:
                yield consumer_id, status
