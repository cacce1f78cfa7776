"""Declarations of the commands `braid token …`: `create`, `list` and `revoke` of access tokens of a warehouse.

`tokens` does the work. The commands need access to the warehouse's storage, and no service.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from braid.cli.options import Warehouse

app = typer.Typer(no_args_is_help=True, help="Access tokens, by which clients identify themselves.")

Name = Annotated[
    str, typer.Argument(help="Name of the token, as lists and logs show it.", metavar="NAME")
]


@app.callback()
def _token() -> None:
    """Access tokens, by which clients identify themselves."""


@app.command()
def create(
    name: Name,
    *,
    warehouse: Warehouse,
    grant: Annotated[
        list[str],
        typer.Option(
            help="A scope (read, write, operate, admin) and tables: read:shop.*,crm.people; `*` for every "
            "table. read:crm.*:mask=email,phone hides columns. May be repeated.",
            metavar="SCOPE:TABLES[:mask=COLUMNS]",
        ),
    ],
    expires: Annotated[
        str | None,
        typer.Option(
            help="Time until it expires, such as `90 d`; by default never.", metavar="TIME"
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the text of the token, instead of a random one: a secret that a deployment gives to "
            "the client, too. Nothing happens if the token exists already.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Make an access token and print it. It is stored as a hash, and cannot be shown again."""
    from braid.cli.arguments import duration_ms, one_line_errors, warehouse_path
    from braid.cli.tokens import create as run, parse_grant

    path = warehouse_path(warehouse)
    grants = [parse_grant(text) for text in grant]
    lifetime_ms = None if expires is None else duration_ms("--expires", expires)
    with one_line_errors():
        status = run(path, name, grants, lifetime_ms=lifetime_ms, text_file=token_file)
    sys.exit(status)


@app.command("list")
def list_all(*, warehouse: Warehouse) -> None:
    """Print all access tokens: name, id, grants, creation and expiry. Their secrets are not stored."""
    from braid.cli.arguments import existing_warehouse, one_line_errors
    from braid.cli.tokens import list_all as run

    path = existing_warehouse(warehouse)
    with one_line_errors():
        status = run(path)
    sys.exit(status)


@app.command()
def revoke(name: Name, *, warehouse: Warehouse) -> None:
    """Remove an access token. Every service refuses it within a few seconds."""
    from braid.cli.arguments import existing_warehouse, one_line_errors
    from braid.cli.tokens import revoke as run

    path = existing_warehouse(warehouse)
    with one_line_errors():
        status = run(path, name)
    sys.exit(status)
