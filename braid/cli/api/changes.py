"""Changes of rows over HTTP, page by page."""

from typing import TYPE_CHECKING, Any

from braid.cli.changes import ChangesRange, print_change, print_end, print_head
from braid.cli.output import OutputFormat
from braid.lake import ReadAt

if TYPE_CHECKING:
    from braid.client import Table


def show(table: "Table", identifier: str, requested: ChangesRange, *, output: OutputFormat) -> None:
    """Print the changes of a range; the names of the columns are above the first change.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    from braid.client import pages

    after = 0 if requested.after is None and requested.consumer is None else requested.after
    found = pages(
        table.changes,
        **_bound("after", after),
        **_bound("until", requested.until),
        mode=requested.mode,
        consumer=requested.consumer,
        columns=requested.columns,
    )
    has_head = output is not OutputFormat.TABLE
    for page in found:
        for change in page.changes:
            if not has_head:
                print_head(change.row)
                has_head = True
            print_change(change, output)
    print_end(identifier, page.until_snapshot_id)


def _bound(name: str, given: int | ReadAt | None) -> dict[str, Any]:
    """Return the parameters of a bound."""
    if isinstance(given, ReadAt):
        return {f"{name}_tag": given.tag, f"{name}_timestamp": given.timestamp}
    return {f"{name}_snapshot_id": given}
