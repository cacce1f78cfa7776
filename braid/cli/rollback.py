"""The command `braid table rollback`, which refuses while a stream of the table runs."""

import typer

from braid.cli.arguments import EXIT_USAGE
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.errors import StreamNotStopped
from braid.registry.stopped_streams import check_streams_stopped


def roll_back(warehouse: str, identifier: str, snapshot_id: int | None, tag: str | None) -> int:
    """Roll a table back to a snapshot or a tag, and print what was done.

    Returns:
        The exit status: 0, or `EXIT_USAGE` when a stream is not stopped.

    Raises:
        LakeError: What `Table.rollback` raises.
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
