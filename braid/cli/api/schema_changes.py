"""Schema changes of a table over HTTP."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from braid.cli.api.validations import show_validation
from braid.schemas import SchemaChanges, TableChange

if TYPE_CHECKING:
    from braid.client import Table


def change_schema(table: "Table", changes: Sequence[TableChange], *, is_dry_run: bool) -> int:
    """Make all of the changes, or only print what they would do.

    Returns:
        The exit status: 0; 2 if a dry run finds that the changes would be refused.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    request = SchemaChanges(changes=tuple(changes))
    if is_dry_run:
        return show_validation(table.validate_schema_changes(request))
    before = table.get().schema_id
    changed = table.change_schema(request)
    typer.echo(changed_line(f"{changed.database}.{changed.name}", before, changed.schema_id))
    return 0


def changed_line(identifier: str, before: int, after: int) -> str:
    """Return the line that tells the id of a table's schema before and after changes."""
    change = "unchanged" if after == before else f"changed from schema {before}"
    return f"{identifier}: has schema {after}, {change}"
