"""Declarations of the commands `braid table …` that use a service: lists, declarations, maintenance and completeness of tables."""

from typing import Annotated

import typer

from braid.cli.options import API, Api, Output, TableName, TokenFile, WarehouseInsteadOfApi
from braid.cli.output import OutputFormat

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
