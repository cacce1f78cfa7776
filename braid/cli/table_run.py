"""The run of a command about one table on a warehouse."""

import sys
from collections.abc import Callable
from typing import NoReturn


def run_on_table(warehouse: str, table: str, command: Callable[[str], int]) -> NoReturn:
    """Check the arguments that every such command has, run it with the warehouse's path, and exit."""
    # Imported here: `braid --help` and the runner do not load it.
    from braid.cli.arguments import check_table, one_line_errors, warehouse_path

    path = warehouse_path(warehouse)
    check_table(table)
    with one_line_errors():
        status = command(path)
    sys.exit(status)
