"""The steps of a plan, checked and carried out over HTTP.

A step changes the version that the plan has read, and no other: if somebody else has changed it since, the service refuses the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import typer

from braid.cli.api.waiting import wait_for_state
from braid.cli.apply.plan import Action, Step
from braid.cli.apply.registered import RegisteredTable
from braid.cli.declarations import Declarations, StreamKey
from braid.cli.definition_files import stream_problems
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import (
    FieldProblem,
    SchemaChanges,
    StreamDefinition,
    StreamSpec,
    StreamState,
    StreamTrial,
    TableSpec,
)
from braid.schemas.api import Validation

if TYPE_CHECKING:
    from braid.client import Client

_STOP_SECONDS: Final = 60.0
"""The longest wait until the runner of a stream that is deleted has released it."""


def check_steps(
    client: "Client",
    steps: Sequence[Step],
    declared: Declarations,
    registered: Mapping[str, RegisteredTable],
) -> dict[str | StreamKey, Validation]:
    """Return for each step, by what it is about, the problems for which it would be refused, and its effects; changes nothing.

    The service checks them, but not streams that need a step before them: these are checked here, by the same rules.

    Raises:
        BraidError: The service refuses the check itself, or does not answer.
    """
    left = _without_deleted(registered, steps)
    found: dict[str | StreamKey, Validation] = {}
    for step in steps:
        if step.problems:
            found[step.key] = _validation(step.problems)
        else:
            found[step.key] = _validated(client, step, declared, left, found)
    return found


def _without_deleted(
    registered: Mapping[str, RegisteredTable], steps: Sequence[Step]
) -> dict[str, RegisteredTable]:
    """Return the registered tables without the streams that the plan deletes."""
    deleted = {step.key for step in steps if step.action is Action.DELETE}
    return {
        name: replace(
            table,
            streams={one: s for one, s in table.streams.items() if (name, one) not in deleted},
        )
        for name, table in registered.items()
    }


def carry_out(client: "Client", step: Step) -> None:
    """Carry out one step.

    Raises:
        BraidError: The service refuses it, or does not answer.
    """
    if isinstance(step.key, str):
        assert isinstance(step.spec, TableSpec), "tables are not deleted"
        _put_table(client, step, step.key, step.spec)
        return
    identifier, name = step.key
    stream = client.table(identifier).stream(name)
    if isinstance(step.spec, StreamDefinition):
        if_match, if_none_match = _condition(step)
        stream.put(
            step.spec,
            initial_state=step.initial_state,
            if_match=if_match,
            if_none_match=if_none_match,
        )
        return
    stream.stop()
    typer.echo(f"{step.name}: waiting until it has stopped", err=True)
    wait_for_state(stream, {StreamState.STOPPED}, seconds_max=_STOP_SECONDS)
    stream.delete()


def _put_table(client: "Client", step: Step, identifier: str, spec: TableSpec) -> None:
    table = client.table(identifier)
    if_match, if_none_match = _condition(step)
    if step.changes:
        changed = table.change_schema(SchemaChanges(changes=step.changes), if_match=if_match)
        if_match = changed.etag
    table.put(spec, if_match=if_match, if_none_match=if_none_match)


def _condition(step: Step) -> tuple[str | None, str | None]:
    """Return the conditions `if-match` and `if-none-match` of a step."""
    return (None, "*") if step.action is Action.CREATE else (step.etag, None)


def _validated(
    client: "Client",
    step: Step,
    declared: Declarations,
    registered: Mapping[str, RegisteredTable],
    found: Mapping[str | StreamKey, Validation],
) -> Validation:
    if step.action in (Action.UNCHANGED, Action.DELETE):
        return _validation()
    if isinstance(step.key, str):
        assert isinstance(step.spec, TableSpec), "a table's step has its declaration"
        table = client.table(step.key)
        if step.changes:
            return table.validate_schema_changes(SchemaChanges(changes=step.changes))
        return table.validate(step.spec)
    identifier, name = step.key
    assert isinstance(step.spec, StreamDefinition), "a stream's step has its declaration"
    if not step.needs_plan:
        trial = StreamTrial.model_validate(step.spec.model_dump(exclude_unset=True, mode="json"))
        return (
            client.table(identifier).stream(name).validate(trial, initial_state=step.initial_state)
        )
    if identifier in found and not found[identifier].valid:
        return _validation()  # the rules for streams require a valid table
    known = registered.get(identifier)
    return _validation(_checked_here(step.spec, name, identifier, declared, known))


def _validation(problems: tuple[FieldProblem, ...] = ()) -> Validation:
    """Return the result of a check that knows problems alone."""
    return Validation(valid=not problems, errors=problems)


def _checked_here(
    definition: StreamDefinition,
    name: str,
    identifier: str,
    declared: Declarations,
    known: RegisteredTable | None,
) -> tuple[FieldProblem, ...]:
    """Return the problems of a stream of a table that the plan creates or changes."""
    table = declared.tables.get(identifier)
    specs: dict[str, StreamSpec] = {}
    if known is not None:
        table = table or known.spec
        specs = {one: stream.spec for one, stream in known.streams.items()}
    assert table is not None, "the plan has a problem for a stream without a table"
    for stream, one in declared.streams_of(identifier).items():
        specs[stream] = complete_stream(table, one, name=stream, known=specs.get(stream))
    return tuple(stream_problems(table, specs, definition, name))
