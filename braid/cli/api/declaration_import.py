"""Import of declarations from files, in requests of a bounded size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer

from braid.cli.arguments import refuse
from braid.cli.declarations import (
    Declarations,
    DeclarationsRefused,
    StreamKey,
    declarations_of,
    problem_line,
    shown_name,
)
from braid.cli.documents import read_documents
from braid.cli.exits import EXIT_CONFLICT, EXIT_USAGE
from braid.cli.output import OutputFormat, print_record
from braid.schemas import DesiredState, ProblemCode
from braid.schemas.declaration_document import Declaration, StreamDeclaration, TableDeclaration
from braid.schemas.declaration_transfer import (
    DeclarationImport,
    DeclarationOutcome,
    ImportAction,
    ImportAnswer,
)

if TYPE_CHECKING:
    from braid.client import Client

_REQUEST: Final = 200
"""Declarations from which on a request gets no further table; the streams of a table are in the request of the table."""
_EXISTS: Final = frozenset({ProblemCode.TABLE_EXISTS, ProblemCode.STREAM_EXISTS})
_DONE: Final = {
    ImportAction.CREATE: "created",
    ImportAction.CHANGE: "changed",
    ImportAction.LEAVE: "unchanged",
}
_PLANNED: Final = {
    ImportAction.CREATE: "to create",
    ImportAction.CHANGE: "to change",
    ImportAction.LEAVE: "unchanged",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """How declarations are imported.

    Attributes:
        is_dry_run: Whether nothing is changed.
        replaces: Whether what is registered with another declaration is changed.
        initial_state: The desired state of each stream that is new; None: that of its declaration.
    """

    is_dry_run: bool
    replaces: bool
    initial_state: DesiredState | None


def import_files(
    client: "Client", sources: Sequence[str], options: ImportOptions, output: OutputFormat
) -> int:
    """Import the declarations of files, print the outcome of each, and return the exit status.

    Args:
        client: The service.
        sources: Files and folders; `-` for standard input.
        options: How they are imported.
        output: The form of the outcomes.

    Returns:
        0: all are as declared, or would be; 4: some are registered with another declaration; 2: some are refused otherwise.
    """
    try:
        declared = declarations_of(read_documents(sources))
    except DeclarationsRefused as error:
        for line in error.lines:
            typer.echo(f"error: {line}", err=True)
        return EXIT_USAGE
    if not declared.identifiers:
        refuse("FILE", " ".join(sources), "expected the declaration of a table or a stream")
    codes: set[ProblemCode] = set()
    for declarations in _requests(declared):
        request = DeclarationImport(
            declarations=tuple(declarations),
            replace=options.replaces,
            initial_state=options.initial_state,
        )
        for place, outcome in enumerate(_sent(client, request, options).outcomes):
            print_record(outcome, output, _line(outcome, options))
            if outcome.problem is not None:
                codes.add(outcome.problem.code)
                _print_problem(place, outcome, declared)
    if not codes:
        return 0
    return EXIT_CONFLICT if codes <= _EXISTS else EXIT_USAGE


def _sent(client: "Client", request: DeclarationImport, options: ImportOptions) -> ImportAnswer:
    if options.is_dry_run:
        return client.validate_declarations(request)
    # Without a key: sent again, it leaves what it has registered.
    return client.import_declarations(request)


def _requests(declared: Declarations) -> Iterator[list[Declaration]]:
    """Yield the declarations of the requests, each table with its streams."""
    waiting: list[Declaration] = []
    for identifier in declared.identifiers:
        if len(waiting) >= _REQUEST:
            yield waiting
            waiting = []
        table = declared.tables.get(identifier)
        if table is not None:
            waiting.append(TableDeclaration(kind="Table", name=identifier, spec=table))
        for name, definition in declared.streams_of(identifier).items():
            state = declared.initial_states.get((identifier, name), DesiredState.RUNNING)
            waiting.append(
                StreamDeclaration(
                    kind="Stream",
                    table=identifier,
                    name=name,
                    spec=definition,
                    initial_state=state,
                )
            )
    yield waiting


def _line(outcome: DeclarationOutcome, options: ImportOptions) -> str:
    words = _PLANNED if options.is_dry_run else _DONE
    what = words[outcome.action] if outcome.problem is None else "refused"
    lines = [f"{shown_name(_outcome_key(outcome))}: {what}"]
    if options.is_dry_run and outcome.action is not ImportAction.LEAVE:
        lines += [f"    {effect}" for effect in outcome.plan]
    return "\n".join(lines)


def _print_problem(place: int, outcome: DeclarationOutcome, declared: Declarations) -> None:
    problem, key = outcome.problem, _outcome_key(outcome)
    assert problem is not None
    prefix = f"/declarations/{place}/spec"
    for one in problem.errors:
        pointer = None if one.pointer is None else one.pointer.removeprefix(prefix)
        field = one.field.removeprefix(f"declarations[{place}].spec").removeprefix(".")
        located = one.model_copy(update={"pointer": pointer, "field": field})
        typer.echo(f"error: {problem_line(key, located, declared.origins)}", err=True)
    if not problem.errors:
        place_of = declared.origins[key].place(None)
        typer.echo(f"error: {place_of}: {shown_name(key)}: {problem.detail}", err=True)


def _outcome_key(outcome: DeclarationOutcome) -> str | StreamKey:
    return outcome.table if outcome.stream is None else (outcome.table, outcome.stream)
