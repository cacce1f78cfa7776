"""Pages of the views of a table's metadata, as JSON values. The engine's `Inspection` makes the views."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from braid.lake import ReadAt, Table
from braid.schemas.api import TableInspection

LAST = 1_000
"""Snapshots that a view of the history covers by default; each is a small read."""

_HISTORY = ("snapshots", "compactions")


def inspect_view(
    table: Table,
    view: str,
    *,
    at: ReadAt,
    last: int | None,
    offset: int,
    limit: int,
) -> TableInspection:
    """Return a page of rows of a view.

    Args:
        table: The table.
        view: One of `Inspection.VIEWS`.
        at: The state, for views of one snapshot.
        last: Snapshots that a view of the history covers; None means `LAST`.
        offset: Index of the first row.
        limit: The largest number of rows.

    Raises:
        InvalidRequest: No such view or state, or an argument that the view does not have.
    """
    if last is None and view in _HISTORY:
        last = LAST
    found = table.inspect.view(view, at=at, last=last)
    page = found.slice(offset, limit)
    return TableInspection(
        view=view,
        columns=tuple(found.column_names),
        rows=tuple(json_rows(page)),
        rows_total=found.num_rows,
    )


def json_rows(page: pa.Table) -> list[dict[str, Any]]:
    """Return rows as JSON values; times are ISO 8601, and TIMESTAMP has no zone."""
    return [{name: _json(value) for name, value in row.items()} for row in page.to_pylist()]


def _json(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        return value.isoformat(timespec="milliseconds")
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z"
