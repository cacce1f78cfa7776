"""Rescale on the command line: the one place that knows both the table and its declaration."""

from contextlib import suppress

import typer

from lake import Catalog, SystemClock, TableNotFound, file_io_for
from registry.registrar import Registrar
from registry.store.documents import RegistryStore


def rescale(warehouse: str, identifier: str, buckets: int) -> int:
    """Rescale a table, write its declaration anew, and print what was done.

    Returns:
        The status to exit with.

    Raises:
        LakeError: As `Table.rescale` does.
    """
    catalog = Catalog(warehouse)
    done = catalog.table(identifier).rescale(buckets)
    clock = SystemClock()
    registrar = Registrar(RegistryStore(file_io_for(warehouse), warehouse, clock), catalog, clock)
    # A table that is not registered has no declaration.
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
