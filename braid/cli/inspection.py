"""Implementation of `braid table inspect` (declared in `table_service_cli`): a view of a table's metadata on stdout, a record for each row.

The engine's `Inspection` makes the views (snapshots, files and so on).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from braid.cli.output import OutputFormat, TextTable, cell, print_record, print_table
from braid.lake import Catalog, ReadAt
from braid.service.control.inspection import json_rows


def show(
    warehouse: str,
    identifier: str,
    view: str,
    *,
    at: ReadAt,
    last: int | None,
    output: OutputFormat,
) -> int:
    """Print a view of a table; return the exit status.

    Raises:
        LakeError: What `Inspection.view` raises.
    """
    found = Catalog(warehouse).table(identifier).inspect.view(view, at=at, last=last)
    print_view(found.column_names, json_rows(found), output)
    return 0


def print_view(
    columns: Sequence[str], rows: Sequence[dict[str, Any]], output: OutputFormat
) -> None:
    """Print the rows of a view, JSON values by column; as text they are aligned."""
    if output is OutputFormat.TABLE:
        print_table(view_text(columns, rows))
        return
    for row in rows:
        print_record(row, output)


def view_text(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return a line for each row; numbers are aligned at the right."""
    numbers = (name for name in columns if _are_numbers(row[name] for row in rows))
    return TextTable(
        columns=columns,
        rows=[[_text(row[name]) for name in columns] for row in rows],
        numbers=frozenset(numbers),
    )


def _are_numbers(values: Iterable[object]) -> bool:
    return all(value is None or type(value) is int for value in values)


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else cell(value)
