"""Implementation of `braid table alter`: changes registered tables through the registry, and all others directly.

`table_cli` declares the command.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from braid.cli.alter_clauses import expected_form, parse_clause
from braid.cli.arguments import refuse
from braid.cli.audit import command_actor, record
from braid.lake import Catalog, InvalidRequest, Problem, SystemClock, file_io_for
from braid.registry.alteration.engine_changes import engine_changes
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import AuditAction, AuditChange, FieldProblem, SchemaChanges, TableChange
from braid.service.control.table_tests.required_tests import failed_tests

STANDARD_INPUT = "-"
_SHOWN_MAX = 200


def requested_changes(clauses: Sequence[str], file: str | None) -> tuple[TableChange, ...]:
    """Return the changes given on the command line; exit with one line when they are invalid.

    Args:
        clauses: Clauses in the forms that `parse_clause` reads.
        file: Path of a JSON document, the body of `schema-changes` over HTTP; `-` for standard
            input. Its changes come first.
    """
    changes = [] if file is None else _read(file)
    for clause in clauses:
        change = parse_clause(clause)
        if change is None:
            refuse("CHANGE", clause, expected_form(clause))
        changes.append(change)
    if not changes:
        refuse("CHANGE", "", "expected at least one change, such as `ADD note STRING`")
    try:
        return SchemaChanges.model_validate({"changes": changes}).changes
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        context = first.get("ctx", {})
        # pydantic's own messages for these two name its internal tags, which users do not know.
        if "expected_tags" in context:
            refuse("CHANGE", location, f"no such kind; known: {context['expected_tags']}")
        if first["type"] == "union_tag_not_found":
            expected = "expected an object with its kind, such as `change`: `add_column`"
            refuse("CHANGE", location, expected)
        refuse("CHANGE", location, first["msg"][:_SHOWN_MAX])


def alter(
    warehouse: str, identifier: str, changes: Sequence[TableChange], *, is_dry_run: bool
) -> int:
    """Make the changes, or only check them, and print the result.

    Returns:
        The exit status.

    Raises:
        LakeError: What `Table.alter` raises.
        RegistryError: What `Registrar.alter` raises, but `DefinitionRefused`, which becomes an `InvalidRequest`.
    """
    catalog, clock = Catalog(warehouse), SystemClock()
    store = RegistryStore(file_io_for(warehouse), warehouse, clock)
    table = catalog.table(identifier)
    before = table.schema.id
    if store.table(identifier) is not None:
        registrar = Registrar(
            store,
            catalog,
            clock,
            check_tests=partial(failed_tests, clock=clock),
            actor=command_actor(),
        )
        _alter_registered(registrar, identifier, changes, is_dry_run)
    elif is_dry_run:
        table.plan_alter(*engine_changes(changes))
    else:
        record(warehouse, identifier, AuditAction.CHANGE_SCHEMA, *map(_as_change, changes))
        table.alter(*engine_changes(changes))
    if is_dry_run:
        typer.echo(f"{identifier}: the changes are valid; nothing was changed")
        return 0
    table.refresh()
    after = table.schema.id
    typer.echo(
        f"{identifier}: has schema {after}, "
        + ("unchanged" if after == before else f"changed from schema {before}")
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
        problems = registrar.plan_alteration(identifier, plan).problems
    except DefinitionRefused as error:
        raise _refusal(error.problems) from error
    if problems:
        raise _refusal(problems)


def _as_change(change: TableChange) -> AuditChange:
    return AuditChange(pointer="", after=change.model_dump(mode="json", exclude_none=True))


def _refusal(problems: Sequence[FieldProblem]) -> InvalidRequest:
    message = "the schema cannot be changed as requested"
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
