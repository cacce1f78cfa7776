"""Looking for a commit that has been made already.

A commit's identity is (user, identifier, kind); identifiers of one user rise. A user's newest
commit is found by walking back, once per user and process: later only what is new since. The walk ends
where snapshots have expired, or where a rollback that broke off has left a gap: a commit of that time cannot
be found again.
"""

from dataclasses import dataclass

from lake.errors import CommitUnknown
from lake.format.snapshot import CommitKind, Snapshot
from lake.snapshots.lineage import follows, is_built_on
from lake.snapshots.manifest_store import ManifestStore
from lake.snapshots.snapshot_store import SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """Who commits what.

    Attributes:
        user: Stable over restarts.
        identifier: Strictly rising per user.
        kind: One identifier may stand for an append and the compaction after it.
    """

    user: str
    identifier: int
    kind: CommitKind


class IdentityLog:
    """Finds commits by identity; remembers per user up to where it has looked."""

    def __init__(self, snapshots: SnapshotStore, manifests: ManifestStore) -> None:
        self._snapshots = snapshots
        self._manifests = manifests
        # Below the snapshot (id, uuid) nothing is left to find for identities above the number.
        self._looked: dict[str, tuple[int, str | None, int]] = {}

    def find(
        self,
        identity: CommitIdentity,
        latest: Snapshot | None,
        *,
        unsettled_above: int | None = None,
    ) -> Snapshot | None:
        """Return the snapshot that a commit of this identity made, None when there is none.

        Args:
            identity: Of the commit.
            latest: The newest snapshot.
            unsettled_above: An earlier call of this process may have made it, above this id; None where
                none did.

        Raises:
            CommitUnknown: One that an earlier call may have made cannot be found any more.
        """
        looked_id, looked_uuid, above = self._looked.get(identity.user, (0, None, -1))
        stop_id = looked_id if identity.identifier > above else 0
        newest_of_user = above if stop_id else -1
        snapshot = latest
        while snapshot is not None:
            if snapshot.id == stop_id and snapshot.uuid == looked_uuid:
                break
            if snapshot.commit_user == identity.user:
                if (snapshot.commit_identifier, snapshot.commit_kind) == (
                    identity.identifier,
                    identity.kind,
                ):
                    return snapshot
                newest_of_user = max(newest_of_user, snapshot.commit_identifier)
                if snapshot.commit_identifier < identity.identifier:
                    break
            below = self._below(snapshot, identity.user)
            if below is None and unsettled_above is not None and snapshot.id - 1 > unsettled_above:
                message = (
                    f"an earlier call may have made commit {identity.identifier} of `{identity.user}`, "
                    f"and the snapshots below {snapshot.id} that would tell are gone\n"
                    "hint: look whether its rows are in the table before you write them again"
                )
                raise CommitUnknown(message)
            snapshot = below
        if latest is not None:
            self._looked[identity.user] = (latest.id, latest.uuid, newest_of_user)
        return None

    def _below(self, snapshot: Snapshot, user: str) -> Snapshot | None:
        """Return the snapshot below another one, None where it lies in a hole or there is none.

        One in a hole is of a writer that has not taken it back yet, or died before. Below another engine's
        only the user's own are worth a look at their files.
        """
        below = self._snapshots.find(snapshot.id - 1) if snapshot.id > 1 else None
        if below is None:
            return None
        link = follows(snapshot, below)
        if link is None and below.commit_user == user:
            link = is_built_on(snapshot, below, self._manifests)
        return None if link is False else below
