"""Implementation of `braid apply`: reads, plans, asks, and makes a service have what files declare."""

from collections.abc import Sequence

import typer

from braid.cli.api.connection import Connection
from braid.cli.apply.execution import carry_out, check_steps
from braid.cli.apply.plan import Action, Step, plan_steps
from braid.cli.apply.pruning import Pruning
from braid.cli.apply.registered import read_registered
from braid.cli.apply.report import print_plan, print_plan_document, print_problems, summary
from braid.cli.arguments import refuse
from braid.cli.confirmation import confirm
from braid.cli.declarations import DeclarationsRefused, declarations_of
from braid.cli.documents import read_documents
from braid.cli.exits import EXIT_USAGE
from braid.cli.output import OutputFormat

_DONE = {Action.CREATE: "created", Action.CHANGE: "changed", Action.DELETE: "deleted"}


def apply(
    connection: Connection,
    sources: Sequence[str],
    *,
    is_dry_run: bool,
    is_confirmed: bool,
    pruning: Pruning | None,
    drops_columns: bool,
    output: OutputFormat,
) -> int:
    """Make a service have the declared tables and streams; return the exit status.

    Args:
        connection: The service.
        sources: Files and folders with the declarations; `-` for standard input.
        is_dry_run: Whether the plan is only printed.
        is_confirmed: Whether the plan is carried out without a question.
        pruning: Which streams of the declared tables that no file declares are deleted; None: none.
        drops_columns: Whether columns may be dropped.
        output: The form of the output.

    Returns:
        0: all is as declared, or would be; 2: a declaration breaks rules, and nothing was changed.
    """
    try:
        declared = declarations_of(read_documents(sources))
    except DeclarationsRefused as error:
        for line in error.lines:
            typer.echo(f"error: {line}", err=True)
        return EXIT_USAGE
    if not declared.identifiers:
        refuse("FILE", " ".join(sources), "expected the declaration of a table or a stream")
    with connection.client() as client:
        registered = read_registered(client, declared.identifiers)
        steps = plan_steps(declared, registered, pruning=pruning)
        checked = check_steps(client, steps, declared, registered)
        if output is OutputFormat.TABLE:
            print_plan(steps, checked)
        if not all(one.valid for one in checked.values()):
            print_problems(checked, declared.origins)
            return EXIT_USAGE
        work = [step for step in steps if step.action is not Action.UNCHANGED]
        _check_drops(work, drops_columns or is_dry_run)
        if work and not is_dry_run:
            confirm(f"Apply: {summary(work)}", is_given=is_confirmed)
            for step in work:
                carry_out(client, step)
                typer.echo(
                    f"{step.name}: {_DONE[step.action]}", err=output is not OutputFormat.TABLE
                )
        if output is not OutputFormat.TABLE:
            print_plan_document(steps, checked, output, is_applied=not is_dry_run)
    return 0


def _check_drops(steps: Sequence[Step], are_allowed: bool) -> None:
    dropped = [f"{step.name}: {', '.join(step.dropped)}" for step in steps if step.dropped]
    if dropped and not are_allowed:
        expected = "columns that no file declares would lose their values; rename them by `braid table alter`, or give --drop-columns"
        refuse("FILE", "; ".join(dropped), expected)
