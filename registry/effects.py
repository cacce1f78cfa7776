"""Effects of a change of a table or stream, in words, for a person who decides whether to make it.

Pure. They are derived from the documents and schemas before and after the change, which the code that makes the change has
computed, so that a dry run cannot announce another change than the one that is made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from braid.lake import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    StreamPosition,
    TableSchema,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    schema_differences,
)
from braid.registry.errors import RegistryError
from braid.registry.layout.physical_table import physical_table
from braid.registry.live_fields import FOR_PEOPLE, can_apply_live, writes_alike
from braid.schemas import (
    DesiredState,
    FieldProblem,
    LetterSelection,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)
from braid.schemas.field_problems import display_text, quoted_list

EFFECTS_MAX: Final = 100
_LIST_OF_COLUMNS: Final = ".sequence-group"
NOTHING: Final = "changes nothing"
_REWRITES_NOTHING: Final = "rewrites nothing"
_NAMED: Final = {"views": "feature view", "lookup_indexes": "lookup index"}
_COMPLETED_BY: Final = ("trigger_ms",)  # follows from `trigger`, which is told


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change as it would be made, or the reasons why it would be refused.

    Attributes:
        problems: Why it would be refused; empty if it would not.
        effects: What it would do, one effect each; empty if it would be refused.
    """

    problems: tuple[FieldProblem, ...] = ()
    effects: tuple[str, ...] = ()


def effects_of_creation(table: TableSpec, identifier: str, *, is_adopted: bool) -> tuple[str, ...]:
    """Return the effects of the registration of a table.

    Args:
        table: The declaration.
        identifier: `<database>.<table>`.
        is_adopted: Whether the warehouse has the table already, without a registration.
    """
    layout = physical_table(table)
    generated = len(layout.columns) - len(table.columns)
    verb = "registers the table of the warehouse" if is_adopted else "creates the table"
    groups = quoted_list(group.name for group in table.sequence_groups)
    return (
        f"{verb} `{identifier}` with {len(table.columns)} declared and {generated} generated columns, "
        f"in {table.buckets} buckets of each partition",
        f"sequence groups, each for one stream: {groups}"
        if table.sequence_groups
        else f"merges rows by the engine `{table.merge_engine.value}`",
        _REWRITES_NOTHING,
    )


def effects_of_redeclaration(before: TableSpec, after: TableSpec) -> tuple[str, ...]:
    """Return the effects of a declaration that differs in rules about answers, tests, labels and owner."""
    told: list[str] = []
    for field in _changed_fields(before, after):
        old, new = getattr(before, field), getattr(after, field)
        if field in _NAMED:
            told += _named_changes(_NAMED[field], old, new)
        elif field in FOR_PEOPLE:
            told += _for_people(field, old, new)
        elif field == "tests":
            told.append("changes the tests of the table")
        else:
            told.append(f"changes `{field}`: the next answers about rows follow it")
    return _told([*told, _REWRITES_NOTHING]) if told else (NOTHING,)


def effects_of_alteration(
    before: TableDocument, after: TableDocument, old: TableSchema, new: TableSchema
) -> tuple[str, ...]:
    """Return the effects of schema changes.

    Args:
        before: The document so far.
        after: The document after the change.
        old: The schema so far.
        new: The schema after the change; `old` if it does not change.
    """
    generated = {
        name for group in physical_table(after.table).groups for name in group.generated_columns
    }
    told = [
        _schema_effect(change, generated)
        for change in schema_differences(old, new)
        if not _is_of_columns(change)
    ]
    known = {group.name for group in before.table.sequence_groups}
    told += [
        f"adds the sequence group `{group.name}`"
        for group in after.table.sequence_groups
        if group.name not in known
    ]
    if new.id != old.id:
        told.append(f"{_REWRITES_NOTHING}: files keep the schema that they were written by")
    for name in sorted(after.streams):
        entry, former = after.streams[name], before.streams[name]
        if entry.version != former.version:
            told.append(f"the stream `{name}` follows {_when_live(entry)}")
    if not told and after.table != before.table:
        told.append("changes the declaration alone")
    added = sorted({*after.features} - {*before.features})
    if added:
        told.append(
            f"versions of Braid without {quoted_list(added)} do not change the table any more"
        )
    return _told(told) or (NOTHING,)


def effects_of_registration(
    entry: StreamEntry, *, former: Sequence[str], position: StreamPosition | None
) -> tuple[str, ...]:
    """Return the effects of the registration of a stream.

    Args:
        entry: The new entry.
        former: Streams that have written its columns, whose epochs end.
        position: The position that the table has under the stream's name; None: it has none.
    """
    spec = entry.spec
    what = (
        f"the group `{spec.sequence_group}`"
        if spec.sequence_group
        else f"{len(spec.columns)} columns"
    )
    feeder = "Spark" if spec.is_from_spark else f"the topic `{spec.topic}`"
    told = [f"registers the stream `{spec.name}`: {feeder} feeds {what}"]
    if former:
        told.append(
            f"takes these columns over from {quoted_list(former)}, which cannot commit any more"
        )
    if position is not None and position.topic and entry.former_epoch is None:
        told.append("it continues at the position that the table has of this name")
    elif not spec.is_from_spark:
        told.append(f"it begins with the {spec.starting_offsets.value} records of its topic")
    told.append(
        _starts(spec)
        if entry.desired_state is DesiredState.RUNNING
        else f"it is {entry.desired_state.value} until it is started"
    )
    return (*told, _REWRITES_NOTHING)


def _starts(spec: StreamSpec) -> str:
    """Return when a stream that is to run begins."""
    if spec.is_from_spark:
        return "Spark programs can write it at once; no runner hosts it"
    return "it runs as soon as a runner takes it"


def effects_of_change(before: StreamEntry, after: StreamEntry) -> tuple[str, ...]:
    """Return the effects of another declaration of a registered stream."""
    old, new = before.spec, after.spec
    told: list[str] = []
    for field in _changed_fields(old, new):
        if field == "columns":
            told += _mapping_changes(old, new)
        elif field in FOR_PEOPLE:
            told += _for_people(field, getattr(old, field), getattr(new, field))
        elif field not in _COMPLETED_BY:
            told.append(f"changes `{field}` from `{_shown(old, field)}` to `{_shown(new, field)}`")
    if not told:
        return (NOTHING,)
    return (*_told(told), _how_followed(before, after), _REWRITES_NOTHING)


def effects_of_deletion(entry: StreamEntry) -> tuple[str, ...]:
    """Return the effects of the deletion of a stream."""
    spec = entry.spec
    freed = (
        f"the group `{spec.sequence_group}` is"
        if spec.sequence_group
        else f"its {len(spec.columns)} columns are"
    )
    return (
        f"deletes the stream `{spec.name}`: {freed} free for another stream",
        "its rows and its position stay in the table: a stream of the same name and topic continues there",
        _REWRITES_NOTHING,
    )


def effects_of_drop(identifier: str, streams: Sequence[str], *, keep_data: bool) -> tuple[str, ...]:
    """Return the effects of the drop of a table.

    Args:
        identifier: `<database>.<table>`.
        streams: Names of its streams.
        keep_data: Whether its files stay.
    """
    with_streams = f", and its streams {quoted_list(streams)}" if streams else ""
    files = (
        "keeps its files: the warehouse then has the table, but it is not registered"
        if keep_data
        else "deletes its files: rows, snapshots and tags cannot be restored"
    )
    return f"drops the table `{identifier}`{with_streams}", files


def effects_of_replay(stream: str, selection: LetterSelection) -> tuple[str, ...]:
    """Return the effects of a replay of dead letters."""
    which = "all dead letters"
    if selection.reasons:
        which = f"dead letters with the reasons {quoted_list(selection.reasons)}"
    if selection.offsets:
        which = f"{which} in ranges of offsets of the partitions {quoted_list(selection.offsets)}"
    return (
        f"the runner of the stream `{stream}` writes the records of {which}, each once and at its place in the order",
        "records that are refused again stay dead letters",
    )


def refused_change(error: RegistryError, *, field: str) -> PlannedChange:
    """Return the plan of a change that an error forbids.

    Args:
        error: Its text may end with a line that begins with `hint: `.
        field: What of the request the error is about.
    """
    message, _, hint = str(error).partition("\nhint: ")
    problem = FieldProblem(pointer=None, field=field, message=message, hint=hint or None)
    return PlannedChange(problems=(problem,))


def _how_followed(before: StreamEntry, after: StreamEntry) -> str:
    if writes_alike(before.spec, after.spec):
        return "its query goes on as it is"
    if after.restart_generation != before.restart_generation:
        return "it had completed, and reads what its topic holds now"
    if after.desired_state is DesiredState.RUNNING and not can_apply_live(before.spec, after.spec):
        return "its query is replaced by a new one, which continues at the stream's position"
    return f"it follows {_when_live(after)}"


def _when_live(entry: StreamEntry) -> str:
    match entry.desired_state:
        case DesiredState.RUNNING:
            return "at its next micro-batch, without a restart"
        case DesiredState.PAUSED:
            return "when it is resumed"
        case DesiredState.STOPPED:
            return "when it is started"
        case _:
            assert_never(entry.desired_state)


def _is_of_columns(change: SchemaChange) -> bool:
    """Return whether a change follows from others that are told: an option that lists the columns of a group."""
    return isinstance(change, SetOption | RemoveOption) and change.key.endswith(_LIST_OF_COLUMNS)


def _schema_effect(change: SchemaChange, generated: set[str]) -> str:
    match change:
        case AddColumn():
            kind = "generated column" if change.path[0] in generated else "column"
            return f"adds the {kind} `{_path(change.path)}` ({change.type})"
        case DropColumn():
            return f"drops the column `{_path(change.path)}`: its values are not readable any more"
        case RenameColumn():
            return f"renames the column `{_path(change.path)}` to `{change.name}`"
        case UpdateColumnType():
            return f"changes the type of `{_path(change.path)}` to {change.type}"
        case UpdateColumnNullability():
            may = "may" if change.nullable else "must not"
            return f"`{_path(change.path)}` {may} be null"
        case UpdateColumnComment():
            return f"changes the description of `{_path(change.path)}`"
        case UpdateColumnDefault():
            return f"changes the default of `{_path(change.path)}`, for records from now on"
        case UpdateColumnPosition():
            return f"moves the column `{change.name}`"
        case UpdateComment():
            return "changes the comment of the table"
        case SetOption():
            return f"sets the option `{change.key}` to `{display_text(change.value)}`"
        case RemoveOption():
            return f"removes the option `{change.key}`"
        case DropPrimaryKey():
            return "drops the primary key"
        case _:
            assert_never(change)


def _path(path: tuple[str, ...]) -> str:
    return ".".join(path)


def _named_changes(kind: str, old: Iterable[Any], new: Iterable[Any]) -> Iterator[str]:
    before, after = _by_name(old), _by_name(new)
    yield from _changes(kind, before, after, lambda name: f"changes the {kind} `{name}`")
    if list(before) != list(after) and before == after:
        yield f"changes the order of the {kind} list"


def _mapping_changes(old: StreamSpec, new: StreamSpec) -> Iterator[str]:
    before = {one.column: one for one in old.columns}
    after = {one.column: one for one in new.columns}
    for name in sorted(after.keys() - before.keys()):
        yield f"reads the column `{name}`"
    for name in sorted(before.keys() - after.keys()):
        yield f"does not read the column `{name}` any more"
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"reads the column `{name}` in another way"
    if before == after:
        yield "changes the order in which columns are read"


def _for_people(field: str, old: Any, new: Any) -> Iterator[str]:
    if field == "labels":
        yield from _changes(
            "label",
            old,
            new,
            lambda name: f"sets the label `{name}` to `{display_text(new[name])}`",
        )
    else:
        yield "removes the owner" if new is None else f"sets the owner to `{display_text(new)}`"


def _changes(
    kind: str, old: Mapping[str, Any], new: Mapping[str, Any], changed: Callable[[str], str]
) -> Iterator[str]:
    for name in sorted(new.keys() - old.keys()):
        yield f"adds the {kind} `{name}`"
    for name in sorted(old.keys() - new.keys()):
        yield f"removes the {kind} `{name}`"
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            yield changed(name)


def _by_name(entries: Iterable[Any]) -> dict[str, Any]:
    return {entry.name: entry for entry in entries}


def _changed_fields(old: TableSpec | StreamSpec, new: TableSpec | StreamSpec) -> list[str]:
    return [name for name in type(old).model_fields if getattr(old, name) != getattr(new, name)]


def _shown(spec: StreamSpec, field: str) -> str:
    return display_text(spec.model_dump(mode="json", include={field}, by_alias=True)[field])


def _told(effects: Sequence[str]) -> tuple[str, ...]:
    """Return the effects, at most `EFFECTS_MAX`; the last one then says how many there are besides."""
    if len(effects) <= EFFECTS_MAX:
        return tuple(effects)
    return (*effects[: EFFECTS_MAX - 1], f"and {len(effects) - EFFECTS_MAX + 1} more effects")
