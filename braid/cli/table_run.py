"""The run of a command about one table: on a warehouse, or as an operation of a service."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from braid.client import Table
    from braid.schemas import OperationView


def run_on_table(warehouse: str, table: str, command: Callable[[str], int]) -> NoReturn:
    """Check the arguments that every such command has, run it with the warehouse's path, and exit."""
    # Imported here: `braid --help` and the runner do not load it.
    from braid.cli.arguments import check_table, one_line_errors, warehouse_path

    path = warehouse_path(warehouse)
    check_table(table)
    with one_line_errors():
        status = command(path)
    sys.exit(status)


def request_work(
    table: str,
    api: str,
    token_file: Path | None,
    wait_seconds: float,
    request: Callable[["Table"], "OperationView"],
) -> NoReturn:
    """Request an operation on a table, print it, and exit; after a wait the status says whether it has succeeded."""
    from braid.cli.api.connection import Connection
    from braid.cli.api.operation_wait import follow
    from braid.cli.arguments import check_table

    check_table(table)
    with Connection(api=api, token_file=token_file).client() as client:
        begun = request(client.table(table))
        status = follow(client, [begun], wait_seconds=wait_seconds)
    sys.exit(status)
