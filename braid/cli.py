"""Reads the command line and hands over to the service, the runner or the engine."""

from importlib.metadata import version
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Many streams, one wide row.")


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"braid {version('braid')}")
        raise typer.Exit


@app.callback()
def _braid(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Many streams, one wide row."""


def main() -> None:
    """Run the command line and exit with its status."""
    app()
