"""Views of a table's metadata over HTTP, page by page."""

from typing import TYPE_CHECKING, Any

from braid.cli.inspection import print_view
from braid.cli.output import OutputFormat
from braid.lake import ReadAt

if TYPE_CHECKING:
    from braid.client import Table


def show(table: "Table", view: str, *, at: ReadAt, last: int | None, output: OutputFormat) -> None:
    """Print a view of a table.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    rows: list[dict[str, Any]] = []
    while True:
        page = table.inspect(
            view,
            snapshot_id=at.snapshot_id,
            tag=at.tag,
            timestamp=at.timestamp,
            last=last,
            offset=len(rows),
        )
        rows += page.rows
        if not page.rows or len(rows) >= page.rows_total:
            break
    print_view(page.columns, rows, output)
