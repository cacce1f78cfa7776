"""Implementation of `braid table drop` (declared in `table_cli`): asks for a confirmation, then drops the table.

The confirmation is the table's name.
"""

import sys

import typer

from braid.cli.arguments import refuse
from braid.cli.audit import command_actor
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.store.documents import RegistryStore
from braid.registry.table_dropper import TableDropper


def drop(warehouse: str, identifier: str, *, yes: str | None, keep_data: bool) -> int:
    """Drop a table and print what was done.

    Args:
        warehouse: Absolute path or address.
        identifier: `database.table`.
        yes: The table's name as a confirmation; None: the terminal asks for it.
        keep_data: Remove only the registration and the streams; keep the files.

    Returns:
        The exit status.

    Raises:
        LakeError: The table does not exist, or storage does not answer.
        StreamNotStopped: A stream may still write.
        RegistryConflict: Every attempt lost a race against concurrent changes of the table.
    """
    file_io, clock = file_io_for(warehouse), SystemClock()
    if yes is None:
        if not sys.stdin.isatty():
            refuse(
                "--yes", yes, f"expected {identifier}, because there is no terminal for a prompt"
            )
        effect = "removed from the registry; its files stay" if keep_data else "lost with all rows"
        yes = typer.prompt(f"{identifier} will be {effect}. Type its name to confirm")
    if yes != identifier:
        refuse("--yes", yes, f"expected {identifier}")
    catalog = Catalog(warehouse, file_io=file_io, clock=clock)
    dropper = TableDropper(
        RegistryStore(file_io, warehouse, clock),
        catalog,
        file_io=file_io,
        warehouse=warehouse,
        clock=clock,
        actor=command_actor(),
    )
    dropper.drop(identifier, keep_data=keep_data)
    typer.echo(f"{identifier}: {'removed, its files are kept' if keep_data else 'dropped'}")
    return 0
