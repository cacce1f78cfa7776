"""Declarations of the commands `braid operation …`: long work that was requested over HTTP, such as compactions."""

import sys
from typing import Annotated, Final

import typer

from braid.cli.options import API, Api, Output, TokenFile
from braid.cli.output import OutputFormat, print_document, terminal
from braid.schemas import OperationState

app = typer.Typer(
    no_args_is_help=True,
    help="List, show, wait for and cancel operations: long work that was requested over HTTP.",
)

_WAIT_SECONDS: Final = 3_600.0

OperationId = Annotated[str, typer.Argument(help="Id of the operation.", metavar="OPERATION")]


@app.command("list", epilog="Example: braid operation list --table shop.orders --state RUNNING")
def list_operations(
    *,
    table: Annotated[
        str | None, typer.Option(help="Only operations of this table: database.table.")
    ] = None,
    state: Annotated[
        OperationState | None, typer.Option(help="Only operations in this state.")
    ] = None,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print operations: those that have not ended, then the others, the newest first."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.operations import operation_list, operations_text
    from braid.cli.arguments import check_table

    if table is not None:
        check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        found = operation_list(client, table=table, state=state)
        print_document(found, output, operations_text(found.operations))


@app.command(epilog="Example: braid operation show shop.orders.f77a3c0b6a4d7e0f9c21")
def show(
    operation: OperationId,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print an operation: its request, how far it is, and its result or problem."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.operations import operation_text

    with Connection(api=api, token_file=token_file).client() as client:
        found = client.get_operation(operation)
        print_document(found, output, operation_text(found))


@app.command(epilog="Example: braid operation wait shop.orders.f77a3c0b6a4d7e0f9c21 --seconds 600")
def wait(
    operation: OperationId,
    *,
    seconds: Annotated[
        float, typer.Option(min=0, help="The longest wait.", metavar="SECONDS")
    ] = _WAIT_SECONDS,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Wait until an operation has ended, and print it; a terminal shows a progress bar meanwhile.

    Exits with 1 if it has failed or is canceled, and with 75 if it has not ended in time.
    """
    from braid.cli.api.connection import Connection
    from braid.cli.api.operation_wait import ended_operation, exit_of_operation
    from braid.cli.api.operations import operation_text

    console = terminal() if output is OutputFormat.TABLE else None
    with Connection(api=api, token_file=token_file).client() as client:
        found = ended_operation(client, operation, seconds_max=seconds, console=console)
    print_document(found, output, operation_text(found))
    sys.exit(exit_of_operation(found))


@app.command(epilog="Example: braid operation cancel shop.orders.f77a3c0b6a4d7e0f9c21")
def cancel(
    operation: OperationId,
    *,
    api: Api = API,
    token_file: TokenFile = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """End an operation before it is complete, where its work can end; what is done until then stays."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.operations import operation_text

    with Connection(api=api, token_file=token_file).client() as client:
        found = client.cancel_operation(operation)
        print_document(found, output, operation_text(found))
