"""Declarations of the commands `braid table …` that use a service; `inspect`, `changes` and `drop` use a warehouse instead if one is given."""

from typing import Annotated

import typer

from braid.cli.options import (
    API,
    Api,
    Output,
    TableName,
    Tag,
    Timestamp,
    TokenFile,
    WarehouseInsteadOfApi,
)
from braid.cli.output import OutputFormat
from braid.cli.table_run import run_on_table

app = typer.Typer()


@app.command("list", epilog="Example: braid table list --output json")
def list_tables(
    *, api: Api = API, token_file: TokenFile = None, output: Output = OutputFormat.TABLE
) -> None:
    """Print the names of the registered tables."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.tables import table_list, tables_text
    from braid.cli.output import print_document

    with Connection(api=api, token_file=token_file).client() as client:
        found = table_list(client)
        print_document(found, output, tables_text(found.tables))


@app.command(epilog="Example: braid table show shop.orders --output yaml")
def show(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print a table's declaration and all its columns; as text, the columns alone."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.tables import table_text
    from braid.cli.arguments import check_table
    from braid.cli.output import print_document

    check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).get()
        print_document(found, output, table_text(found))


@app.command(epilog="Example: braid table maintenance shop.orders")
def maintenance(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print how far the compaction of a table is behind, and which runners do it."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.tables import maintenance_text
    from braid.cli.arguments import check_table
    from braid.cli.output import print_document

    check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).maintenance()
        print_document(found, output, maintenance_text(found))


@app.command(epilog="Example: braid table completeness shop.orders")
def completeness(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print how many rows each stream has delivered, and how many are complete."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.tables import completeness_text
    from braid.cli.arguments import check_table
    from braid.cli.output import print_document

    check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        found = client.table(table).completeness()
        print_document(found, output, completeness_text(found))


@app.command(epilog="Example: braid table inspect shop.orders snapshots --last 5")
def inspect(
    table: TableName,
    view: Annotated[
        str,
        typer.Argument(
            help="snapshots, files, buckets, levels, partitions, compactions, tags, consumers "
            "or schemas.",
            metavar="VIEW",
        ),
    ],
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    snapshot: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With files, buckets, levels or partitions: the snapshot to show; by "
            "default the newest.",
        ),
    ] = None,
    tag: Tag = None,
    timestamp: Timestamp = None,
    last: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With snapshots or compactions: number of newest snapshots to show.",
        ),
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print a table's snapshots, files, sorted runs and so on."""
    from braid.cli.arguments import check_table, read_at

    check_table(table)
    at = read_at(snapshot=snapshot, tag=tag, timestamp=timestamp)
    if warehouse is None:
        from braid.cli.api.connection import Connection
        from braid.cli.api.inspection import show as show_over_http

        with Connection(api=api, token_file=token_file).client() as client:
            show_over_http(client.table(table), view, at=at, last=last, output=output)
        return
    from braid.cli.inspection import show as show_view

    run_on_table(
        warehouse, table, lambda path: show_view(path, table, view, at=at, last=last, output=output)
    )


@app.command(epilog="Example: braid table changes shop.orders --after 7 --output json")
def changes(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    after: Annotated[
        int | None,
        typer.Option(min=0, help="Snapshot after which the changes begin; by default 0, for all."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option(min=0, help="Snapshot with which the changes end; by default the newest."),
    ] = None,
    after_tag: Annotated[str | None, typer.Option(help="Begin after this tag instead.")] = None,
    after_timestamp: Annotated[
        str | None,
        typer.Option(help="Begin after the newest snapshot at or before this time instead."),
    ] = None,
    until_tag: Annotated[str | None, typer.Option(help="End with this tag instead.")] = None,
    until_timestamp: Annotated[
        str | None,
        typer.Option(help="End with the newest snapshot at or before this time instead."),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="delta: the records written; changelog: the changes of rows; auto: the changelog if "
            "the table has one."
        ),
    ] = "auto",
    consumer: Annotated[
        str | None, typer.Option(help="Begin at the next snapshot of this consumer.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Column names, comma-separated; by default all.")
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the changes of rows by snapshot: snapshot, kind and values, oldest first."""
    from braid.cli.arguments import bound, check_table, refuse
    from braid.cli.changes import ChangesRange, show as show_changes

    check_table(table)
    begin = bound("--after", snapshot=after, tag=after_tag, timestamp=after_timestamp)
    if begin is not None and consumer is not None:
        refuse(
            "--consumer",
            consumer,
            "cannot be given together with --after, --after-tag or --after-timestamp",
        )
    requested = ChangesRange(
        after=begin,
        until=bound("--until", snapshot=until, tag=until_tag, timestamp=until_timestamp),
        mode=mode,
        consumer=consumer,
        columns=None if columns is None else columns.split(","),
    )
    if warehouse is None:
        from braid.cli.api.changes import show as show_over_http
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            show_over_http(client.table(table), table, requested, output=output)
        return
    run_on_table(warehouse, table, lambda path: show_changes(path, table, requested, output=output))


@app.command(epilog="Example: braid table drop shop.orders --yes shop.orders --keep-data")
def drop(
    table: TableName,
    *,
    yes: Annotated[
        str | None,
        typer.Option(help="The table's name again, as the confirmation, instead of a prompt."),
    ] = None,
    keep_data: Annotated[
        bool,
        typer.Option("--keep-data", help="Remove registration and streams; keep the files."),
    ] = False,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Drop a table whose streams are stopped: registration, streams and files."""
    from braid.cli.arguments import check_table, one_line_errors, warehouse_path
    from braid.cli.confirmation import confirm_name

    check_table(table)
    path = None if warehouse is None else warehouse_path(warehouse)
    effect = "removed from the registry; its files stay" if keep_data else "lost with all rows"
    confirm_name(table, yes, effect=effect)
    if path is None:
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            client.table(table).drop(confirm=table, keep_data=keep_data)
    else:
        from braid.cli.drop import drop as drop_table

        with one_line_errors():
            drop_table(path, table, keep_data=keep_data)
    typer.echo(f"{table}: {'removed, its files are kept' if keep_data else 'dropped'}")
