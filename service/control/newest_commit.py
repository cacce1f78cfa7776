"""Which snapshot a stream's newest commit made."""

from lake import InvalidRequest, StreamPosition, Table, positions_of

SNAPSHOTS_MAX = 64  # looked at, newest first: each is one small read


def newest_commit_of(table: Table, position: StreamPosition) -> int | None:
    """Return the id of the snapshot that a stream's newest batch or claim made.

    Later snapshots carry the position forward, so it is the oldest one that has it unchanged.
    Snapshots without positions are of other engines, and say nothing.

    Args:
        table: The stream's table.
        position: What its newest snapshot says of the stream.

    Returns:
        None when it lies further back than `SNAPSHOTS_MAX`, or is expired.
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
    return found if newest.id <= SNAPSHOTS_MAX else None
