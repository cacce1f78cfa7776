"""Implementation of `braid token` (declared in `token_cli`): makes, lists and revokes access tokens.

The text of a new token is alone on stdout, so that a shell can assign it to a variable; what else is said goes to stderr.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer
from pydantic import ValidationError

from braid.cli.arguments import refuse
from braid.cli.audit import command_actor
from braid.lake import SystemClock, file_io_for
from braid.registry.store.access_tokens import AccessTokens, random_text, token_of
from braid.schemas.access import AccessScope, Grant
from braid.service.times import iso_utc

_SCOPES: Final = ", ".join(AccessScope)
_MASK: Final = ":mask="


def parse_grant(text: str) -> Grant:
    """Return the grant of a text such as `read:shop.*,crm.people:mask=email`; exit with one line for other texts."""
    scope, _, rest = text.partition(":")
    tables, _, masked = rest.partition(_MASK)
    if scope not in set(AccessScope):
        refuse("--grant", text, f"expected SCOPE:TABLES, where SCOPE is one of {_SCOPES}")
    try:
        return Grant(
            scope=AccessScope(scope),
            tables=tuple(tables.split(",")),
            masked_columns=tuple(masked.split(",")) if _MASK in rest else (),
        )
    except ValidationError as error:
        (first, *_) = error.errors()
        message = first["msg"].removeprefix("Value error, ")
        what = {"tables": "for each table ", "masked_columns": "for each column "}
        refuse(
            "--grant",
            text,
            f"{what.get(str(first['loc'][0]) if first['loc'] else '', '')}{message}",
        )


def create(
    warehouse: str,
    name: str,
    grants: Sequence[Grant],
    *,
    lifetime_ms: int | None,
    text_file: Path | None,
) -> int:
    """Make a token, print its text unless that is given in a file, and return the exit status."""
    now_ms = SystemClock().now_ms()
    expires_ms = None if lifetime_ms is None else now_ms + lifetime_ms
    text = random_text() if text_file is None else text_file.read_text(encoding="utf-8").strip()
    token = token_of(text, name, grants, now_ms=now_ms, expires_ms=expires_ms)
    _tokens(warehouse).add(token)
    end = "it does not expire" if expires_ms is None else f"it expires at {iso_utc(expires_ms)}"
    shown = "it is shown only now" if text_file is None else f"its text is that of {text_file}"
    if text_file is None:
        typer.echo(text)
    typer.echo(f"token {name}: {_shown(grants)}; {end}; {shown}", err=True)
    return 0


def list_all(warehouse: str) -> int:
    """Print all tokens, one line each; return the exit status."""
    now_ms = SystemClock().now_ms()
    stored = _tokens(warehouse).stored()
    for token in stored.tokens:
        end = "does not expire"
        if token.expires_ms is not None:
            verb = "has expired" if token.expires_ms <= now_ms else "expires"
            end = f"{verb} {iso_utc(token.expires_ms)}"
        cells = (
            token.name,
            token.id,
            _shown(token.grants),
            f"made {iso_utc(token.created_ms)}",
            end,
        )
        typer.echo("\t".join(cells))
    for name in stored.unreadable:
        typer.echo(f"{name}: a newer version has made it, and this version refuses it", err=True)
    return 0


def revoke(warehouse: str, name: str) -> int:
    """Remove a token; return the exit status."""
    _tokens(warehouse).revoke(name)
    typer.echo(f"token {name} is revoked; every service refuses it within a few seconds", err=True)
    return 0


def _tokens(warehouse: str) -> AccessTokens:
    return AccessTokens(file_io_for(warehouse), warehouse, SystemClock(), actor=command_actor())


def _shown(grants: Sequence[Grant]) -> str:
    return " ".join(map(str, grants))
