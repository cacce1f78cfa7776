"""Publication of a snapshot: exclusive creation, the check that it is in the chain, and the hints.

`take_back` deletes a snapshot that turned out not to be part of the chain of snapshots.

The file is `snapshot-N`, where N is the id after that of the *previous* snapshot, on which the commit was
planned. Four things can come between:

1. *A lost race*: N exists with another `uuid`.
2. *An ambiguous answer* of storage: an error, or a refusal that may be the effect of the same
   request, sent twice by the library of the store. The `uuid` in N shows which writer created it.
   While N does not exist, the same bytes are created again under the same name, which cannot make
   two snapshots. If newer snapshots exist and N does not, N may have been published and have
   expired. Only the live files of the table can then show whether it was; the caller compares them.
3. *A hole of expiry*: while this writer paused, others published N and more, and expiry removed N. Then this
   writer created N anew.
4. *A rollback*: it removed or replaced the previous snapshot, so N is built on removed history. Or the
   previous snapshot is the rollback's target, and N lies in the gap below the snapshots that the rollback has
   not yet removed.

In cases 3 and 4 N is not part of the chain of snapshots, even if its id is right below that of the
oldest one. So N is checked after its creation, which usually costs three reads. N is part of the
chain if all of these hold:

- The table has no marker of a rollback: then N is not in the gap of a rollback.
- The previous snapshot exists unchanged: then N is in no hole, because expiry removes the oldest first.
- The hint `LATEST` names no newer snapshot. It does name a newer one if the previous snapshot lies
  in a hole itself: a writer that died left the previous snapshot there, and an outdated hint led
  this writer to it.

Otherwise the other snapshots decide:

- Snapshots above N: each snapshot of this engine names the one that it was built on
  (`braid.lake.snapshots.lineage`). If each of them, up to the newest, names the one right below it,
  N is part of the chain. If one of them is missing or names another, N is detached from the chain.
  The result is in doubt if a snapshot of another engine is among them, because it names none, or if
  the walk up from N meets the gap of a rollback before the rollback's target. The caller then
  compares the files of N with those of its successor. A commit without rows has no files to
  compare; it counts as part of the chain if the snapshots right below and above it are in place.
- Snapshots below N, if the table has the marker of a rollback: if the walk down from N does not
  lead to history that the rollback keeps, N is detached, and so are the snapshots that were built
  on N (`braid.lake.snapshots.removed_history`).
- If nothing is above N and the previous snapshot is gone, the snapshots below distinguish a rollback from an
  expiry: an expiry leaves nothing below what it removed.
"""

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

from braid.lake.commit.steps import OnStep, announce_step
from braid.lake.errors import (
    CommitUnknown,
    CorruptData,
    LakeError,
    StorageUnavailable,
    UnsupportedFeature,
)
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.snapshot import Snapshot, serialize_snapshot
from braid.lake.snapshots.lineage import follows
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from braid.lake.snapshots.snapshot_store import SnapshotStore

T = TypeVar("T")
Pause = Callable[[int], object]


class PublishOutcome(StrEnum):
    """The result of publishing a snapshot."""

    PUBLISHED = "published"
    LOST = "lost"  # another snapshot has the id
    IN_DOUBT = "in doubt"  # created, in the chain or in a hole; the file may still exist
    DETACHED = "detached"  # created, and no part of the chain
    GONE = "gone"  # perhaps created; newer snapshots exist or existed, and the file does not exist


class SnapshotPublisher:
    """Creates snapshot files of one table and determines what became of them."""

    def __init__(
        self,
        file_io: FileIO,
        paths: TablePaths,
        *,
        on_step: OnStep,
        pause: Pause,
        lookups_max: int,
        removed: RemovedHistory,
    ) -> None:
        """Make a publisher.

        Args:
            file_io: Storage.
            paths: Paths of the table.
            on_step: Called before and after each effect on storage.
            pause: Waits before the n-th repetition (1-based) of a read or a creation.
            lookups_max: Attempts at each read or creation, at least 1.
            removed: Recognises snapshots that a rollback has removed.
        """
        assert lookups_max >= 1, "each question to storage is asked at least once"
        self._file_io = file_io
        self._paths = paths
        self._snapshots = SnapshotStore(file_io, paths)
        self._rollback_marker = RollbackMarker(file_io, paths)
        self._on_step = on_step
        self._pause = pause
        self._lookups_max = lookups_max
        self._removed = removed

    def publish(self, snapshot: Snapshot, *, previous: Snapshot | None) -> PublishOutcome:
        """Create the snapshot's file and return what became of it.

        Args:
            snapshot: The snapshot to publish.
            previous: The snapshot that it was planned on, None before the first.

        Raises:
            CommitUnknown: Storage answers neither the creation nor the read after it, so the snapshot
                may appear, even later; or the snapshot was created, and the previous one cannot be read
                any more.
        """
        assert snapshot.id == (1 if previous is None else previous.id + 1), "ids have no gaps"
        data = serialize_snapshot(snapshot)
        # Whether any attempt so far may have created the file without our knowing.
        is_ambiguous = False
        for attempt in range(1, self._lookups_max + 1):
            created = self._create(snapshot, data)
            if created is True:
                return self._verify(snapshot, previous)
            is_ambiguous = is_ambiguous or created is None
            # In this order, newest id before file: a file that is missing below an id that was the
            # newest earlier has expired. In the other order it might have been created in between.
            latest_id = self._certainly(snapshot, self._snapshots.latest_id) or 0
            is_ours = self._certainly(snapshot, lambda: self._is_ours(snapshot))
            if is_ours is not None:
                return self._verify(snapshot, previous) if is_ours else PublishOutcome.LOST
            # A clear refusal and no file: whatever was in the way has expired since.
            if latest_id >= snapshot.id or created is False:
                return PublishOutcome.GONE if is_ambiguous else PublishOutcome.LOST
            self._pause(attempt)
        raise _unknown(snapshot, "storage gave no definite answer to its creation")

    def take_back(self, snapshot: Snapshot) -> bool:
        """Delete a snapshot that is no part of the chain; return whether it still existed.

        A snapshot that is gone already may have been part of the chain and have expired.

        Raises:
            CommitUnknown: The snapshot could not be deleted.
        """
        with announce_step(self._on_step, "take-back-snapshot"):
            if not self._certainly(snapshot, lambda: self._is_ours(snapshot)):
                return False
            path = self._paths.snapshot(snapshot.id)
            self._certainly(snapshot, lambda: self._file_io.delete(path))
            # A power failure could undo a deletion that is not durable, and the snapshot would be found
            # as the newest again.
            directory = self._paths.snapshot_dir
            self._certainly(snapshot, lambda: self._file_io.sync_directory(directory))
        # A hint that still names the snapshot below would lead the next attempt to the same hole.
        with suppress(OSError, StorageUnavailable):
            self._mend_latest_hint()
        return True

    def confirm_newest(self, snapshot: Snapshot | None) -> bool:
        """Return whether a snapshot is the newest one; correct the hint if it is not.

        Without the marker of a rollback the result is True. With the marker it costs a listing: the hint may
        name a snapshot below the rollback's gap, if the writer that should have corrected the hint died.

        Args:
            snapshot: The snapshot that was found as the newest, None if none was found.
        """
        if snapshot is None or not self._rollback_marker.exists():
            return True
        if max(self._snapshots.list_ids(), default=snapshot.id) <= snapshot.id:
            return True
        self._mend_latest_hint()
        return False

    def write_hints(self, snapshot: Snapshot) -> None:
        """Point `LATEST` at a published snapshot; a failure is ignored, because hints are optional.

        A hint that names a newer existing snapshot stays. The hint is corrected afterwards in two cases.
        If the snapshot has expired meanwhile, readers of other engines would trust the hint, because the
        named snapshot has no successor. If a rollback is under way, the snapshot may lie below its gap,
        where it is not the newest.
        """
        try:
            with announce_step(self._on_step, "write-hint"):
                hint = self._snapshots.read_hint(self._paths.latest_hint)
                if hint is None or hint < snapshot.id or not self._snapshots.exists(hint):
                    self._snapshots.write_latest_hint(snapshot.id)
                    # After the write: a rollback writes its marker before it deletes the hint, so
                    # either it deletes our hint, or we see its marker here.
                    if not self._snapshots.exists(snapshot.id) or self._rollback_marker.exists():
                        self._mend_latest_hint()
                if snapshot.id == 1:
                    self._snapshots.write_earliest_hint(1)
        except (OSError, StorageUnavailable):
            return

    def _mend_latest_hint(self) -> None:
        newest = max(self._snapshots.list_ids(), default=None)
        if newest is not None and self._snapshots.read_hint(self._paths.latest_hint) != newest:
            self._snapshots.write_latest_hint(newest)

    def _create(self, snapshot: Snapshot, data: bytes) -> bool | None:
        """Return whether the file was created, None where storage gave no clear answer."""
        try:
            with announce_step(self._on_step, "create-snapshot"):
                return self._file_io.create_exclusive(self._paths.snapshot(snapshot.id), data)
        except (OSError, StorageUnavailable):
            return None

    def _is_ours(self, snapshot: Snapshot) -> bool | None:
        """Return whether the snapshot's file is the one we tried to create, None if it does not exist."""
        try:
            found = self._snapshots.find(snapshot.id)
        except (CorruptData, UnsupportedFeature):
            return False  # we did not write it; the next attempt reads it and reports the damage
        return None if found is None else found.uuid == snapshot.uuid

    def _verify(self, snapshot: Snapshot, previous: Snapshot | None) -> PublishOutcome:
        """Return whether a snapshot that we created is part of the chain."""
        with announce_step(self._on_step, "verify-snapshot"):
            return self._certainly(snapshot, lambda: self._classify(snapshot, previous))

    def _classify(self, snapshot: Snapshot, previous: Snapshot | None) -> PublishOutcome:
        """Return what became of a snapshot that we created, by the checks that the module lists."""
        damage: LakeError | None = None
        is_marked = self._rollback_marker.exists()
        is_on_previous = False
        try:
            is_on_previous = previous is not None and self._snapshots.find(previous.id) == previous
        except (CorruptData, UnsupportedFeature) as error:
            damage = error
        if is_on_previous and not is_marked and not self._is_overtaken(snapshot):
            return PublishOutcome.PUBLISHED
        # Read again: a rollback that began after the first read may have made the gap seen below.
        is_marked = is_marked or self._rollback_marker.exists()
        ids = self._snapshots.list_ids()
        if max(ids, default=0) <= snapshot.id:
            if is_marked and self._removed.holds(snapshot):
                return PublishOutcome.DETACHED
            # Nothing is above the snapshot. If the previous one is gone, an expiry has left nothing
            # below it, and a rollback has left its target.
            is_previous_gone = damage is None and not is_on_previous
            is_rolled_back = is_previous_gone and any(number < snapshot.id for number in ids)
            if not is_rolled_back:
                return PublishOutcome.PUBLISHED
        else:
            is_link = self._is_built_on(snapshot, newest_id=max(ids), is_marked=is_marked)
            if not is_link and not is_marked and self._rollback_marker.exists():
                # It began after the look for its marker, and what it removes looks like a hole of expiry.
                return self._classify(snapshot, previous)
            if is_link is not None:
                return PublishOutcome.PUBLISHED if is_link else PublishOutcome.DETACHED
            # Another engine's snapshot above names no predecessor, and a commit without rows leaves no
            # files that the caller could compare. If the next id exists and the previous snapshot is
            # still in place, the snapshot counts as part of the chain.
            is_empty_first = previous is None and not snapshot.total_record_count
            is_untraceable = is_on_previous and not snapshot.delta_record_count
            if (is_empty_first or is_untraceable) and snapshot.id + 1 in ids:
                return PublishOutcome.PUBLISHED
        if damage is not None:
            # With the previous snapshot unreadable, a link of the chain looks like a hole.
            raise _unknown(snapshot, "the snapshot before it cannot be read") from damage
        return PublishOutcome.IN_DOUBT

    def _is_overtaken(self, snapshot: Snapshot) -> bool:
        """Return whether the hint names a newer snapshot."""
        hint = self._snapshots.read_hint(self._paths.latest_hint)
        return hint is not None and hint > snapshot.id

    def _is_built_on(self, snapshot: Snapshot, *, newest_id: int, is_marked: bool) -> bool | None:
        """Return whether the newest snapshot was built on `snapshot`; None where that is unknown.

        Each snapshot is asked for by its id: a listing may have a snapshot without one below it that came
        while the listing ran, and that is no hole.

        Args:
            snapshot: A snapshot that we created.
            newest_id: Id of the newest snapshot, above the other.
            is_marked: The table has the marker of a rollback, so there may be a gap among them.
        """
        assert newest_id > snapshot.id, "without a snapshot above there is no link to follow"
        rollback = self._rollback_marker.read() if is_marked else None
        below = snapshot
        for number in range(snapshot.id + 1, newest_id + 1):
            if rollback is not None and rollback.target.is_of(below):
                return True  # the rollback keeps it, and removes only what was built on it
            found = self._snapshots.find(number)
            if found is None:
                # Expiry removes from the low end: the file lies below a hole. If it is gone itself, it may
                # have been part of the chain and have expired.
                return False if not is_marked and self._is_ours(snapshot) else None
            is_link = follows(found, below)
            if not is_link:
                return is_link
            below = found
        return not is_marked or not self._removed.holds(below)

    def _certainly(self, snapshot: Snapshot, ask: Callable[[], T]) -> T:
        """Return the answer of storage, asking again after failures.

        Raises:
            CommitUnknown: Storage does not answer, and the outcome depends on the answer.
        """
        for attempt in range(1, self._lookups_max):
            try:
                return ask()
            except (OSError, StorageUnavailable):
                self._pause(attempt)
        try:
            return ask()
        except (OSError, StorageUnavailable) as error:
            raise _unknown(snapshot, "storage does not answer") from error


def _unknown(snapshot: Snapshot, reason: str) -> CommitUnknown:
    message = (
        f"snapshot {snapshot.id} of `{snapshot.commit_user}` may or may not be published: {reason}"
        "\nhint: commit again with the same identity; rows that are in the table are not written again"
    )
    return CommitUnknown(message)
