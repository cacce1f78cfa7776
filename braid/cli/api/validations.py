"""Results of checks by a service, as text: the effects of a change, or the problems for which it would be refused."""

from collections.abc import Iterable

import typer

from braid.cli.exits import EXIT_USAGE
from braid.schemas import FieldProblem
from braid.schemas.api import Validation


def show_validation(found: Validation) -> int:
    """Print the effects of a valid change on stdout, or its problems on stderr; return the exit status: 0, or 2."""
    for effect in found.plan:
        typer.echo(effect)
    show_problems(found.errors)
    return 0 if found.valid else EXIT_USAGE


def show_problems(problems: Iterable[FieldProblem]) -> None:
    """Print the problems on stderr, a line each."""
    for problem in problems:
        hint = "" if problem.hint is None else f"; hint: {problem.hint}"
        typer.echo(f"error: {problem.field}: {problem.message}{hint}", err=True)
