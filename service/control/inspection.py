"""What a table consists of, page by page, as JSON."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lake import ReadAt, Table
from service.views import TableInspection

LAST = 1_000
"""Snapshots that a look at the history goes back, unless told; each is a small read."""

_HISTORY = ("snapshots", "compactions")


def look(
    table: Table,
    view: str,
    *,
    at: ReadAt,
    last: int | None,
    offset: int,
    limit: int,
) -> TableInspection:
    """Return some rows of a view.

    Args:
        table: The table.
        view: One of `Inspection.VIEWS`.
        at: State of views of one snapshot.
        last: Snapshots that a view of the history goes back; None means `LAST`.
        offset: Of the first row.
        limit: Rows at most.

    Raises:
        InvalidRequest: No such view or state, or an argument that the view does not take.
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
    """Return rows as JSON has them; times are ISO 8601, of local wall time without a zone."""
    return [{name: _json(value) for name, value in row.items()} for row in page.to_pylist()]


def _json(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        return value.isoformat(timespec="milliseconds")
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f"{text}Z"
