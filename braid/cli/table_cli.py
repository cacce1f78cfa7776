"""Declarations of the commands `braid table …` that use a warehouse, each about one table; adds those of the other modules.

The others are declared by `table_service_cli`, `table_work_cli` and `consumer_cli`.
"""

from pathlib import Path
from typing import Annotated

import typer

from braid.cli.alter_clauses import FORMS, NAMES
from braid.cli.consumer_cli import app as consumer_app
from braid.cli.options import Snapshot, TableName, Tag, Timestamp, Warehouse
from braid.cli.table_run import run_on_table
from braid.cli.table_service_cli import app as service_app
from braid.cli.table_work_cli import app as work_app

app = typer.Typer(
    no_args_is_help=True, help="List tables; change, inspect, export and clean up one."
)
app.add_typer(service_app)
app.add_typer(work_app)
tag_app = typer.Typer(no_args_is_help=True, help="Create, list and delete tags of snapshots.")
app.add_typer(tag_app, name="tag")
app.add_typer(consumer_app, name="consumer")

TagName = Annotated[str, typer.Argument(help="Name of the tag.", metavar="TAG")]


@tag_app.command(
    "create",
    epilog="Example: braid table tag create shop.orders january --retain '365 d' --warehouse /data/warehouse",
)
def create_tag(
    table: TableName,
    tag: TagName,
    *,
    warehouse: Warehouse,
    snapshot: Annotated[
        int | None, typer.Option(min=1, help="Snapshot to tag; by default the newest.")
    ] = None,
    retain: Annotated[
        str | None,
        typer.Option(
            help="Time to live, such as `7 d`; by default that of the table, else for ever."
        ),
    ] = None,
) -> None:
    """Name a snapshot, so that it stays readable after it has expired."""
    from braid.cli.arguments import duration_ms
    from braid.cli.tags import create

    retained_ms = None if retain is None else duration_ms("--retain", retain)
    run_on_table(warehouse, table, lambda path: create(path, table, tag, snapshot, retained_ms))


@tag_app.command(
    "list", epilog="Example: braid table tag list shop.orders --warehouse /data/warehouse"
)
def list_tags(table: TableName, *, warehouse: Warehouse) -> None:
    """Print the tags: name, snapshot, time to live."""
    from braid.cli.tags import list_all

    run_on_table(warehouse, table, lambda path: list_all(path, table))


@tag_app.command(
    "delete",
    epilog="Example: braid table tag delete shop.orders january --warehouse /data/warehouse",
)
def delete_tag(table: TableName, tag: TagName, *, warehouse: Warehouse) -> None:
    """Delete a tag, and the files that nothing else needs."""
    from braid.cli.tags import delete

    run_on_table(warehouse, table, lambda path: delete(path, table, tag))


@tag_app.command(
    "expire", epilog="Example: braid table tag expire shop.orders --warehouse /data/warehouse"
)
def expire_tags(table: TableName, *, warehouse: Warehouse) -> None:
    """Delete the tags whose time to live is over."""
    from braid.cli.tags import expire

    run_on_table(warehouse, table, lambda path: expire(path, table))


@app.command(
    epilog="Example: braid table rollback shop.orders --tag january --warehouse /data/warehouse"
)
def rollback(
    table: TableName,
    *,
    warehouse: Warehouse,
    snapshot: Annotated[int | None, typer.Option(min=1, help="Snapshot to roll back to.")] = None,
    tag: Annotated[str | None, typer.Option(help="Tag to roll back to.")] = None,
) -> None:
    """Roll a table back to a snapshot or a tag; its streams have to be stopped."""
    from braid.cli.rollback import roll_back

    run_on_table(warehouse, table, lambda path: roll_back(path, table, snapshot, tag))


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


@app.command(
    epilog="Example: braid table alter shop.orders 'ADD note STRING' --warehouse /data/warehouse"
)
def alter(
    table: TableName,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            help="\n\n".join((*FORMS.values(), NAMES)),
            metavar="CHANGE...",
        ),
    ] = None,
    *,
    warehouse: Warehouse,
    file: Annotated[
        str | None,
        typer.Option(
            help="File with the changes as JSON, as in the HTTP API; - for standard input.",
            metavar="PATH",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the changes without making them.")
    ] = False,
) -> None:
    """Change columns and options, atomically, while readers and streams use the table."""
    from braid.cli.alter import alter as alter_table, requested_changes

    found = requested_changes(changes or (), file)
    run_on_table(warehouse, table, lambda path: alter_table(path, table, found, is_dry_run=dry_run))
