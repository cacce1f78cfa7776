"""The plan of `braid apply`: the steps from what is registered to what is declared, in the order in which they are made. Pure.

Tables are first, because streams need them and their columns; then the streams that are deleted, because others may take over their
columns; then all other streams.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from braid.cli.apply.differences import Difference, differences
from braid.cli.apply.pruning import Pruning
from braid.cli.apply.registered import RegisteredTable
from braid.cli.apply.schema_changes import derive_changes
from braid.cli.declarations import Declarations, StreamKey, shown_name
from braid.registry.alteration.redeclaration import declared_differences
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import (
    DesiredState,
    FieldProblem,
    StreamDefinition,
    StreamSpec,
    TableChange,
    TableSpec,
)
from braid.schemas.field_problems import problem_at

_KINDS: Final = {True: "Table", False: "Stream"}


class Action(StrEnum):
    """What a step does."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a plan.

    Attributes:
        action: What it does.
        key: The table's name, or that of the table and that of the stream.
        spec: The declaration that is registered; None: something is deleted.
        differences: What it changes; empty for what is created or deleted.
        changes: Of a table, the schema changes that are made before its declaration is registered.
        dropped: Columns of a table that lose their values.
        initial_state: The desired state of a stream that is created; None: nothing, or a table, is.
        etag: The version that is changed or deleted; None: there is none, or its version has no name.
        needs_plan: Whether the plan changes a stream's table, or deletes streams of it, so that the service cannot check the stream yet.
        problems: Why the step cannot be made, as far as this is known without the service.
    """

    action: Action
    key: str | StreamKey
    spec: TableSpec | StreamDefinition | None = None
    differences: tuple[Difference, ...] = ()
    changes: tuple[TableChange, ...] = ()
    dropped: tuple[str, ...] = ()
    initial_state: DesiredState | None = None
    etag: str | None = None
    needs_plan: bool = False
    problems: tuple[FieldProblem, ...] = ()

    @property
    def kind(self) -> str:
        """`Table` or `Stream`."""
        return _KINDS[isinstance(self.key, str)]

    @property
    def name(self) -> str:
        """The name for people, such as `shop.orders/payments`."""
        return shown_name(self.key)


def plan_steps(
    declared: Declarations,
    registered: Mapping[str, RegisteredTable],
    *,
    pruning: Pruning | None = None,
) -> list[Step]:
    """Return the steps, in order.

    Args:
        declared: What files declare.
        registered: What the service has of the declared tables, by name.
        pruning: Which streams of these tables that no file declares are deleted; None: none.
    """
    tables = [
        _table_step(name, spec, registered.get(name)) for name, spec in declared.tables.items()
    ]
    deleted = [] if pruning is None else list(_deletions(declared, registered, pruning))
    changed = {step.key for step in tables if step.action is not Action.UNCHANGED}
    changed |= {step.key[0] for step in deleted}
    streams = [
        _stream_step(key, definition, declared, registered, needs_plan=key[0] in changed)
        for key, definition in declared.streams.items()
    ]
    return [*tables, *deleted, *streams]


def _table_step(name: str, spec: TableSpec, known: RegisteredTable | None) -> Step:
    if known is None:
        return Step(action=Action.CREATE, key=name, spec=spec)
    found = differences(_json(known.spec), _json(spec))
    derived = derive_changes(known.spec, spec)
    return Step(
        action=Action.CHANGE if found else Action.UNCHANGED,
        key=name,
        spec=spec,
        differences=tuple(found),
        changes=derived.changes,
        dropped=derived.dropped,
        etag=known.etag,
        problems=tuple(declared_differences(derived.table, spec)),
    )


def _deletions(
    declared: Declarations, registered: Mapping[str, RegisteredTable], pruning: Pruning
) -> Iterator[Step]:
    for table, found in registered.items():
        for name, stream in found.streams.items():
            if (table, name) not in declared.streams and pruning.includes(stream.spec):
                yield Step(action=Action.DELETE, key=(table, name), etag=stream.etag)


def _stream_step(
    key: StreamKey,
    definition: StreamDefinition,
    declared: Declarations,
    registered: Mapping[str, RegisteredTable],
    *,
    needs_plan: bool,
) -> Step:
    identifier, name = key
    table = registered.get(identifier)
    spec = declared.tables.get(identifier) or (None if table is None else table.spec)
    if spec is None:
        problem = problem_at(
            value=identifier,
            message="there is no table of this name, and no file declares it",
            hint="declare the table, or correct the name",
        )
        return Step(action=Action.CREATE, key=key, spec=definition, problems=(problem,))
    known = None if table is None else table.streams.get(name)
    if known is None:
        return Step(
            action=Action.CREATE,
            key=key,
            spec=definition,
            initial_state=declared.initial_states.get(key),
            needs_plan=needs_plan,
        )
    wanted = complete_stream(spec, definition, name=name, known=known.spec)
    found = differences(_json(known.spec), _json(wanted))
    return Step(
        action=Action.CHANGE if found else Action.UNCHANGED,
        key=key,
        spec=definition,
        differences=tuple(found),
        etag=known.etag,
        needs_plan=needs_plan,
    )


def _json(spec: TableSpec | StreamSpec) -> Any:
    return spec.model_dump(mode="json")
