"""Declarations of the commands `braid table tag …`, which use a service or a warehouse."""

from typing import Annotated

import typer

from braid.cli.options import (
    API,
    Api,
    OperationWait,
    Output,
    TableName,
    TokenFile,
    Warehouse,
    WarehouseInsteadOfApi,
)
from braid.cli.output import OutputFormat
from braid.cli.table_run import request_work, run_on_table

app = typer.Typer(no_args_is_help=True, help="Create, list and delete tags of snapshots.")

TagName = Annotated[str, typer.Argument(help="Name of the tag.", metavar="TAG")]


@app.command(epilog="Example: braid table tag create shop.orders january --retain '365 d'")
def create(
    table: TableName,
    tag: TagName,
    *,
    snapshot: Annotated[
        int | None, typer.Option(min=1, help="Snapshot to tag; by default the newest.")
    ] = None,
    retain: Annotated[
        str | None,
        typer.Option(
            help="Time to live, such as `7 d`; by default that of the table, else for ever."
        ),
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Name a snapshot, so that it stays readable after it has expired."""
    from braid.cli.arguments import check_table, duration_ms
    from braid.cli.tags import create as create_tag, created_line

    check_table(table)
    retained_ms = None if retain is None else duration_ms("--retain", retain)
    if warehouse is None:
        from braid.cli.api.connection import Connection
        from braid.schemas.snapshots import TagRequest

        seconds = None if retained_ms is None else max(1, retained_ms // 1000)
        request = TagRequest(snapshot_id=snapshot, retained_seconds=seconds)
        with Connection(api=api, token_file=token_file).client() as client:
            made = client.table(table).put_tag(tag, request, if_none_match="*")
        typer.echo(created_line(table, made))
        return
    run_on_table(warehouse, table, lambda path: create_tag(path, table, tag, snapshot, retained_ms))


@app.command("list", epilog="Example: braid table tag list shop.orders")
def list_tags(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the tags: name, snapshot, time to live."""
    from braid.cli.arguments import check_table
    from braid.cli.output import print_document
    from braid.cli.tags import show, tags_text

    check_table(table)
    if warehouse is None:
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            found = client.table(table).tags()
            print_document(found, output, tags_text(found))
        return
    run_on_table(warehouse, table, lambda path: show(path, table, output=output))


@app.command(epilog="Example: braid table tag delete shop.orders january --wait 60")
def delete(
    table: TableName,
    tag: TagName,
    *,
    wait: OperationWait = 0,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Delete a tag, and the files that nothing else needs."""
    if warehouse is None:
        request_work(table, api, token_file, wait, lambda found: found.delete_tag(tag))
    from braid.cli.tags import delete as delete_tag

    run_on_table(warehouse, table, lambda path: delete_tag(path, table, tag))


@app.command(epilog="Example: braid table tag expire shop.orders --warehouse /data/warehouse")
def expire(table: TableName, *, warehouse: Warehouse) -> None:
    """Delete the tags whose time to live is over, as maintenance does by itself."""
    from braid.cli.tags import expire as expire_tags

    run_on_table(warehouse, table, lambda path: expire_tags(path, table))
