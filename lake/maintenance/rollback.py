"""Rollback of a table to an earlier snapshot, the target.

The snapshots above the target are removed. The target's own files still exist, because its snapshot or a tag kept
them. A target is refused if it is unknown which positions the streams of the newest snapshot had at the target. Each
step leaves a consistent table:

1. all streams, if there are any, are fenced by an empty commit, so that running queries can commit nothing more. A
   target that an earlier rollback removed, and that a tag still keeps, may have a higher id than the newest snapshot:
   then empty commits are made until the newest id is above the target's;
2. the rollback marker is written: from now on writers of this engine check the whole chain after publishing. Then
   `LATEST` is deleted: without this hint the newest snapshot is the one with the highest id;
3. the snapshots between target and newest are deleted, *oldest first*, so that the newest stays the same; this
   leaves a gap below the newest;
4. if the target has expired and only a tag keeps it, its snapshot file is written again; another snapshot that has
   got the target's id since then is deleted first;
5. consumers beyond the target are set to continue after the target, because new snapshots get the ids of the
   removed ones;
6. the newest snapshot is deleted: from this moment on the table is as it was at the target;
7. `LATEST` and `EARLIEST` are written, and tags and kept changelogs above the target are deleted;
8. the streams are fenced again, at the target's offsets, with epochs above all that were in use.

If the rollback is interrupted before step 6, the table is as before and continues from its newest snapshot;
afterwards the table is as at the target. The marker stays, so no commit stays in the gap. Running the rollback again
continues where it stopped. Until then an expiry would remove the snapshots below the gap, so a lease keeps the
target: for a day, or for `consumer.expiration-time` if that is shorter. A target that only a tag keeps needs no
lease.

If a commit is found after step 6, on the newest snapshot or already on the target, steps 2 to 6 are repeated, and
that commit is removed too. A writer that finds later that its commit follows a removed snapshot deletes its own
snapshot (`braid.lake.commit.publisher`).

Files that only the removed snapshots referenced stay, as after a rollback of the format's own engine,
because readers may still use them. Orphan cleaning deletes them when they are old enough.

Source:
    Table-format 4.1, 19, 20; decisions 0010 and 0029.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.streams.stream_authority import StreamAuthority, find_authority
from braid.lake.errors import CommitConflict, InvalidRequest, Problem, StorageUnavailable
from braid.lake.format.snapshot import Snapshot, serialize_snapshot
from braid.lake.format.tag import Tag
from braid.lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerFile
from braid.lake.snapshots.lease import Lease, LeaseLost
from braid.lake.snapshots.removed_history import RemovedHistory
from braid.lake.snapshots.rollback_marker import RollbackMarker
from braid.lake.snapshots.table_store import TableStore

# Each round removes the snapshots committed during the round before, and deleting is faster than committing.
_ROUNDS_MAX = 100
# The longest lease: an operator has to notice that a rollback was interrupted, and to repeat it.
_LEASE_MS: Final = LEASE_MS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """Snapshots, tags and changelogs that a rollback removes, and consumers that it resets.

    Attributes:
        target: The snapshot that the table is rolled back to.
        snapshots: Ids of the snapshots above the target, ascending; the last is the newest.
        tags: Names of tags of snapshots above the target.
        changelogs: Ids of kept changelogs above the target, ascending.
        consumers: Names of consumers that have read changes above the target.
        is_restored: The target has expired, and its snapshot file is written again.
    """

    target: Snapshot
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    changelogs: tuple[int, ...]
    consumers: tuple[str, ...]
    is_restored: bool

    def __post_init__(self) -> None:
        above = (*self.snapshots, *self.changelogs)
        assert all(number > self.target.id for number in above), (
            "nothing up to the target is removed"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """Result of a rollback.

    Attributes:
        target_id: The snapshot that the table was rolled back to.
        snapshot_id: The newest snapshot now: the target, or the fence of the streams above it.
        removed_snapshots: Ids of the removed snapshots, in the order of their removal; the snapshot of the
            first fence is among them.
        removed_tags: Names of the removed tags.
        reset_consumers: Names of consumers that were beyond the target and now continue after it.
        epochs: New epoch of each stream; its next claim has the epoch above.
    """

    target_id: int
    snapshot_id: int
    removed_snapshots: tuple[int, ...]
    removed_tags: tuple[str, ...]
    reset_consumers: tuple[str, ...]
    epochs: dict[str, int]


def plan_rollback(
    target: Snapshot,
    snapshot_ids: Sequence[int],
    *,
    tags: Sequence[Tag] = (),
    changelog_ids: Sequence[int] = (),
    consumers: Sequence[ConsumerFile] = (),
) -> RollbackPlan:
    """Return what a rollback removes. Pure.

    Args:
        target: The target, from a snapshot file or a tag.
        snapshot_ids: Ids of all existing snapshots.
        tags: All tags.
        changelog_ids: Ids of all kept changelogs.
        consumers: All consumers. Leases among them are not reset, because their readers notice the loss
            themselves; a consumer that cannot be read has no position to reset.
    """
    return RollbackPlan(
        target=target,
        snapshots=tuple(sorted(number for number in snapshot_ids if number > target.id)),
        tags=tuple(tag.name for tag in tags if tag.snapshot.id > target.id),
        changelogs=tuple(sorted(number for number in changelog_ids if number > target.id)),
        consumers=tuple(
            file.id
            for file in consumers
            if file.consumer is not None
            and not file.is_lease
            and file.consumer.next_snapshot > target.id + 1
        ),
        is_restored=target.id not in snapshot_ids,
    )


class TableRollback:
    """Rolls one table back (see the module)."""

    def __init__(self, store: TableStore, committer: TableCommitter, *, commit_user: str) -> None:
        self._file_io = store.file_io
        self._paths = store.paths
        self._committer = committer
        self._commit_user = commit_user
        self._snapshots = store.snapshots
        self._tags = store.tags
        self._changelogs = store.changelogs
        self._consumers = store.consumers
        self._marker = RollbackMarker(store.file_io, store.paths)
        self._store = store

    def plan(self, target: Snapshot) -> RollbackPlan:
        """Return what a rollback would remove now.

        Raises:
            CorruptData: A tag cannot be read.
        """
        return plan_rollback(
            target,
            self._snapshots.list_ids(),
            tags=self._tags.list(),
            changelog_ids=self._changelogs.list_ids(),
            consumers=self._consumers.list(),
        )

    def run(self, target: Snapshot) -> RollbackResult:
        """Roll the table back.

        Args:
            target: The target, from its snapshot file or tag.

        Raises:
            InvalidRequest: The target has expired, or the positions of its streams are unknown.
            CommitConflict: Another process keeps committing; stop it and try again.
            CommitUnknown, StorageUnavailable: The table is as before or as at the target; roll back
                again.
            CorruptData: The newest snapshot or a tag cannot be read.
        """
        authority = self._authority_of(target)
        newest = self._snapshots.latest()
        epochs = self._epochs(newest)
        self._check_streams(target, authority, epochs)
        # A tag that cannot be read refuses the rollback here, where nothing is done and nothing leased.
        self.plan(target)
        with self._leased(target):
            return self._roll_back(target, authority, epochs)

    def _roll_back(
        self, target: Snapshot, authority: StreamAuthority, epochs: dict[str, int]
    ) -> RollbackResult:
        newest = self._snapshots.latest()
        # An interrupted rollback may have left a newest snapshot of removed history. Nothing can be
        # committed on it, not even a fence, and no fence is needed.
        if newest is not None and newest.id > target.id and epochs and not self._is_removed(newest):
            newest = self._fence()
        # A target of a removed history, which a tag still keeps, must also come back below the newest
        # snapshot. If it came back above that, it would be the newest for some readers and not for
        # others, and later commits would fill the gap between the two.
        while newest is not None and newest.id <= target.id and not target.is_same(newest):
            newest = self._fence()
        epochs = self._epochs(newest)
        reset = self.plan(target).consumers
        removed = self._remove_snapshots(target)
        # Before the tags, because readers of other engines fail without a right hint.
        self._write_hints(target)
        plan = self.plan(target)
        for name in plan.tags:
            self._tags.delete(name)
        self._remove_changelogs(plan)
        snapshot_id = target.id
        if authority.positions:
            fence = self._committer.fence_streams(
                commit_user=self._commit_user, known_epochs=epochs
            )
            snapshot_id = fence.snapshot_id
        return RollbackResult(
            target_id=target.id,
            snapshot_id=snapshot_id,
            removed_snapshots=tuple(removed),
            removed_tags=plan.tags,
            reset_consumers=reset if removed else (),
            epochs=self._epochs(self._snapshots.latest()),
        )

    def _is_removed(self, snapshot: Snapshot) -> bool:
        return RemovedHistory(self._file_io, self._paths).holds(snapshot)

    def _fence(self) -> Snapshot | None:
        """Publish an empty commit that fences the streams, if there are any; return the newest."""
        self._committer.fence_streams(commit_user=self._commit_user)
        return self._snapshots.latest()

    def _authority_of(self, snapshot: Snapshot | None) -> StreamAuthority:
        return find_authority(snapshot, self._snapshots, self._store.manifests)

    def _epochs(self, snapshot: Snapshot | None) -> dict[str, int]:
        positions = self._authority_of(snapshot).positions
        return {name: position.epoch for name, position in positions.items()}

    def _check_streams(
        self, target: Snapshot, authority: StreamAuthority, streams: dict[str, int]
    ) -> None:
        """Refuse a target without the positions of streams that the newest snapshot has."""
        unknown = sorted(streams.keys() - authority.positions.keys())
        if authority.is_complete or not unknown:
            return
        problem = Problem(
            field="snapshot",
            value=str(target.id),
            message=f"the snapshot has no positions of these streams: {', '.join(unknown)}",
            hint="choose a snapshot that this engine committed",
        )
        message = f"the table cannot be rolled back to snapshot {target.id}"
        raise InvalidRequest(message, problems=[problem])

    def _remove_snapshots(self, target: Snapshot) -> list[int]:
        """Delete the snapshots above the target until there are none; return their ids (steps 2 to 6)."""
        removed: list[int] = []
        for _ in range(_ROUNDS_MAX):
            above = self.plan(target).snapshots
            if not above:
                self._ensure_target(target)
                return removed
            assert list(above) == sorted(above), "the oldest goes first, and the newest last"
            newest = self._snapshots.find(above[-1])
            if newest is None:
                continue  # another rollback was faster
            # The marker first: a writer that publishes after the first deletion must see it.
            self._marker.put(target=target, newest=newest)
            self._file_io.delete(self._paths.latest_hint)
            for number in above[:-1]:
                self._file_io.delete(self._paths.snapshot(number))
            if _is_other(self._snapshots.find(target.id), target):
                self._file_io.delete(self._paths.snapshot(target.id))
            self._ensure_target(target)
            self._reset_consumers(target)
            # These deletions are durable before the newest snapshot is deleted. Otherwise a power failure
            # could bring back one of the others, which would then be the newest.
            self._file_io.sync_directory(self._paths.snapshot_dir)
            self._file_io.delete(self._paths.snapshot(above[-1]))
            self._file_io.sync_directory(self._paths.snapshot_dir)
            removed.extend(above)
        message = f"another process keeps committing while the table is rolled back to snapshot {target.id}"
        raise CommitConflict(message)

    def _ensure_target(self, target: Snapshot) -> None:
        """Check that the target exists, or write its snapshot file again from its tag.

        Raises:
            InvalidRequest: The target has expired meanwhile.
            CommitConflict: Another snapshot has the target's id.
        """
        found = self._snapshots.find(target.id)
        if found is None:
            path = self._paths.snapshot(target.id)
            # The hint before the file: expiry starts at the hint, so a snapshot below it never expires.
            self._snapshots.write_earliest_hint(min([target.id, *self._snapshots.list_ids()]))
            self._file_io.create_exclusive(path, serialize_snapshot(target))
            # The file is written before the tags are read. The deletion of a tag deletes the tag's file,
            # then searches for its snapshot, then deletes files. So either it finds the snapshot, or the
            # tag is missing here.
            if not any(tag.snapshot.is_same(target) for tag in self._tags.list()):
                self._file_io.delete(path)
                message = f"snapshot {target.id} has expired meanwhile; the table was not changed"
                raise InvalidRequest(message)
            found = self._snapshots.find(target.id)
        if not target.is_same(found):
            message = f"{self._paths.snapshot(target.id)} was replaced by another snapshot, so it is not the target of the rollback"
            raise CommitConflict(message)

    def _reset_consumers(self, target: Snapshot) -> None:
        # Before the newest snapshot is deleted: a consumer left beyond the target would miss the new
        # snapshots that get the ids in between. If the rollback is interrupted here, a consumer that was
        # set back meets the gap and gets an error.
        for name in self.plan(target).consumers:
            consumer = self._consumers.find(name)
            if consumer is not None:
                self._consumers.put(name, replace(consumer, next_snapshot=target.id + 1))

    @contextmanager
    def _leased(self, target: Snapshot) -> Iterator[None]:
        """Lease the target until it is the newest; the lease stays if the rollback is interrupted.

        A target that only a tag keeps needs no lease, because expiry does not remove it.
        """
        if not target.is_same(self._snapshots.find(target.id)):
            yield
            return
        expiration_ms = self._store.schema.table_options.consumer_expiration_time_ms
        # Stored in the lease, and compared below: a rollback of another version finds it by this text.
        holder = f"a rollback to snapshot {target.id}, which is under way or broke off"
        try:
            Lease(
                consumers=self._consumers,
                snapshots=self._snapshots,
                snapshot=target,
                clock=self._store.clock,
                new_uuid=self._store.new_uuid,
                holder=holder,
                lease_ms=_LEASE_MS if expiration_ms is None else min(_LEASE_MS, expiration_ms),
            )
        except LeaseLost:
            # An expiry is about to remove the target, or died while it did. If a tag keeps the target, its
            # file is written again later.
            if not any(tag.snapshot.is_same(target) for tag in self._tags.list()):
                raise
        yield
        # This also deletes the leases of interrupted rollbacks to the same target.
        with suppress(OSError, StorageUnavailable):
            for file in self._consumers.list():
                if file.consumer is not None and file.is_lease and file.consumer.holder == holder:
                    self._consumers.delete(file.id)

    def _write_hints(self, target: Snapshot) -> None:
        ids = self._snapshots.list_ids()
        self._snapshots.write_latest_hint(max(ids, default=target.id))
        self._snapshots.write_earliest_hint(min(ids, default=target.id))

    def _remove_changelogs(self, plan: RollbackPlan) -> None:
        if not plan.changelogs:
            return
        kept = [n for n in self._changelogs.list_ids() if n not in plan.changelogs]
        if kept:
            self._changelogs.write_latest_hint(max(kept))
        else:
            self._file_io.delete(self._paths.latest_changelog_hint)
            self._file_io.delete(self._paths.earliest_changelog_hint)
        for number in reversed(plan.changelogs):
            self._changelogs.delete(number)


def _is_other(found: Snapshot | None, target: Snapshot) -> bool:
    """Return whether a snapshot has the target's id but is of another history.

    An interrupted rollback leaves the tags above its target, and new snapshots get the ids of the tagged ones.
    """
    return found is not None and found.id == target.id and not target.is_same(found)
