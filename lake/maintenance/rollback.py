"""Taking a table back to an earlier snapshot.

The snapshots above the target are removed; its own files were never touched, because a snapshot or
a tag kept them. The steps, each of which leaves a table that is whole:

1. all streams are fenced by an empty commit, so that whoever still runs commits nothing any more;
2. `LATEST` is deleted: without a hint the newest snapshot is the one of the highest id;
3. the snapshots between target and newest go, *oldest first*, so that the newest stays what it was;
4. a target that has expired and is kept by a tag gets its snapshot file back, in the place of another
   snapshot that got its id since;
5. the newest goes: from this moment on the table is what it was at the target;
6. `LATEST` is written, and tags and kept changelogs above the target go;
7. the streams are fenced again, above every epoch that was in use, at the target's offsets.

Broken off before 5 the table is as before, afterwards as at the target; rolling back again goes on
where it stopped. Commits that come meanwhile on top of what is removed are removed with it; one
that was planned on it takes itself back (see `lake.commit.publisher`).

Files that only the removed snapshots named stay, as after a rollback of the format's own engine:
somebody may be reading them. Orphan cleaning removes them when they are old enough.

Source:
    Design 7; table-format 4.1, 19, 20.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.commit.committer import TableCommitter
from lake.commit.stream_authority import StreamAuthority, find_authority
from lake.errors import CommitConflict, InvalidRequest, Problem
from lake.format.snapshot import Snapshot, serialize_snapshot
from lake.format.tag import Tag
from lake.snapshots.table_store import TableStore

# Each round removes what was committed during the one before; nobody outruns that for long.
_ROUNDS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackPlan:
    """What goes.

    Attributes:
        target: What the table will be.
        snapshots: Ids above the target, ascending; the last is the newest.
        tags: Names of tags of snapshots above the target.
        changelogs: Ids of kept changelogs above the target, ascending.
        is_restored: The target has expired and is made again.
    """

    target: Snapshot
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    changelogs: tuple[int, ...]
    is_restored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackResult:
    """What a rollback did.

    Attributes:
        target_id: The snapshot that the table was taken back to.
        snapshot_id: The newest snapshot now: the target, or the fence of the streams above it.
        removed_snapshots: Ids, ascending; with that of the first fence.
        removed_tags: Names.
        epochs: New epoch of each stream; the next claim takes the one above.
    """

    target_id: int
    snapshot_id: int
    removed_snapshots: tuple[int, ...]
    removed_tags: tuple[str, ...]
    epochs: dict[str, int]


def plan_rollback(
    target: Snapshot,
    snapshot_ids: Sequence[int],
    *,
    tags: Sequence[Tag] = (),
    changelog_ids: Sequence[int] = (),
) -> RollbackPlan:
    """Return what goes when a table is taken back; pure.

    Args:
        target: From a snapshot file or a tag.
        snapshot_ids: All that there are.
        tags: All that there are.
        changelog_ids: All that there are.
    """
    return RollbackPlan(
        target=target,
        snapshots=tuple(sorted(number for number in snapshot_ids if number > target.id)),
        tags=tuple(tag.name for tag in tags if tag.snapshot.id > target.id),
        changelogs=tuple(sorted(number for number in changelog_ids if number > target.id)),
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
        authority = find_authority(target, self._snapshots)
        newest = self._snapshots.latest()
        epochs = self._epochs(newest)
        self._check_streams(target, authority, epochs)
        # A newest snapshot that has the target's id and is another one cannot make room for it either.
        if newest is not None and ((newest.id > target.id and epochs) or _is_other(newest, target)):
            self._committer.fence_streams(commit_user=self._commit_user)
            epochs = self._epochs(self._snapshots.latest())
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
            epochs=self._epochs(self._snapshots.latest()),
        )

    def _epochs(self, snapshot: Snapshot | None) -> dict[str, int]:
        positions = find_authority(snapshot, self._snapshots).positions
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
            self._file_io.delete(self._paths.latest_hint)
            for number in above[:-1]:
                self._file_io.delete(self._paths.snapshot(number))
            if _is_other(self._snapshots.find(target.id), target):
                self._file_io.delete(self._paths.snapshot(target.id))
            self._ensure_target(target)
            self._file_io.delete(self._paths.snapshot(above[-1]))
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
