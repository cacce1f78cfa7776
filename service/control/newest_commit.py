"""Search for the snapshot of a stream's newest commit, in the newest `SNAPSHOTS_MAX` snapshots."""

from braid.lake import InvalidRequest, StreamPosition, Table, positions_of

SNAPSHOTS_MAX = 64  # largest number of snapshots read, newest first; each is one small read


def newest_commit_of(table: Table, position: StreamPosition) -> int | None:
    """Return the id of the snapshot that has last changed a stream's position: by a batch, a claim, a move or a replay.

    Later snapshots carry the position forward, so the commit is the oldest snapshot with the same position.
    Snapshots without any positions come from other engines and are skipped.

    Args:
        table: The stream's table.
        position: The stream's position in the newest snapshot.

    Returns:
        The id; None if the snapshot is further back than `SNAPSHOTS_MAX` snapshots, or has expired.
    """
    newest = table.latest_snapshot()
    if newest is None:
        return None
    found: int | None = None
    for snapshot_id in range(newest.id, max(0, newest.id - SNAPSHOTS_MAX), -1):
        try:
            positions = positions_of(table.snapshot(snapshot_id))
        except InvalidRequest:
            return None  # expired
        if positions and positions.get(position.stream) != position:
            return found
        found = snapshot_id if positions else found
    # Every snapshot read has the position: the commit is the oldest only if none came before these.
    return found if newest.id <= SNAPSHOTS_MAX else None
