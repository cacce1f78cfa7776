"""Implementation of `braid table alter`: changes registered tables through the registry, and all others directly.

`table_change_cli` declares the command.
"""

from collections.abc import Sequence
from functools import partial

import typer

from braid.cli.api.schema_changes import changed_line
from braid.cli.audit import command_actor, record
from braid.lake import Catalog, InvalidRequest, Problem, SystemClock, file_io_for
from braid.registry.alteration.engine_changes import engine_changes
from braid.registry.alteration.table_changes import plan_changes
from braid.registry.errors import DefinitionRefused
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import AuditAction, AuditChange, FieldProblem, TableChange
from braid.service.control.table_tests.required_tests import failed_tests


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
    typer.echo(changed_line(identifier, before, table.schema.id))
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
