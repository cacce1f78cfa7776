"""Taking a table back to an earlier snapshot.

The snapshots above the target are removed; its own files were never touched, because a snapshot or
a tag kept them. The steps, each of which leaves a table that is whole:

1. all streams are fenced by an empty commit, so that whoever still runs commits nothing any more; to
   a target above the newest, of a history that was removed and that a tag still has, empty commits
   lead up first;
2. the table is marked, so that whoever publishes looks at the whole chain from now on, and `LATEST`
   is deleted: without a hint the newest snapshot is the one of the highest id;
3. the snapshots between target and newest go, *oldest first*, so that the newest stays what it was;
4. a target that has expired and is kept by a tag gets its snapshot file back, in the place of another
   snapshot that got its id since;
5. consumers that have come past the target continue after it, because ids are given out again;
6. the newest goes: from this moment on the table is what it was at the target;
7. `LATEST` is written, and tags and kept changelogs above the target go;
8. the streams are fenced again, above every epoch that was in use, at the target's offsets.

Broken off before 6 the table is as before and goes on from its newest snapshot, afterwards it is as at
the target: the mark stays, and nobody's commit gets into the gap. Rolling back again goes on
where it stopped. For that the target is leased for a day, which is released at the end: an expiry would
take what lies below the gap of removed snapshots for long gone. Commits that come meanwhile on top of what is removed are removed with it; one
that was planned on it takes itself back (see `lake.commit.publisher`).

Files that only the removed snapshots named stay, as after a rollback of the format's own engine:
somebody may be reading them. Orphan cleaning removes them when they are old enough.

Source:
    Design 7; table-format 4.1, 19, 20.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from lake.commit.committer import TableCommitter
from lake.commit.streams.stream_authority import StreamAuthority, find_authority
from lake.errors import CommitConflict, InvalidRequest, Problem, StorageUnavailable
from lake.format.snapshot import Snapshot, serialize_snapshot
from lake.format.tag import Tag
from lake.snapshots.consumer_store import LEASE_MS_MAX, ConsumerFile
from lake.snapshots.lease import Lease, LeaseLost
from lake.snapshots.removed_history import RemovedHistory
from lake.snapshots.rollback_marker import RollbackMarker
from lake.snapshots.table_store import TableStore

# Each round removes what was committed during the one before; nobody outruns that for long.
_ROUNDS_MAX = 100
# Somebody has to see that a rollback broke off, and to give it again.
_LEASE_MS: Final = LEASE_MS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """What goes.

    Attributes:
        target: What the table will be.
        snapshots: Ids above the target, ascending; the last is the newest.
        tags: Names of tags of snapshots above the target.
        changelogs: Ids of kept changelogs above the target, ascending.
        consumers: Names of consumers that know changes above the target.
        is_restored: The target has expired and is made again.
    """

    target: Snapshot
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    changelogs: tuple[int, ...]
    consumers: tuple[str, ...]
    is_restored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """What a rollback did.

    Attributes:
        target_id: The snapshot that the table was taken back to.
        snapshot_id: The newest snapshot now: the target, or the fence of the streams above it.
        removed_snapshots: Ids, ascending; with that of the first fence.
        removed_tags: Names.
        reset_consumers: Names of consumers that had come past the target and continue after it.
        epochs: New epoch of each stream; the next claim takes the one above.
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
    """Return what goes when a table is taken back; pure.

    Args:
        target: From a snapshot file or a tag.
        snapshot_ids: All that there are.
        tags: All that there are.
        changelog_ids: All that there are.
        consumers: All that there are. Leases among them are of readers, who are told by themselves;
            one that cannot be read has lost its place anyway.
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
    """Takes one table back; see the module."""

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
        """Return what would go now.

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
        """Take the table back.

        Args:
            target: As its snapshot file or tag says.

        Raises:
            InvalidRequest: The target has expired, or nobody knows where its streams were.
            CommitConflict: Somebody goes on committing; stop it and try again.
            CommitUnknown, StorageUnavailable: The table is as before or as at the target; roll back
                again.
            CorruptData: The newest snapshot or a tag cannot be read.
        """
        authority = self._authority_of(target)
        newest = self._snapshots.latest()
        epochs = self._epochs(newest)
        self._check_streams(target, authority, epochs)
        with self._leased(target):
            return self._take_back(target, authority, epochs)

    def _take_back(
        self, target: Snapshot, authority: StreamAuthority, epochs: dict[str, int]
    ) -> RollbackResult:
        newest = self._snapshots.latest()
        # On what an earlier rollback has removed nobody commits anything, not even a fence.
        if newest is not None and newest.id > target.id and epochs and not self._is_removed(newest):
            newest = self._fence()
        # A target of a removed history, which a tag still has, comes back below the newest as well:
        # above it, it would be the newest for some readers and not for others, and later commits
        # would go into the gap between.
        while newest is not None and newest.id <= target.id and not target.is_same(newest):
            newest = self._fence()
        epochs = self._epochs(newest)
        reset = self.plan(target).consumers
        removed = self._remove_snapshots(target)
        # Written before tags go: a reader of another engine stumbles over a wrong hint only.
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
        """Refuse a target whose streams would go on from offsets that nobody knows."""
        unknown = sorted(streams.keys() - authority.positions.keys())
        if authority.is_complete or not unknown:
            return
        problem = Problem(
            field="snapshot",
            value=str(target.id),
            message=f"it does not say where these streams were: {', '.join(unknown)}",
            hint="choose a snapshot that this engine committed",
        )
        message = f"the table cannot be taken back to snapshot {target.id}"
        raise InvalidRequest(message, problems=[problem])

    def _remove_snapshots(self, target: Snapshot) -> list[int]:
        removed: list[int] = []
        for _ in range(_ROUNDS_MAX):
            above = self.plan(target).snapshots
            if not above:
                self._ensure_target(target)
                return removed
            newest = self._snapshots.find(above[-1])
            if newest is None:
                continue  # another rollback was faster
            self._marker.put(target=target, newest=newest)
            self._file_io.delete(self._paths.latest_hint)
            for number in above[:-1]:
                self._file_io.delete(self._paths.snapshot(number))
            if _is_other(self._snapshots.find(target.id), target):
                self._file_io.delete(self._paths.snapshot(target.id))
            self._ensure_target(target)
            self._reset_consumers(target)
            # One between that came back after a power failure would be the newest.
            self._file_io.sync_directory(self._paths.snapshot_dir)
            self._file_io.delete(self._paths.snapshot(above[-1]))
            self._file_io.sync_directory(self._paths.snapshot_dir)
            removed.extend(above)
        message = f"somebody goes on committing while the table is taken back to {target.id}"
        raise CommitConflict(message)

    def _ensure_target(self, target: Snapshot) -> None:
        """Check that the target is there, or give it its file back from its tag.

        Raises:
            InvalidRequest: It has expired meanwhile.
            CommitConflict: Another snapshot has come to have its id.
        """
        found = self._snapshots.find(target.id)
        if found is None:
            path = self._paths.snapshot(target.id)
            # Before it is there: what lies below the hint never expires.
            self._snapshots.write_earliest_hint(min([target.id, *self._snapshots.list_ids()]))
            self._file_io.create_exclusive(path, serialize_snapshot(target))
            # Looked at afterwards: whoever deletes a tag first deletes it, then looks for its
            # snapshot before the files go.
            if not any(tag.snapshot.is_same(target) for tag in self._tags.list()):
                self._file_io.delete(path)
                message = f"snapshot {target.id} has expired meanwhile, the table is as it was"
                raise InvalidRequest(message)
            found = self._snapshots.find(target.id)
        if not target.is_same(found):
            message = f"{self._paths.snapshot(target.id)} is not what the table is taken back to"
            raise CommitConflict(message)

    def _reset_consumers(self, target: Snapshot) -> None:
        # Before the newest goes: one that was left ahead would miss what gets these ids next. One
        # that was taken back in vain finds the gap, and is told.
        for name in self.plan(target).consumers:
            consumer = self._consumers.find(name)
            if consumer is not None:
                self._consumers.put(name, replace(consumer, next_snapshot=target.id + 1))

    @contextmanager
    def _leased(self, target: Snapshot) -> Iterator[None]:
        """Keep the target for as long as it is not the newest; it stays leased when this breaks off.

        One that only a tag has left is none of expiry's business.
        """
        if not target.is_same(self._snapshots.find(target.id)):
            yield
            return
        expiration_ms = self._store.schema.table_options.consumer_expiration_time_ms
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
            # An expiry is about to remove it, or has died there. What a tag keeps is made again.
            if not any(tag.snapshot.is_same(target) for tag in self._tags.list()):
                raise
        yield
        # Those of rollbacks that broke off before, too.
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

    A rollback that was broken off leaves the tags above its target, and ids are given anew from there.
    """
    return found is not None and found.id == target.id and not target.is_same(found)
