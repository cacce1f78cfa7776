"""Implementation of `braid table rollback` with a warehouse (declared in `table_change_cli`); all streams of the table have to be stopped."""

import typer

from braid.cli.audit import record
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.stopped_streams import check_streams_stopped
from braid.registry.storage_changes import rollback_change
from braid.schemas import AuditAction, RollbackRequest
from braid.service.control.rollback_plan import effects_of_rollback, rollback_target


def roll_back(
    warehouse: str, identifier: str, request: RollbackRequest, *, is_dry_run: bool
) -> int:
    """Roll a table back to a snapshot or a tag, and print what was done; or only print what would be lost.

    Returns:
        The exit status.

    Raises:
        StreamNotStopped: A stream may still write.
        SnapshotNotFound, TagNotFound: There is no such snapshot or tag.
        LakeError: What `Table.rollback` raises.
    """
    table = Catalog(warehouse).table(identifier)
    check_streams_stopped(file_io_for(warehouse), warehouse, identifier, clock=SystemClock())
    target = rollback_target(table, request)
    if is_dry_run:
        for effect in effects_of_rollback(table, target):
            typer.echo(effect)
        return 0
    snapshot_id, tag = request.snapshot_id, request.tag
    change = rollback_change(table, snapshot_id if tag is None else tag)
    record(warehouse, identifier, AuditAction.ROLL_BACK_TABLE, change)
    done = table.rollback(snapshot_id=snapshot_id, tag=tag)
    removed = len(done.removed_snapshots)
    typer.echo(
        f"{identifier}: rolled back to snapshot {done.target_id}, "
        f"{removed} snapshot{'' if removed == 1 else 's'} removed, the newest is {done.snapshot_id}"
    )
    if done.removed_tags:
        typer.echo(f"removed tags: {', '.join(done.removed_tags)}")
    for consumer in done.reset_consumers:
        typer.echo(f"consumer {consumer} continues at snapshot {done.target_id + 1}")
    for stream, epoch in sorted(done.epochs.items()):
        typer.echo(f"stream {stream} continues at the offsets of the snapshot, epoch {epoch}")
    return 0
