"""A change of a registered table as a whole: the declaration, its streams, and the table's schema.

A plan says what the declaration and the streams are to be, and which changes of columns the engine is
to make. The rest follows: options that the declaration speaks for, the types of nested columns, which
streams have something to follow. What comes of it is judged by the rules for new tables and streams,
by the engine, and by these:

1. A column that a stream writes is not dropped.
2. The type of a column that a stream writes is only widened, so that the stream can follow
   (`type_widening`), and no field inside of it goes or is renamed.
3. A sequence group is added over columns that are new in the same request, or to a table without
   rows (`added_groups`).
4. A table from before arrival completed every order gets the columns of it (`arrival_columns`).
5. In the end the table has what is declared: every column, with its type, and every option.

What was wrong before and is not made worse is no reason to refuse.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lake import (
    ChangeProblem,
    InvalidRequest,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    Table,
    TableNotFound,
    TableSchema,
    parse_type,
    rename_in_options,
)
from registry.alteration.added_groups import check_added_groups
from registry.alteration.arrival_columns import actual_options, added_columns, check_names
from registry.alteration.change_locations import (
    Origin,
    column_problem,
    engine_problem,
    stream_problem,
    table_problem,
)
from registry.alteration.type_widening import is_safe_widening
from registry.errors import DefinitionRefused
from registry.layout.physical_table import physical_groups, physical_table
from registry.layout.stream_columns import stream_columns
from registry.rules.stream_rules import check_stream
from registry.rules.table_rules import check_table
from schemas import (
    ColumnSpec,
    FieldProblem,
    MergeEngine,
    StreamEntry,
    StreamSpec,
    TableDocument,
    TableSpec,
)

_DROP_HINT: Final = (
    "stop and delete the stream, drop the column, and register the stream again: it goes on where "
    "it was"
)

_OWN_OPTION: Final = "braid."


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """What a table is to become.

    Attributes:
        document: With the declaration and the specs of the streams as they are to be; the types of
            nested columns may be as before.
        changes: Of columns and the comment, for the engine; each sees what those before have made.
        origin: Where in the request they come from.
    """

    document: TableDocument
    changes: tuple[SchemaChange, ...] = ()
    origin: Origin = field(default_factory=Origin)


AlterationPlan = Callable[[TableDocument, TableSchema], Alteration]
"""Made for the newest document and schema, anew at every attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAlteration:
    """What a table becomes: nothing is wrong with it.

    Attributes:
        document: The document once the schema is there.
        schema: The schema to publish; the table's own when it does not change.
    """

    document: TableDocument
    schema: TableSchema


def with_actual_buckets(document: TableDocument, schema: TableSchema) -> TableDocument:
    """Return the document with the bucket count that a rescale has given the table."""
    count = schema.options.get("bucket", "")
    if not count.isdigit() or int(count) == document.table.buckets:
        return document
    table = document.table.model_copy(update={"buckets": int(count)})
    return document.model_copy(update={"table": table})


def check_alteration(
    before: TableDocument, table: Table, alteration: Alteration
) -> CheckedAlteration:
    """Return what the alteration makes of a table; changes nothing.

    Args:
        before: The newest document.
        table: Its table; the engine looks for the newest schema.
        alteration: What is to become of it.

    Raises:
        DefinitionRefused: Rules are broken; `problems` has all of them.
        TableNotFound: The table is gone.
    """
    old, origin = table.schema, alteration.origin
    wanted = alteration.document
    # Before the engine is asked, which would find a name that is there twice, and not say why.
    _refuse(before, [*check_names(before.table, wanted.table, old, origin)])
    options = _option_changes(before.table, wanted.table, old, alteration.changes)
    arrival = added_columns(before.table, old)
    try:
        new = table.plan_alter(*alteration.changes, *arrival, *options)
    except TableNotFound:
        raise
    except InvalidRequest as error:
        if not error.problems:
            raise
        problems = [
            *(
                engine_problem(p, origin, wanted.table)
                for p in error.problems
                if isinstance(p, ChangeProblem)
            ),
            *_check_dropped(before, wanted, old, None, origin),
        ]
        # What is wrong with the result is said better by the rules for declarations.
        problems = problems or [*_check_rules(before, wanted, origin)]
        problems = problems or [engine_problem(p, origin, wanted.table) for p in error.problems]
        raise _refusal(before, problems) from error
    after = _with_actual_types(wanted, new)
    _refuse(
        before,
        [
            *_check_dropped(before, after, old, new, origin),
            *_check_types(before, after, old, new, origin),
        ],
    )
    problems = [*_check_rules(before, after, origin)]
    if _has_rows(table):
        problems += check_added_groups(before, after, old, new, origin)
    _refuse(before, problems)
    _refuse(before, [*_check_agreement(after, new, origin)])
    return CheckedAlteration(document=_with_versions(before, after, old, new), schema=new)


def _option_changes(
    before: TableSpec, after: TableSpec, schema: TableSchema, changes: Sequence[SchemaChange]
) -> tuple[SchemaChange, ...]:
    """Return the changes of options that follow from another declaration.

    Args:
        before: As declared now.
        after: As it is to be.
        schema: As it is. A table from before this version lacks options of ours that its
            declaration stands for by now, and may lack arrival in its groups; it gets both.
        changes: Those before, of which the engine carries renames into options by itself.
    """
    old, new = dict(physical_table(before).options), physical_table(after).options
    for key in [key for key in old if _OWN_OPTION in key and key not in schema.options]:
        del old[key]
    for group in physical_groups(before):
        del old[group.option[0]]
    old |= actual_options(before, schema)
    for change in changes:
        if isinstance(change, RenameColumn) and len(change.path) == 1:
            old = rename_in_options(old, change.path[0], change.name)
    removed = [RemoveOption(key=key) for key in old if key not in new]
    written = [SetOption(key=key, value=new[key]) for key in new if old.get(key) != new[key]]
    return (*removed, *written)


def _has_rows(table: Table) -> bool:
    snapshot = table.latest_snapshot()
    return snapshot is not None and snapshot.total_record_count > 0


def _refuse(before: TableDocument, problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise _refusal(before, problems)


def _refusal(before: TableDocument, problems: Sequence[FieldProblem]) -> DefinitionRefused:
    message = f"the schema of {before.identifier} cannot be changed as asked"
    return DefinitionRefused(message, problems=list(dict.fromkeys(problems)))


def _with_actual_types(document: TableDocument, schema: TableSchema) -> TableDocument:
    """Return the document with the types that changes inside of columns have made."""

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
    """Return by column, as it was called, the streams that write it and go on with it."""
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
    """Yield the columns that go although a stream writes them.

    Args:
        before: The newest document.
        after: As it is to be.
        old: The newest schema.
        new: What becomes of it; None where the engine has refused that: then names decide.
        origin: Of the changes.
    """
    kept = None if new is None else {column.id for column in new.fields}
    declared = {column.name for column in after.table.columns}
    for column, streams in _writers(before, after).items():
        found = old.fields_by_name.get(column)
        if found is None or column in old.primary_keys:
            continue
        is_gone = found.id not in kept if kept is not None else column not in declared
        for stream in streams:
            if is_gone and column in after.streams[stream].spec.column_names:
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
        listed = ", ".join(f"`{stream}`" for stream in streams)
        yield column_problem(
            origin,
            changed.name,
            "type",
            value=str(changed.type),
            message=f"a stream that writes the column cannot follow from {found.type}: {listed}; "
            "values would be lost or misread",
            hint="widen the type, such as INT to BIGINT, or add a column of another name",
        )


def _check_rules(
    before: TableDocument, after: TableDocument, origin: Origin
) -> Iterator[FieldProblem]:
    known = set(check_table(before.database, before.name, before.table))
    found = [p for p in check_table(after.database, after.name, after.table) if p not in known]
    yield from (table_problem(problem, origin, after.table) for problem in found)
    if found:  # Streams are judged by a table that is right in itself.
        return
    old, new = _specs(before), _specs(after)
    for name, spec in new.items():
        known = set(check_stream(before.table, old, old[name])) if name in old else set()
        for problem in check_stream(after.table, new, spec):
            if problem not in known:
                yield stream_problem(problem, name, origin)


def _check_agreement(
    after: TableDocument, schema: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    definition = physical_table(after.table)
    for column in definition.columns:
        found = schema.fields_by_name.get(column.name)
        if found is None or str(found.type) != str(column.type):
            yield column_problem(
                origin,
                column.name,
                "column",
                value=column.name,
                message="the table has "
                + ("no such column" if found is None else f"this column as {found.type}")
                + f", and declared is {column.type}: it was changed without the registry",
                hint="change the table back where it was changed, then here",
            )
    for key, value in definition.options.items():
        if schema.options.get(key) != value:
            yield FieldProblem(
                pointer=None,
                field=f"table.options.{key}",
                value=schema.options.get(key),
                message=f"declared is `{value}`: the table was changed without the registry",
                hint="change the table back where it was changed, then here",
            )


def _with_versions(
    before: TableDocument, after: TableDocument, old: TableSchema, new: TableSchema
) -> TableDocument:
    """Return the document with a new version of each stream that has something to follow."""

    def grown(name: str, entry: StreamEntry) -> StreamEntry:
        known = before.streams.get(name)
        if known is None or (
            _what_is_written(before.table, known.spec, old)
            == _what_is_written(after.table, entry.spec, new)
        ):
            return entry
        return entry.model_copy(update={"version": known.version + 1})

    streams = {name: grown(name, entry) for name, entry in after.streams.items()}
    return after.model_copy(update={"streams": streams})


def _what_is_written(table: TableSpec, stream: StreamSpec, schema: TableSchema) -> object:
    columns = stream_columns(table, stream)
    found = [schema.fields_by_name.get(name) for name in columns.written]
    unnamed = [None if one is None else replace(one, description=None) for one in found]
    return stream, columns, unnamed


def _specs(document: TableDocument) -> dict[str, StreamSpec]:
    return {name: entry.spec for name, entry in document.streams.items()}
