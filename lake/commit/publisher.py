"""Making a snapshot the newest one, and knowing for certain whether that happened.

Publishing is one exclusive creation of `snapshot-N`, where N follows the snapshot that was planned
on. Four things can come between:

1. *Somebody else was faster*: N exists with another `uuid`. Lost.
2. *Storage gave no clear answer* (an error, or a refusal after a repeated request): whoever reads
   N sees by its `uuid` whether it is ours. When N is not there, the same bytes are offered again
   under the same name, which cannot create two. When the chain has gone past N and N has expired,
   only the caller can tell, from what is live now: gone.
3. *We slept*: others published N and more, and expired N, so that we created N anew in a hole. Such
   a snapshot is no part of the chain, even where it happens to lie right below the oldest one.
4. *The table was rolled back*: what we planned on is gone or another one, while older snapshots are
   there, or it is the target, and newer ones above a gap are there still. N is built on what was taken
   away, or lies behind what is the newest, and is no part of the chain either.

While the snapshot that was planned on is still there, unchanged, N cannot be in a hole of expiry,
which removes from the low end, and not in the gap of a rollback, unless the table bears its mark. What was
planned on may lie in a hole itself, of a writer that died there, where a hint that was read too early led to
it; then the hint names a newer one by now. So there are three looks in the usual case.

Otherwise the chain above N tells: each snapshot says what it was built on (`lake.snapshots.lineage`), up to
the newest. Where all do, N is part of the chain; where one names
another than the one below it, or is not there, N is detached from it. Another engine's does not say, nor
does the gap of a rollback, unless N leads to its target; then what N's successors hold tells: in doubt.

Beside the mark of a rollback the chain below N is looked at too: where it does not lead to what the rollback
leaves, N is detached, and so is whatever was built on it (`lake.snapshots.removed_history`).

With nothing above N, a rollback is told from an expiry by what is left below: expiry leaves nothing
below what it took.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TypeVar

from lake.commit.steps import OnStep, announce_step
from lake.errors import (
    CommitUnknown,
    CorruptData,
    LakeError,
    StorageUnavailable,
    UnsupportedFeature,
)
from lake.files.paths import TablePaths
from lake.files.storage.file_io import FileIO
from lake.format.snapshot import Snapshot, serialize_snapshot
from lake.snapshots.lineage import follows
from lake.snapshots.removed_history import RemovedHistory
from lake.snapshots.rollback_marker import RollbackMarker
from lake.snapshots.snapshot_store import SnapshotStore

T = TypeVar("T")
Pause = Callable[[int], object]


class PublishOutcome(StrEnum):
    """What became of a snapshot."""

    PUBLISHED = "published"
    LOST = "lost"  # another snapshot has the id
    IN_DOUBT = "in doubt"  # created, in the chain or in a hole; may still be there
    DETACHED = "detached"  # created, and no part of what the table is
    GONE = "gone"  # created or not, the chain has gone past it and the file is not there


class SnapshotPublisher:
    """Creates snapshot files of one table and finds out what became of them."""

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
            paths: Of the table.
            on_step: Told of each effect.
            pause: Waits before the n-th repetition (1-based) of a look or a creation.
            lookups_max: Tries of each.
            removed: Tells what a rollback has removed.
        """
        self._file_io = file_io
        self._paths = paths
        self._snapshots = SnapshotStore(file_io, paths)
        self._rollback_marker = RollbackMarker(file_io, paths)
        self._on_step = on_step
        self._pause = pause
        self._lookups_max = lookups_max
        self._removed = removed

    def publish(self, snapshot: Snapshot, *, previous: Snapshot | None) -> PublishOutcome:
        """Create the snapshot's file and say what became of it.

        Args:
            snapshot: What to publish.
            previous: What it was planned on, None before the first.

        Raises:
            CommitUnknown: Storage answers neither the creation nor the look, and the snapshot may
                appear, even later; or it was created, and the one that it was planned on cannot be
                read any more.
        """
        data = serialize_snapshot(snapshot)
        is_ambiguous = False
        for attempt in range(1, self._lookups_max + 1):
            created = self._create(snapshot, data)
            if created is True:
                return self._verify(snapshot, previous)
            is_ambiguous = is_ambiguous or created is None
            # In this order: a file that is missing below the newest id has expired.
            latest_id = self._certainly(snapshot, self._snapshots.latest_id) or 0
            is_ours = self._certainly(snapshot, lambda: self._is_ours(snapshot))
            if is_ours is not None:
                return self._verify(snapshot, previous) if is_ours else PublishOutcome.LOST
            if latest_id >= snapshot.id or created is False:
                return PublishOutcome.GONE if is_ambiguous else PublishOutcome.LOST
            self._pause(attempt)
        raise _unknown(snapshot, "its creation was never answered")

    def take_back(self, snapshot: Snapshot) -> bool:
        """Delete a snapshot that is no part of the chain; return whether it was there.

        One that has gone by itself may have been part of the chain and have expired.

        Raises:
            CommitUnknown: It could not be deleted.
        """
        with announce_step(self._on_step, "take-back-snapshot"):
            if not self._certainly(snapshot, lambda: self._is_ours(snapshot)):
                return False
            path = self._paths.snapshot(snapshot.id)
            self._certainly(snapshot, lambda: self._file_io.delete(path))
            # After a power failure it would be somebody's newest snapshot again.
            directory = self._paths.snapshot_dir
            self._certainly(snapshot, lambda: self._file_io.sync_directory(directory))
        # Planned on what the hint named, it would come to lie in the same place again.
        with suppress(OSError, StorageUnavailable):
            self._mend_latest_hint()
        return True

    def is_newest(self, snapshot: Snapshot | None) -> bool:
        """Return whether what was found to be the newest snapshot is; a hint that says otherwise is mended.

        Beside the mark of a rollback a hint can lead behind its gap: a writer that dies has mended none.
        """
        if snapshot is None or not self._rollback_marker.exists():
            return True
        if max(self._snapshots.list_ids(), default=snapshot.id) <= snapshot.id:
            return True
        self._mend_latest_hint()
        return False

    def write_hints(self, snapshot: Snapshot) -> None:
        """Point `LATEST` at a published snapshot; failure means nothing.

        A hint below one that is there is not written. Should the snapshot expire meanwhile, the
        hint is mended, because readers of other engines believe a hint without a successor. So it is
        where a rollback is under way, which does without hints: behind its gap one names a snapshot
        that is not the newest.
        """
        try:
            with announce_step(self._on_step, "write-hint"):
                hint = self._snapshots.read_hint(self._paths.latest_hint)
                if hint is None or hint < snapshot.id or not self._snapshots.exists(hint):
                    self._snapshots.write_latest_hint(snapshot.id)
                    # In this order: a rollback puts its mark before it deletes the hint.
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
        """Return what exclusive creation said, None when it gave no clear answer."""
        try:
            with announce_step(self._on_step, "create-snapshot"):
                return self._file_io.create_exclusive(self._paths.snapshot(snapshot.id), data)
        except (OSError, StorageUnavailable):
            return None

    def _is_ours(self, snapshot: Snapshot) -> bool | None:
        """Return whether the file of that id is the one we tried to create, None without one."""
        try:
            found = self._snapshots.find(snapshot.id)
        except (CorruptData, UnsupportedFeature):
            return False  # nothing we wrote; the next plan reads it and says what is wrong
        return None if found is None else found.uuid == snapshot.uuid

    def _verify(self, snapshot: Snapshot, previous: Snapshot | None) -> PublishOutcome:
        """Return whether a snapshot that we created is part of the chain."""
        with announce_step(self._on_step, "verify-snapshot"):
            return self._certainly(snapshot, lambda: self._look_around(snapshot, previous))

    def _look_around(self, snapshot: Snapshot, previous: Snapshot | None) -> PublishOutcome:
        damage: LakeError | None = None
        is_marked = self._rollback_marker.exists()
        is_on_previous = False
        try:
            is_on_previous = previous is not None and self._snapshots.find(previous.id) == previous
        except (CorruptData, UnsupportedFeature) as error:
            damage = error
        if is_on_previous and not is_marked and not self._is_overtaken(snapshot):
            return PublishOutcome.PUBLISHED
        # Since the first look a rollback may have begun, and its gap be what is found now.
        is_marked = is_marked or self._rollback_marker.exists()
        ids = self._snapshots.list_ids()
        if max(ids, default=0) <= snapshot.id:
            if is_marked and self._removed.holds(snapshot):
                return PublishOutcome.DETACHED
            is_gone = damage is None and not is_on_previous
            is_rolled_back = is_gone and any(number < snapshot.id for number in ids)
            if not is_rolled_back:
                return PublishOutcome.PUBLISHED
        else:
            is_link = self._is_built_on(
                snapshot, above=[n for n in ids if n > snapshot.id], is_marked=is_marked
            )
            if is_link is not None:
                return PublishOutcome.PUBLISHED if is_link else PublishOutcome.DETACHED
            # One without rows of its own leaves no trace in another engine's snapshots above it.
            is_empty_first = previous is None and not snapshot.total_record_count
            is_untraceable = is_on_previous and not snapshot.delta_record_count
            if (is_empty_first or is_untraceable) and snapshot.id + 1 in ids:
                return PublishOutcome.PUBLISHED
        if damage is not None:
            # Neither a link of the chain nor a hole can be told from a file that says nothing.
            raise _unknown(snapshot, "the one before it cannot be read") from damage
        return PublishOutcome.IN_DOUBT

    def _is_overtaken(self, snapshot: Snapshot) -> bool:
        """Return whether the hint names a newer snapshot."""
        hint = self._snapshots.read_hint(self._paths.latest_hint)
        return hint is not None and hint > snapshot.id

    def _is_built_on(
        self, snapshot: Snapshot, *, above: Sequence[int], is_marked: bool
    ) -> bool | None:
        """Return whether the newest snapshot was built on one; None where that is not told.

        Args:
            snapshot: That we created.
            above: Ids of the snapshots above it, ascending, at least one.
            is_marked: The gap of a rollback may be among them.
        """
        rollback = self._rollback_marker.read() if is_marked else None
        if not is_marked and len(above) != above[-1] - snapshot.id:
            # Either it lies in a hole, or it was part of the chain and has expired.
            return False if self._is_ours(snapshot) else None
        below = snapshot
        for number in above:
            if rollback is not None and rollback.target.is_of(below):
                return True  # the rollback leaves it, and takes nothing that was not built on it
            found = self._snapshots.find(number) if number == below.id + 1 else None
            if found is None:
                return None  # behind a gap, or it has gone in this moment
            is_link = follows(found, below)
            if not is_link:
                return is_link
            below = found
        return not is_marked or not self._removed.holds(below)

    def _certainly(self, snapshot: Snapshot, look: Callable[[], T]) -> T:
        """Repeat a look until storage answers.

        Raises:
            CommitUnknown: It does not, and without the answer the outcome is not known.
        """
        for attempt in range(1, self._lookups_max):
            try:
                return look()
            except (OSError, StorageUnavailable):
                self._pause(attempt)
        try:
            return look()
        except (OSError, StorageUnavailable) as error:
            raise _unknown(snapshot, "storage does not answer") from error


def _unknown(snapshot: Snapshot, reason: str) -> CommitUnknown:
    message = (
        f"snapshot {snapshot.id} of `{snapshot.commit_user}` may or may not be published: {reason}"
        "\nhint: commit again with the same identity; what is in the table is not repeated"
    )
    return CommitUnknown(message)
