"""Confirmations before something is deleted: the name again, typed at a terminal or given as an option."""

import sys

import typer

from braid.cli.arguments import refuse


def confirm_name(name: str, given: str | None, *, effect: str) -> None:
    """Return if the name is confirmed; exit with one line if not.

    Args:
        name: The name of what is deleted.
        given: The value of `--yes`; None: the terminal asks for it.
        effect: What becomes of it, after "will be".
    """
    if given is None:
        if not sys.stdin.isatty():
            refuse("--yes", given, f"expected {name}, because there is no terminal for a prompt")
        given = typer.prompt(f"{name} will be {effect}. Type its name to confirm")
    if given != name:
        refuse("--yes", given, f"expected {name}")


def confirm(question: str, *, is_given: bool) -> None:
    """Return if a question is answered by yes; exit with one line if not.

    Args:
        question: The question, without its mark.
        is_given: Whether `--yes` answers it.
    """
    if is_given:
        return
    if not sys.stdin.isatty():
        refuse("--yes", None, "expected, because there is no terminal for a prompt")
    if not typer.confirm(f"{question}?"):
        typer.echo("nothing was changed", err=True)
        raise typer.Exit(1)
