"""The state that a rollback leads to, and what it would do."""

from braid.lake import InvalidRequest, Problem, Table
from braid.schemas import RollbackRequest
from braid.service.control.snapshot_resources import find_snapshot, find_tag


def rollback_target(table: Table, request: RollbackRequest) -> int:
    """Return the id of the snapshot that the table is taken back to.

    Raises:
        InvalidRequest: The request names neither a snapshot nor a tag, or both.
        SnapshotNotFound, TagNotFound: There is no such snapshot or tag.
    """
    if (request.snapshot_id is None) == (request.tag is None):
        problem = Problem(
            field="snapshot_id",
            value=None if request.snapshot_id is None else str(request.snapshot_id),
            message="expected either `snapshot_id` or `tag`",
            hint="`GET …/snapshots` and `GET …/tags` list them",
        )
        message = f"it is not known to which state {table.identifier} is to be rolled back"
        raise InvalidRequest(message, problems=[problem])
    if request.snapshot_id is not None:
        return find_snapshot(table, request.snapshot_id).id
    assert request.tag is not None, "one of both is given"
    return find_tag(table, request.tag).snapshot_id


def effects_of_rollback(table: Table, target: int) -> tuple[str, ...]:
    """Return the effects of a rollback to a snapshot."""
    newest = table.latest_snapshot()
    back = f"takes the table `{table.identifier}` back to snapshot {target}"
    if newest is None or newest.id <= target:
        return back, "it is the newest snapshot: nothing is lost"
    lost = f"the later snapshots, up to {newest.id}, are lost, with their rows and their tags"
    streams = "streams continue at the positions that they had then, and read what came later again"
    return back, lost, streams
