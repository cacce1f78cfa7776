"""The answers of a service about tables, as text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from braid.cli.output import NOTHING, TextTable, cell, facts
from braid.schemas import MaintenanceStatus, TableCompleteness
from braid.schemas.api import TableView
from braid.schemas.resource_lists import TableList, TableSummary

if TYPE_CHECKING:
    from braid.client import Client


def table_list(client: "Client") -> TableList:
    """Return all pages of the list of tables as one.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    from braid.client import pages

    found = pages(client.tables)
    return TableList(
        tables=tuple(one for page in found for one in page.tables), next_page_token=None
    )


def table_names(client: "Client") -> list[str]:
    """Return the names of all tables, `database.table`; raises what `table_list` raises."""
    return [f"{table.database}.{table.name}" for table in table_list(client).tables]


def tables_text(tables: Iterable[TableSummary]) -> TextTable:
    """Return a line for each table."""
    return TextTable(
        columns=("table",), rows=[(f"{table.database}.{table.name}",) for table in tables]
    )


def table_text(table: TableView) -> TextTable:
    """Return a line for each column of a table: its type, and the group that protects it or that it was made for."""
    group_of = {
        column: group.name
        for group in table.spec.sequence_groups
        for column in (*group.columns, *(group.ordering or ()))
    }
    rows = [
        (
            column.name,
            column.type,
            "key" if column.name in table.spec.primary_key else "",
            group_of.get(column.name) or column.made_for or "",
            "generated" if column.made_for else "",
        )
        for column in table.columns
    ]
    return TextTable(columns=("column", "type", "key", "group", "origin"), rows=rows)


def maintenance_text(status: MaintenanceStatus) -> TextTable:
    """Return the state of a table's compaction, a line for each fact."""
    by = ", ".join(one.worker_id for one in status.upkeep) or "no runner"
    return facts(
        (
            ("table", f"{status.database}.{status.table}"),
            ("snapshot", status.snapshot_id),
            ("buckets", status.buckets),
            ("most sorted runs of a bucket", status.most_runs),
            ("runs at which a compaction is due", status.compaction_trigger),
            ("runs at which streams slow down", status.stop_trigger),
            ("tombstones", status.tombstones),
            ("maintained by", by),
        )
    )


def completeness_text(found: TableCompleteness) -> TextTable:
    """Return a line for each sequence group: its stream, and the numbers of rows by state."""
    states = ("present", "stale", "absent", "deleted")
    rows: list[tuple[str, ...]] = []
    for name, group in found.groups.items():
        counts = [NOTHING if group.rows is None else cell(getattr(group.rows, s)) for s in states]
        rows.append((name, group.stream or NOTHING, *counts))
    totals = (f"all rows: {cell(found.rows)}", f"complete: {cell(found.complete)}")
    rows.append((*totals, *[""] * len(states)))
    return TextTable(columns=("group", "stream", *states), rows=rows, numbers=frozenset(states))
