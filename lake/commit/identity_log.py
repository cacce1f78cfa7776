"""Search for an earlier commit of the same identity.

A commit's identity is (user, identifier, kind), and the identifiers of one user rise. The search
walks from the newest snapshot down. The first search of an `IdentityLog` for a user may read all
snapshots; a later search for a higher identifier reads only those committed since. The walk ends
where snapshots have expired, or where an interrupted rollback has left a gap. Commits below that
point are not found. If the caller knows that an earlier call of its own may have made one of them,
the search raises `CommitUnknown`.
"""

from dataclasses import dataclass

from braid.lake.errors import CommitUnknown
from braid.lake.format.snapshot import CommitKind, Snapshot
from braid.lake.snapshots.lineage import follows, is_built_on
from braid.lake.snapshots.manifest_store import ManifestStore
from braid.lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """The name under which a commit is repeated.

    Attributes:
        user: Commit user, stable over restarts.
        identifier: Number of the commit, strictly rising per user.
        kind: Kind of the commit; an append and the compaction after it may have the same identifier.
    """

    user: str
    identifier: int
    kind: CommitKind


class IdentityLog:
    """Finds commits by identity, and remembers per user which snapshots it has searched."""

    def __init__(self, snapshots: SnapshotStore, manifests: ManifestStore) -> None:
        self._snapshots = snapshots
        self._manifests = manifests
        # By user: (id, uuid, identifier). At and below the snapshot of that id and uuid the user has
        # no commit with a higher identifier.
        self._searched: dict[str, tuple[int, str | None, int]] = {}

    def find(
        self,
        identity: CommitIdentity,
        latest: Snapshot | None,
        *,
        unsettled_above: int | None = None,
    ) -> Snapshot | None:
        """Return the snapshot that a commit of this identity made, None when there is none.

        Args:
            identity: Identity of the commit.
            latest: The newest snapshot.
            unsettled_above: If an earlier call of this process may have made the commit: the id above
                which its snapshot would be; else None.

        Raises:
            CommitUnknown: The snapshots that would show whether the earlier call made the commit are
                gone.
        """
        searched_id, searched_uuid, highest = self._searched.get(identity.user, (0, None, -1))
        # An identifier that is not above those seen so far may be in the part that was searched.
        stop_id = searched_id if identity.identifier > highest else 0
        newest_of_user = highest if stop_id else -1
        snapshot = latest
        while snapshot is not None:
            # After a rollback the id belongs to another snapshot, and the walk continues below it.
            if snapshot.id == stop_id and snapshot.uuid == searched_uuid:
                break
            if snapshot.commit_user == identity.user:
                if (snapshot.commit_identifier, snapshot.commit_kind) == (
                    identity.identifier,
                    identity.kind,
                ):
                    return snapshot
                newest_of_user = max(newest_of_user, snapshot.commit_identifier)
                if snapshot.commit_identifier < identity.identifier:
                    break  # identifiers rise, so all further down are lower still
            below = self._below(snapshot, identity.user)
            if below is None and unsettled_above is not None and snapshot.id - 1 > unsettled_above:
                message = (
                    f"an earlier call may have made commit {identity.identifier} of `{identity.user}`, "
                    f"but the snapshots below {snapshot.id}, which would show that commit, are gone\n"
                    "hint: check whether the commit's rows are in the table before you write them again"
                )
                raise CommitUnknown(message)
            snapshot = below
        if latest is not None:
            self._searched[identity.user] = (latest.id, latest.uuid, newest_of_user)
        return None

    def _below(self, snapshot: Snapshot, user: str) -> Snapshot | None:
        """Return the snapshot below another one, None where there is none or it lies in a hole.

        A writer that published a snapshot into a hole has not deleted it yet, or died before it did.
        """
        below = self._snapshots.find(snapshot.id - 1) if snapshot.id > 1 else None
        if below is None:
            return None
        link = follows(snapshot, below)
        # Another engine's snapshot does not name what it was built on. Comparing the files of both
        # costs several reads, and only a snapshot of the user can change the result.
        if link is None and below.commit_user == user:
            link = is_built_on(snapshot, below, self._manifests)
        return None if link is False else below
