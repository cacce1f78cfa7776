"""Rollback on the command line: the one place that knows both the table and its streams."""

import typer

from braid.arguments import EXIT_USAGE
from lake import Catalog, SystemClock, file_io_for
from registry.errors import StreamNotStopped
from registry.stopped_streams import check_streams_stopped


def roll_back(warehouse: str, identifier: str, snapshot_id: int | None, tag: str | None) -> int:
    """Take a table back and print what was done.

    Returns:
        The status to exit with: 0, or that of a wrong command while streams are not stopped.

    Raises:
        LakeError: As `Table.rollback` does.
    """
    table = Catalog(warehouse).table(identifier)
    try:
        check_streams_stopped(file_io_for(warehouse), warehouse, identifier, clock=SystemClock())
    except StreamNotStopped as error:
        typer.echo(f"error: {'; '.join(str(error).splitlines())}", err=True)
        return EXIT_USAGE
    done = table.rollback(snapshot_id=snapshot_id, tag=tag)
    removed = len(done.removed_snapshots)
    typer.echo(
        f"{identifier}: is as at snapshot {done.target_id}, "
        f"{removed} snapshot{'' if removed == 1 else 's'} removed, newest is {done.snapshot_id}"
    )
    if done.removed_tags:
        typer.echo(f"removed tags: {', '.join(done.removed_tags)}")
    for consumer in done.reset_consumers:
        typer.echo(f"consumer {consumer} continues at snapshot {done.target_id + 1}")
    for stream, epoch in sorted(done.epochs.items()):
        typer.echo(f"stream {stream} continues at the offsets of the snapshot, epoch {epoch}")
    return 0
