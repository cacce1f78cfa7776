"""Alteration of a registered table as a whole: declaration, streams and table schema together.

A plan holds the new declaration, the new specs of the streams, and the changes of columns that the
engine has to make. The rest is derived: options that follow from the declaration, types of nested
columns, and the streams that get a new version. The result has to pass the rules for new tables and
streams, the engine's rules, and these:

1. A column that a stream writes is not dropped.
2. The type of a column that a stream writes is only widened, so that the stream can follow
   (`type_widening`), and no field inside of it is dropped or renamed.
3. The order of kept columns stays comparable with the order that is stored (`kept_orders`).
4. A sequence group is added only over columns that the same request adds, or to a table without
   rows (`added_groups`).
5. An older table, in which the order of a group does not end with arrival columns, gets these columns
   (`arrival_columns`).
6. After the change the table has what is declared: every column with its type, and every option.

A problem by the rules for tables and streams that was there before the change does not refuse the change.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from braid.lake import (
    ChangeProblem,
    InvalidRequest,
    Problem,
    SchemaChange,
    Table,
    TableNotFound,
    TableSchema,
    parse_type,
)
from braid.registry.alteration.added_groups import check_added_groups
from braid.registry.alteration.arrival_columns import added_columns, check_names
from braid.registry.alteration.change_locations import (
    Origin,
    column_problem,
    engine_problem,
    stream_problem,
    table_problem,
)
from braid.registry.alteration.kept_orders import check_kept_orders
from braid.registry.alteration.option_changes import option_changes
from braid.registry.alteration.schema_agreement import check_agreement
from braid.registry.alteration.type_widening import is_safe_widening
from braid.registry.errors import DefinitionRefused
from braid.registry.layout.stream_columns import stream_columns
from braid.registry.rules.stream_rules import check_stream
from braid.registry.rules.tables.table_rules import check_table
from braid.schemas import (
    ColumnSpec,
    FieldProblem,
    MergeEngine,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)
from braid.schemas.field_problems import quoted_list

_DROP_HINT: Final = (
    "stop and delete the stream, drop the column, and register the stream again: it continues at "
    "its position"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """A planned change of a table.

    Attributes:
        document: The document with the new declaration and the new specs of the streams; the types of nested
            columns may still be the old ones.
        changes: The engine's changes of columns and the comment; each is applied to the result of those
            before it.
        origin: The requested changes, to locate problems.
    """

    document: TableDocument
    changes: tuple[SchemaChange, ...] = ()
    origin: Origin = field(default_factory=Origin)


AlterationPlan = Callable[[TableDocument, TableSchema], Alteration]
"""From the newest document and schema to the planned change; called again at every attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAlteration:
    """A change of a table that breaks no rule.

    Attributes:
        document: The document after the schema is published.
        schema: The schema to publish; the table's own when it does not change.
        former_schema: The schema so far.
    """

    document: TableDocument
    schema: TableSchema
    former_schema: TableSchema


def with_actual_buckets(document: TableDocument, schema: TableSchema) -> TableDocument:
    """Return the document with the bucket count of the schema, which a rescale changes first."""
    count = schema.options.get("bucket", "")
    if not count.isdigit() or int(count) == document.table.buckets:
        return document
    table = document.table.model_copy(update={"buckets": int(count)})
    return document.model_copy(update={"table": table})


def check_alteration(
    before: TableDocument, table: Table, alteration: Alteration
) -> CheckedAlteration:
    """Return the document and the schema after an alteration; changes nothing.

    Args:
        before: The newest document.
        table: The document's table; the engine reads its newest schema.
        alteration: The planned change.

    Raises:
        DefinitionRefused: The result breaks rules. The checks are made in steps, and `problems` has those of the first
            step that finds any.
        TableNotFound: The table is gone.
    """
    old, origin = table.schema, alteration.origin
    proposed = alteration.document
    assert proposed.identifier == before.identifier, "a plan changes no names of tables"
    assert proposed.pending is None, "changes start from a settled document"
    # Checked before the engine, which would report a duplicate name without the reason.
    _refuse(before, [*check_names(before.table, proposed.table, old, origin)])
    options = option_changes(before.table, proposed.table, old, alteration.changes)
    arrival = added_columns(before.table, old)
    try:
        new = table.plan_alter(*alteration.changes, *arrival, *options)
    except TableNotFound:
        raise
    except InvalidRequest as error:
        if not error.problems:
            raise
        problems = _problems_of_refused_changes(error.problems, before, proposed, old, origin)
        raise _refusal(before, problems) from error
    after = _with_actual_types(proposed, new)
    # Two steps: a dropped or retyped column breaks other rules too, which would only repeat it.
    _refuse(
        before,
        [
            *_check_dropped(before, after, old, new, origin),
            *_check_types(before, after, old, new, origin),
            *check_kept_orders(before.table, after.table, old, new, origin),
        ],
    )
    problems = [*_check_rules(before, after, origin)]
    if _has_rows(table):
        problems += check_added_groups(before, after, old, new, origin)
    _refuse(before, problems)
    _refuse(before, [*check_agreement(after, new, origin)])
    document = _with_versions(before, after, old, new)
    return CheckedAlteration(document=document, schema=new, former_schema=old)


def _problems_of_refused_changes(
    found: Sequence[Problem],
    before: TableDocument,
    proposed: TableDocument,
    old: TableSchema,
    origin: Origin,
) -> list[FieldProblem]:
    """Return the problems of changes that the engine refuses, in the words nearest to the request.

    1. Problems of single changes, which have a location in the request.
    2. Without any, the schema after all changes is wrong: the rules for declarations name its fields
       as the request does.
    3. Where they find nothing, what the engine found.

    Args:
        found: The problems that the engine found; at least one.
        before: The newest document.
        proposed: The document after the change.
        old: The newest schema.
        origin: The requested changes, to locate problems.
    """
    of_changes = [
        *(engine_problem(p, origin, proposed.table) for p in found if isinstance(p, ChangeProblem)),
        *_check_dropped(before, proposed, old, None, origin),
    ]
    if of_changes:
        return of_changes
    of_declaration = [*_check_rules(before, proposed, origin)]
    if of_declaration:
        return of_declaration
    return [engine_problem(problem, origin, proposed.table) for problem in found]


def _has_rows(table: Table) -> bool:
    snapshot = table.latest_snapshot()
    return snapshot is not None and snapshot.total_record_count > 0


def _refuse(before: TableDocument, problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise _refusal(before, problems)


def _refusal(before: TableDocument, problems: Sequence[FieldProblem]) -> DefinitionRefused:
    message = f"the schema of {before.identifier} cannot be changed as requested"
    return DefinitionRefused(message, problems=list(dict.fromkeys(problems)))


def _with_actual_types(document: TableDocument, schema: TableSchema) -> TableDocument:
    """Return the document with the types that nested columns have in the schema.

    The engine alone changes the inside of a column; the declaration then gets the resulting type.
    """

    def actual(column: ColumnSpec) -> ColumnSpec:
        found = schema.fields_by_name.get(column.name)
        if found is None or not found.type.is_nested:
            return column
        is_nullable = parse_type(column.type).nullable
        text = str(found.type.with_nullable(is_nullable))
        is_same = str(parse_type(column.type)) == text
        return column if is_same else column.model_copy(update={"type": text})

    columns = tuple(map(actual, document.table.columns))
    table = document.table.model_copy(update={"columns": columns})
    return document.model_copy(update={"table": table})


def _writers(before: TableDocument, after: TableDocument) -> Mapping[str, tuple[str, ...]]:
    """Return the streams that write a column and stay registered, by the column's name before the change."""
    found: dict[str, tuple[str, ...]] = {}
    for name, entry in before.streams.items():
        if name in after.streams:
            for column in entry.spec.column_names:
                found[column] = (*found.get(column, ()), name)
    return found


def _check_dropped(
    before: TableDocument,
    after: TableDocument,
    old: TableSchema,
    new: TableSchema | None,
    origin: Origin,
) -> Iterator[FieldProblem]:
    """Yield the dropped columns that a stream writes.

    Args:
        before: The newest document.
        after: The document after the change.
        old: The newest schema.
        new: The schema after the change, whose field ids distinguish dropped columns from renamed
            ones; None if the engine has refused the change: names decide then.
        origin: The requested changes, to locate problems.
    """
    kept = None if new is None else {column.id for column in new.fields}
    declared = {column.name for column in after.table.columns}
    for column, streams in _writers(before, after).items():
        found = old.fields_by_name.get(column)
        if found is None or column in old.primary_keys:
            continue
        is_dropped = found.id not in kept if kept is not None else column not in declared
        for stream in streams:
            if is_dropped and column in after.streams[stream].spec.column_names:
                yield column_problem(
                    origin,
                    column,
                    "column",
                    value=column,
                    message=f"the stream `{stream}` writes this column",
                    hint=_DROP_HINT
                    if before.table.merge_engine is MergeEngine.PARTIAL_UPDATE
                    else "register the stream without the column first",
                )


def _check_types(
    before: TableDocument,
    after: TableDocument,
    old: TableSchema,
    new: TableSchema,
    origin: Origin,
) -> Iterator[FieldProblem]:
    types = {column.id: column for column in new.fields}
    for column, streams in _writers(before, after).items():
        found = old.fields_by_name.get(column)
        changed = None if found is None else types.get(found.id)
        if found is None or changed is None or is_safe_widening(found.type, changed.type):
            continue
        yield column_problem(
            origin,
            changed.name,
            "type",
            value=str(changed.type),
            message=f"the type cannot change from {found.type} while streams write the column "
            f"({quoted_list(streams)}): values would be lost or misread",
            hint="widen the type, such as INT to BIGINT, or add a column of another name",
        )


def _check_rules(
    before: TableDocument, after: TableDocument, origin: Origin
) -> Iterator[FieldProblem]:
    # Rules may have become stricter since the table was declared: only new problems count.
    known = set(check_table(before.database, before.name, before.table))
    found = [p for p in check_table(after.database, after.name, after.table) if p not in known]
    yield from (table_problem(problem, origin, after.table) for problem in found)
    if found:  # The rules for streams require a valid table.
        return
    old, new = _specs(before), _specs(after)
    for name, spec in new.items():
        known = set(check_stream(before.table, old, old[name])) if name in old else set()
        for problem in check_stream(after.table, new, spec):
            if problem not in known:
                yield stream_problem(problem, name, origin)


def _with_versions(
    before: TableDocument, after: TableDocument, old: TableSchema, new: TableSchema
) -> TableDocument:
    """Return the document with a new version of each stream that writes otherwise than before."""

    def with_version(name: str, entry: StreamEntry) -> StreamEntry:
        known = before.streams.get(name)
        if known is None or (
            _written(before.table, known.spec, old) == _written(after.table, entry.spec, new)
        ):
            return entry
        return entry.model_copy(update={"version": known.version + 1})

    streams = {name: with_version(name, entry) for name, entry in after.streams.items()}
    return after.model_copy(update={"streams": streams})


def _written(table: TableSpec, stream: StreamSpec, schema: TableSchema) -> object:
    """Return all that a runner's query of the stream depends on; comments of columns are left out."""
    columns = stream_columns(table, stream)
    found = [schema.fields_by_name.get(name) for name in columns.written]
    fields = [None if one is None else replace(one, description=None) for one in found]
    return stream, columns, fields


def _specs(document: TableDocument) -> dict[str, StreamSpec]:
    return {name: entry.spec for name, entry in document.streams.items()}
