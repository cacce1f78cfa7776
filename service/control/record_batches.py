"""The micro-batch that has read a record of a stream, found in the snapshots that are kept.

The positions of streams are properties of each snapshot, so the snapshot that has taken in a record is found by bisection.
"""

from braid.lake import InvalidRequest, Snapshot, StreamBatch, Table, batch_of, positions_of
from braid.service.control.read_after import PushedPlace, ReadAfter


def find_batch(
    table: Table, newest: Snapshot, after: ReadAfter, place: PushedPlace
) -> StreamBatch | None:
    """Return the micro-batch that has read a record; None: its snapshot has expired, or another commit has moved the position.

    Reads some twenty snapshots at most, each a small file.

    Args:
        table: The table.
        newest: A snapshot that has taken in the record.
        after: The stream and the topic.
        place: The place of the record.
    """
    found, step = newest, 1
    before = newest.id - step
    # First away from the newest one, because most records are new; then between the last two.
    while before > 0 and (earlier := _with_record(table, before, after, place)) is not None:
        found, step = earlier, 2 * step
        before = found.id - step
    before = max(0, before)
    while found.id - before > 1:
        middle = (found.id + before) // 2
        earlier = _with_record(table, middle, after, place)
        if earlier is None:
            before = middle
        else:
            found = earlier
    batch = batch_of(found)
    return batch if batch is not None and has_read(batch, after, place) else None


def has_read(batch: StreamBatch, after: ReadAfter, place: PushedPlace) -> bool:
    """Return whether a micro-batch has read a record of a stream."""
    return (
        (batch.stream, batch.topic_id) == (after.stream, after.topic_id)
        and batch.start.get(place.partition, 0) <= place.offset
        and place.offset < batch.end.get(place.partition, 0)
    )


def _with_record(
    table: Table, snapshot_id: int, after: ReadAfter, place: PushedPlace
) -> Snapshot | None:
    """Return a snapshot if it exists and has taken in a record."""
    try:
        snapshot = table.snapshot(snapshot_id)
    except InvalidRequest:
        return None  # expired
    position = positions_of(snapshot).get(after.stream)
    if position is None or position.topic_id != after.topic_id:
        return None
    return snapshot if position.offsets.get(place.partition, 0) > place.offset else None
