"""Declarations of the commands `braid table consumer …`, which use a service or a warehouse."""

from typing import Annotated

import typer

from braid.cli.options import API, Api, Output, TableName, TokenFile, WarehouseInsteadOfApi
from braid.cli.output import OutputFormat
from braid.cli.table_run import run_on_table

app = typer.Typer(
    no_args_is_help=True, help="List, reset and delete consumers, which keep snapshots."
)

ConsumerName = Annotated[str, typer.Argument(help="Name of the consumer.", metavar="CONSUMER")]


@app.command("list", epilog="Example: braid table consumer list shop.orders")
def list_consumers(
    table: TableName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print consumers and leases: the oldest snapshot that each needs, its last write, the end of a lease."""
    from braid.cli.arguments import check_table
    from braid.cli.consumers import consumers_text, show
    from braid.cli.output import print_document

    check_table(table)
    if warehouse is None:
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            found = client.table(table).consumers()
            print_document(found, output, consumers_text(found))
        return
    run_on_table(warehouse, table, lambda path: show(path, table, output=output))


@app.command(epilog="Example: braid table consumer reset shop.orders billing --snapshot 7")
def reset(
    table: TableName,
    consumer: ConsumerName,
    *,
    snapshot: Annotated[
        int, typer.Option(min=1, help="The oldest snapshot that the consumer needs.")
    ],
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Set the oldest snapshot that a consumer needs; creates the consumer if it is new."""
    from braid.cli.arguments import check_table
    from braid.cli.consumers import reset as reset_consumer, reset_line

    check_table(table)
    if warehouse is None:
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            client.table(table).put_consumer(consumer, snapshot, confirm=consumer)
        typer.echo(reset_line(table, consumer, snapshot))
        return
    run_on_table(warehouse, table, lambda path: reset_consumer(path, table, consumer, snapshot))


@app.command(epilog="Example: braid table consumer delete shop.orders billing")
def delete(
    table: TableName,
    consumer: ConsumerName,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    warehouse: WarehouseInsteadOfApi = None,
) -> None:
    """Delete a consumer, so that it keeps no snapshots any more."""
    from braid.cli.arguments import check_table
    from braid.cli.consumers import delete as delete_consumer

    check_table(table)
    if warehouse is None:
        from braid.cli.api.connection import Connection

        with Connection(api=api, token_file=token_file).client() as client:
            client.table(table).delete_consumer(consumer, confirm=consumer)
        typer.echo(f"{table}: consumer {consumer} is deleted")
        return
    run_on_table(warehouse, table, lambda path: delete_consumer(path, table, consumer))
