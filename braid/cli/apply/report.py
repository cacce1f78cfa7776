"""The plan of `braid apply`, and what was done of it, as text and as a document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import typer

from braid.cli.apply.differences import Difference
from braid.cli.apply.plan import Action, Step
from braid.cli.declarations import Origin, StreamKey, problem_line
from braid.cli.output import OutputFormat, cell, print_document
from braid.schemas.api import Validation

_MARKS: Final[Mapping[Action, str]] = {
    Action.CREATE: "+",
    Action.CHANGE: "~",
    Action.DELETE: "-",
    Action.UNCHANGED: "=",
}
_COLOURS: Final[Mapping[Action, str | None]] = {
    Action.CREATE: typer.colors.GREEN,
    Action.CHANGE: typer.colors.YELLOW,
    Action.DELETE: typer.colors.RED,
    Action.UNCHANGED: None,
}
_SHOWN_MAX: Final = 200


def print_plan(steps: Sequence[Step], checked: Mapping[str | StreamKey, Validation]) -> None:
    """Print what a plan does: a line for each step, for each field that changes, and for each effect of a change."""
    for step in steps:
        line = f"{_MARKS[step.action]} {step.kind.lower()} {step.name}"
        typer.secho(line, fg=_COLOURS[step.action])
        for difference in step.differences:
            for sign, text, colour in _difference_lines(difference):
                typer.secho(f"    {sign} {text}", fg=colour)
        for effect in checked[step.key].plan if step.action is Action.CHANGE else ():
            typer.echo(f"    > {effect}")
        for column in step.dropped:
            typer.secho(f"    ! the values of the column {column} are lost", fg=typer.colors.RED)
    typer.echo(summary(steps))


def print_problems(
    checked: Mapping[str | StreamKey, Validation],
    origins: Mapping[str | StreamKey, Origin],
) -> None:
    """Print the problems of declarations on stderr, each with its file and line."""
    for key, found in checked.items():
        for problem in found.errors:
            typer.echo(f"error: {problem_line(key, problem, origins)}", err=True)


def print_plan_document(
    steps: Sequence[Step],
    checked: Mapping[str | StreamKey, Validation],
    output: OutputFormat,
    *,
    is_applied: bool,
) -> None:
    """Print a plan as one document.

    Args:
        steps: The steps.
        checked: The result of the check of each step, by what it is about.
        output: JSON or YAML.
        is_applied: Whether the steps were carried out.
    """
    document = {
        "applied": is_applied,
        "steps": [_step_document(step, checked[step.key].plan) for step in steps],
    }
    print_document(document, output)


def summary(steps: Sequence[Step]) -> str:
    """Return the numbers of steps by what they do."""
    counts = {action: sum(step.action is action for step in steps) for action in Action}
    verbs = {Action.CREATE: "to create", Action.CHANGE: "to change", Action.DELETE: "to delete"}
    parts = [f"{counts[action]} {verb}" for action, verb in verbs.items()]
    return ", ".join([*parts, f"{counts[Action.UNCHANGED]} unchanged"])


def _difference_lines(one: Difference) -> Iterator[tuple[str, str, str]]:
    if one.before is not None:
        yield "-", f"{one.field}: {_shown(one.before)}", typer.colors.RED
    if one.after is not None:
        yield "+", f"{one.field}: {_shown(one.after)}", typer.colors.GREEN


def _shown(value: Any) -> str:
    text = cell(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def _step_document(step: Step, effects: Sequence[str]) -> dict[str, Any]:
    return {
        "action": step.action.value,
        "kind": step.kind,
        "name": step.name,
        "differences": [
            {"field": one.field, "before": one.before, "after": one.after}
            for one in step.differences
        ],
        "schema_changes": [
            change.model_dump(mode="json", exclude_none=True) for change in step.changes
        ],
        "effects": list(effects),
    }
