"""Dropping a table on the command line: the name is asked for once more."""

import sys

import typer

from braid.arguments import EXIT_USAGE, refuse
from lake import Catalog, SystemClock, file_io_for
from registry.errors import StreamNotStopped
from registry.store.documents import RegistryStore
from registry.table_dropper import TableDropper


def drop(warehouse: str, identifier: str, *, yes: str | None, keeps_data: bool) -> int:
    """Drop a table and say so.

    Args:
        warehouse: Absolute path or address.
        identifier: `database.table`.
        yes: The name once more; None: the person at the terminal is asked for it.
        keeps_data: Only the registration and the streams are forgotten.

    Returns:
        The status to exit with: 0, or that of a wrong command while streams are not stopped.

    Raises:
        LakeError: There is no such table, or storage does not answer.
        RegistryError: Others go on changing the table.
    """
    file_io, clock = file_io_for(warehouse), SystemClock()
    if yes is None:
        if not sys.stdin.isatty():
            refuse("--yes", yes, f"expected {identifier}, as nobody is there to be asked")
        what = "forgotten, its files stay" if keeps_data else "gone, with all its rows"
        yes = typer.prompt(f"{identifier} will be {what}. Its name, to go on")
    if yes != identifier:
        refuse("--yes", yes, f"expected {identifier}")
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    dropper = TableDropper(
        RegistryStore(file_io, warehouse, clock),
        catalog,
        file_io=file_io,
        warehouse=warehouse,
        clock=clock,
    )
    try:
        dropper.drop(identifier, keep_data=keeps_data)
    except StreamNotStopped as error:
        typer.echo(f"error: {'; '.join(str(error).splitlines())}", err=True)
        return EXIT_USAGE
    typer.echo(f"{identifier}: {'forgotten, its files are kept' if keeps_data else 'dropped'}")
    return 0
