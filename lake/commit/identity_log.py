"""Looking for a commit that has been made already.

A commit's identity is (user, identifier, kind); identifiers of one user rise. A user's newest
commit is found by walking back, once per user and process: later only what is new since.
"""

from dataclasses import dataclass

from lake.format.snapshot import CommitKind, Snapshot
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

    def __init__(self, snapshots: SnapshotStore) -> None:
        self._snapshots = snapshots
        # Below the snapshot (id, uuid) nothing is left to find for identities above the number.
        self._looked: dict[str, tuple[int, str | None, int]] = {}

    def find(self, identity: CommitIdentity, latest: Snapshot | None) -> Snapshot | None:
        """Return the snapshot that a commit of this identity made, None when there is none."""
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
            snapshot = self._snapshots.find(snapshot.id - 1) if snapshot.id > 1 else None
        if latest is not None:
            self._looked[identity.user] = (latest.id, latest.uuid, newest_of_user)
        return None
