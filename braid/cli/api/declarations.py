"""Declarations of a service's tables and streams, as documents that `braid apply` reads."""

from typing import TYPE_CHECKING

import typer

from braid.cli.declarations import shown_name
from braid.cli.exits import EXIT_FAILED
from braid.cli.output import OutputFormat, print_record
from braid.schemas.declaration_document import StreamDeclaration

if TYPE_CHECKING:
    from braid.client import Client


def export(client: "Client", *, table: str | None, output: OutputFormat) -> int:
    """Print the declarations, each table before its streams; tables that cannot be read are named on stderr.

    Returns:
        The exit status: 0; 1 if a table cannot be read.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    from braid.client import pages

    status = 0
    for page in pages(client.declarations, table=table):
        for one in page.declarations:
            key = (one.table, one.name) if isinstance(one, StreamDeclaration) else one.name
            print_record(one, output, f"{one.kind.lower()} {shown_name(key)}")
        for missing in page.unreadable:
            typer.echo(f"error: {missing.table} is missing: {missing.error}", err=True)
            status = EXIT_FAILED
    return status
