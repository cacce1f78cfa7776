"""The commands `braid table …`: `export`, which reads storage itself, and those that the other modules declare.

The others are declared by `table_service_cli`, `table_work_cli`, `table_change_cli`, `tag_cli` and `consumer_cli`.
"""

from pathlib import Path
from typing import Annotated

import typer

from braid.cli.consumer_cli import app as consumer_app
from braid.cli.options import Snapshot, TableName, Tag, Timestamp, Warehouse
from braid.cli.table_change_cli import app as change_app
from braid.cli.table_run import run_on_table
from braid.cli.table_service_cli import app as service_app
from braid.cli.table_work_cli import app as work_app
from braid.cli.tag_cli import app as tag_app

app = typer.Typer(
    no_args_is_help=True, help="List tables; change, inspect, export and clean up one."
)
app.add_typer(service_app)
app.add_typer(change_app)
app.add_typer(work_app)
app.add_typer(tag_app, name="tag")
app.add_typer(consumer_app, name="consumer")


@app.command(
    epilog="Example: braid table export shop.orders orders.parquet --where 'total > 100' --warehouse /data/warehouse"
)
def export(
    table: TableName,
    target: Annotated[
        Path,
        typer.Argument(help="File to write; a folder with --rows-per-file.", metavar="TARGET"),
    ],
    *,
    warehouse: Warehouse,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", help="parquet, csv, jsonl or arrow (IPC); by default the target's suffix."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Column names, comma-separated; by default all.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Rows to export, in SQL: \"city = 'Ulm' AND paid IS NOT NULL\". May be repeated: "
            "rows fulfil all of them."
        ),
    ] = None,
    snapshot: Snapshot = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    rows_per_file: Annotated[
        int | None,
        typer.Option(min=1, help="Write a folder of files with at most this many rows each."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
) -> None:
    """Write the rows of a table, or of an older state of it, to files."""
    from braid.cli.arguments import read_at
    from braid.cli.export.command import Export, export_rows
    from braid.cli.export.formats import format_of

    request = Export(
        at=read_at(snapshot=snapshot, tag=tag, timestamp=timestamp),
        columns=None if columns is None else columns.split(","),
        where=where or (),
        target=target,
        format=format_of(target, file_format),
        rows_per_file=rows_per_file,
        overwrite=overwrite,
    )
    run_on_table(warehouse, table, lambda path: export_rows(path, table, request))
