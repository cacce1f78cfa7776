"""The answers of a service about one row, as text."""

from collections.abc import Mapping
from typing import Any

from braid.cli.output import NOTHING, TextTable, cell
from braid.schemas import RowStatus, SampleResult


def row_text(row: Mapping[str, Any]) -> TextTable:
    """Return a line for each column of a row."""
    return TextTable(
        columns=("column", "value"), rows=[(name, cell(value)) for name, value in row.items()]
    )


def status_text(status: RowStatus) -> TextTable:
    """Return a line for each sequence group of a row, and one for the row."""
    rows = [
        (
            name,
            group.state.value,
            group.stream or NOTHING,
            ", ".join(f"{column}={cell(value)}" for column, value in group.ordering.items()),
            group.last_touched or NOTHING,
            cell(None if group.age_seconds is None else round(group.age_seconds)),
        )
        for name, group in status.groups.items()
    ]
    whole = (
        "no such row" if not status.exists else ("complete" if status.complete else "incomplete")
    )
    rows.append(("row", whole, "", "", "", ""))
    columns = ("group", "state", "stream", "order", "last record", "age in seconds")
    return TextTable(columns=columns, rows=rows, numbers=frozenset({"age in seconds"}))


def result_line(result: SampleResult) -> str:
    """Return what would become of a record, in one line."""
    reason = "" if result.reason is None else f" ({result.reason})"
    message = "" if result.message is None else f": {result.message}"
    return f"the record would become: {result.outcome.value}{reason}{message}"
