"""Schema changes on the command line: through the registry where it knows the table."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from braid.alter_clauses import expected_form, parse_clause
from braid.arguments import refuse
from lake import Catalog, InvalidRequest, Problem, SystemClock, file_io_for
from registry.alteration.engine_changes import engine_changes
from registry.alteration.table_changes import plan_changes
from registry.errors import DefinitionRefused, RegistryError
from registry.registrar import Registrar
from registry.store.documents import RegistryStore
from schemas import FieldProblem, SchemaChanges, TableChange

STANDARD_INPUT = "-"
_SHOWN_MAX = 200


def requested_changes(clauses: Sequence[str], file: str | None) -> tuple[TableChange, ...]:
    """Return the changes of the command line; end the process when they are none.

    Args:
        clauses: As `parse_clause` reads them.
        file: Path of a JSON document as the HTTP service takes it, `-` for standard input; its
            changes come first.
    """
    found = [] if file is None else _read(file)
    for clause in clauses:
        change = parse_clause(clause)
        if change is None:
            refuse("CHANGE", clause, expected_form(clause))
        found.append(change)
    if not found:
        refuse("CHANGE", "", "expected at least one change, such as `ADD note STRING`")
    try:
        return SchemaChanges.model_validate({"changes": found}).changes
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        context = first.get("ctx", {})
        if "expected_tags" in context:
            # The kind of a change; the library's text names its own parts.
            refuse("CHANGE", place, f"no such kind; known: {context['expected_tags']}")
        if first["type"] == "union_tag_not_found":
            refuse(
                "CHANGE", place, "expected an object with its kind, such as `change`: `add_column`"
            )
        refuse("CHANGE", place, first["msg"][:_SHOWN_MAX])


def alter(
    warehouse: str, identifier: str, changes: Sequence[TableChange], *, is_dry_run: bool
) -> int:
    """Make the changes, or only check them, and print what has come of it.

    Returns:
        The status to exit with.

    Raises:
        LakeError: As `Table.alter` does.
    """
    catalog, clock = Catalog(warehouse), SystemClock()
    store = RegistryStore(file_io_for(warehouse), warehouse, clock)
    table = catalog.table(identifier)
    before = table.schema.id
    if store.table(identifier) is not None:
        _alter_registered(Registrar(store, catalog, clock), identifier, changes, is_dry_run)
    elif is_dry_run:
        table.plan_alter(*engine_changes(changes))
    else:
        table.alter(*engine_changes(changes))
    if is_dry_run:
        typer.echo(f"{identifier}: could be changed so; nothing is done")
        return 0
    table.refresh()
    after = table.schema.id
    typer.echo(
        f"{identifier}: has schema {after}"
        + (" as before, nothing changes" if after == before else f", after schema {before}")
    )
    return 0


def _alter_registered(
    registrar: Registrar, identifier: str, changes: Sequence[TableChange], is_dry_run: bool
) -> None:
    plan = plan_changes(changes)
    try:
        if not is_dry_run:
            registrar.alter(identifier, plan)
            return
        problems = registrar.check_alteration(identifier, plan)
    except DefinitionRefused as error:
        raise _refusal(error.problems) from error
    except RegistryError as error:
        raise InvalidRequest(str(error)) from error
    if problems:
        raise _refusal(problems)


def _refusal(problems: Sequence[FieldProblem]) -> InvalidRequest:
    message = "the schema cannot be changed as asked"
    return InvalidRequest(
        message,
        problems=[
            Problem(field=one.field, value=one.value, message=one.message, hint=one.hint)
            for one in problems
        ],
    )


def _read(file: str) -> list[dict[str, Any]]:
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text()
        changes = json.loads(text)["changes"]
        return list(changes)
    except OSError as error:
        refuse("--file", file, str(error.strerror))
    except (ValueError, KeyError, TypeError):
        refuse("--file", file, 'expected a JSON object such as {"changes": [...]}')
