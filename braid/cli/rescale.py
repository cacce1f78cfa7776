"""Implementation of `braid table rescale` (declared in `table_work_cli`): rescales the table, then updates its declaration."""

from contextlib import suppress

import typer

from braid.cli.audit import record
from braid.lake import Catalog, SystemClock, TableNotFound, file_io_for
from braid.registry.registrar import Registrar
from braid.registry.storage_changes import buckets_change
from braid.registry.store.documents import RegistryStore
from braid.schemas import AuditAction


def rescale(warehouse: str, identifier: str, buckets: int) -> int:
    """Change a table's number of buckets, update its declaration, and print what was done.

    Returns:
        The exit status.

    Raises:
        LakeError: What `Table.rescale` raises.
        RegistryError: The table is rescaled, and its declaration could not be updated; call again.
    """
    catalog = Catalog(warehouse)
    table = catalog.table(identifier)
    record(warehouse, identifier, AuditAction.RESCALE_TABLE, buckets_change(table, buckets))
    done = table.rescale(buckets)
    clock = SystemClock()
    registrar = Registrar(RegistryStore(file_io_for(warehouse), warehouse, clock), catalog, clock)
    # Tables that are not registered have no declaration to update.
    with suppress(TableNotFound):
        registrar.record_buckets(identifier, buckets)
    if not done.snapshot_id:
        typer.echo(f"{identifier}: has {done.buckets} buckets already")
        return 0
    typer.echo(
        f"{identifier}: has {done.buckets} buckets at snapshot {done.snapshot_id}, "
        f"{done.files_in} files replaced by {done.files_out}, {done.rows} rows"
    )
    return 0
