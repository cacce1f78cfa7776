"""Rules for the kinds of a stream's records: records of other streams, deletes, tombstones.

Pure.

1. Conditions (`where`, `delete_when`) can be parsed and evaluated, over fields that messages of the format have, and
   that are not too deep.
2. A stream declares the effect of deletes if, and only if, it has deletes. `ignore` and `dead_letter` are allowed in every
   table. Every other effect has to be the one that the table declares (`delete_rules`): such a delete is written with the kind
   -D, and the table's options decide about its effect. The same applies to tombstones.
3. The effect of a delete does not depend on late records: `remove_row` of a stream has the rules of the table's
   `deletes: remove_row`, even if the table's engine removes rows without a declaration. The table may accept the risk
   (`unordered: allowed`).
4. A tombstone has no value. So tombstones can delete only if all columns that a delete needs, such as key and ordering
   columns, are read from the Kafka key, a header or another part that a record without a value has.
"""

from collections.abc import Iterator, Sequence

from braid.formats.mapped_column import MappedColumn
from braid.formats.record_conditions import record_conditions
from braid.lake import InvalidRequest
from braid.registry.layout.column_functions import sequence_fields
from braid.registry.layout.declared_types import parsed_type
from braid.registry.layout.delete_options import deletes_of_stream
from braid.registry.layout.stream_columns import mapped_column
from braid.registry.rules.computed_column_rules import declared_fields
from braid.registry.rules.format_rules import unreadable_fields
from braid.registry.rules.mapping_rules import PATH_PARTS_MAX
from braid.registry.rules.tables.delete_rules import ROW_KIND_FIELD, why_removal_harms
from braid.schemas import (
    ColumnSource,
    Deletes,
    FieldProblem,
    MergeEngine,
    OnDelete,
    StreamSpec,
    TableSpec,
    Unordered,
    has_row_image,
)
from braid.schemas.field_problems import problem_at, quoted_list

_OTHERWISE = "or use `ignore` or `dead_letter`"


def check_record_kinds(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream's conditions, deletes and tombstones.

    Args:
        table: The stream's table, which breaks no rule for tables.
        stream: The completed stream.
    """
    if not stream.tells_kinds and stream.on_delete is None:
        return
    yield from _check_conditions(table, stream)
    has_deletes = stream.delete_when is not None or stream.captures_changes or stream.is_from_spark
    if not has_deletes and stream.on_delete is not None:
        yield problem_at(
            "on_delete",
            value=stream.on_delete.value,
            message="no record is a delete: the stream has no `delete_when`",
            hint="declare `delete_when`, such as `op = 'd'`; for records without a value declare `on_tombstone`",
        )
    elif has_deletes and stream.on_delete is None:
        yield problem_at(
            "on_delete",
            message=f"the effect of deletes has to be declared: {_undeclared(table, stream)}",
            hint="use `ignore` or `dead_letter`, or declare `deletes` in the table",
        )
    if stream.on_delete is not None:
        yield from _check_effect(table, stream, "on_delete", stream.on_delete)
    yield from _check_effect(table, stream, "on_tombstone", stream.on_tombstone)
    if stream.on_tombstone.deletes:
        yield from _check_tombstones(table, stream)


def _check_conditions(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    types = {column.name: parsed_type(column.type) for column in table.columns}
    columns = [
        mapped_column(one, data_type)
        for one in stream.columns
        # Of captured changes, conditions are about the event around the row.
        if not (one.source is ColumnSource.VALUE and has_row_image(stream.format))
        and (data_type := types.get(one.column)) is not None
    ]
    columns += declared_fields(stream)
    try:
        conditions = record_conditions(stream.where, stream.delete_when, columns)
    except InvalidRequest as error:
        for one in error.problems:
            yield problem_at(one.field, value=one.value, message=one.message, hint=one.hint)
        return
    found = [
        *_too_deep((*conditions.fields, *conditions.parts)),
        *unreadable_fields(stream.format, conditions.fields),
    ]
    texts = {"where": conditions.where, "delete_when": conditions.delete_when}
    for name, condition in texts.items():
        used = {one.column for one in condition}
        for field, message, hint in found:
            if field.name in used:
                yield problem_at(name, value=field.name, message=message, hint=hint)


def _too_deep(fields: Sequence[MappedColumn]) -> Iterator[tuple[MappedColumn, str, str]]:
    for field in fields:
        if len(field.path) > PATH_PARTS_MAX:
            message = f"a path has at most {PATH_PARTS_MAX} names, this one has {len(field.path)}"
            yield field, message, "use a field that is less deep"


def _check_effect(
    table: TableSpec, stream: StreamSpec, field: str, declared: OnDelete
) -> Iterator[FieldProblem]:
    """Yield the problem of an effect that the table does not have."""
    if not declared.deletes:
        return
    deletes = deletes_of_stream(table, stream.sequence_group)
    if deletes is None:
        yield problem_at(
            field,
            value=declared.value,
            message=_undeclared(table, stream),
            hint=_hint(table, declared),
        )
    elif deletes.value != declared.value:
        place = (
            "the table" if stream.sequence_group is None else f"the group `{stream.sequence_group}`"
        )
        yield problem_at(
            field,
            value=declared.value,
            message=f"deletes of {place} have the effect `{deletes.value}`",
            hint=_hint_for(table, deletes, declared),
        )
    elif deletes is Deletes.REMOVE_ROW and table.unordered is not Unordered.ALLOWED:
        why = why_removal_harms(table)
        if why is not None:
            yield problem_at(
                field,
                value=declared.value,
                message=why,
                hint=f"accept the risk for the table with `unordered: allowed`, {_OTHERWISE}",
            )


def _undeclared(table: TableSpec, stream: StreamSpec) -> str:
    is_partial = table.merge_engine is MergeEngine.PARTIAL_UPDATE
    if is_partial and table.sequence_groups and stream.sequence_group is None:
        return "the stream owns no sequence group, so its deletes would have no effect"
    return "the table does not declare what a delete does to its rows (`deletes`)"


def _hint(table: TableSpec, declared: OnDelete) -> str:
    if table.merge_engine is MergeEngine.PARTIAL_UPDATE and not table.sequence_groups:
        return f"declare `deletes: remove_row` in the table, {_OTHERWISE}"
    return f"declare `deletes: {declared.value}` in the table or the sequence group, {_OTHERWISE}"


def _hint_for(table: TableSpec, deletes: Deletes, declared: OnDelete) -> str:
    if deletes is Deletes.IGNORE or table.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        return f"use `{deletes.value}` or `dead_letter`"
    return f"use `{deletes.value}`, or declare `deletes: {declared.value}` in the table"


def _check_tombstones(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    sources = {mapping.column: mapping.source for mapping in stream.columns}
    in_value = {
        name for name, source in sources.items() if source.is_in_value or source.is_of_change
    }
    key = [name for name in table.primary_key if name in in_value]
    if key:
        yield _tombstone_problem(
            stream,
            f"a tombstone has no value, but the key columns {quoted_list(key)} are read from the value",
            'read the key from the Kafka key: {"column": "'
            f'{key[0]}", "source": "key"}}, {_OTHERWISE}',
        )
    group = table.sequence_group(stream.sequence_group) if stream.sequence_group else None
    declared = (*((group.ordering or ()) if group else ()), *sequence_fields(table))
    ordering = [name for name in declared if name in in_value]
    if ordering:
        yield _tombstone_problem(
            stream,
            f"a tombstone has no value, but {quoted_list(ordering)}, which order the records, are read "
            "from the value",
            "send deletes with a value and declare `delete_when`, order the group by arrival (no "
            f"`ordering`) or by the record's `timestamp` or a `header`, {_OTHERWISE}",
        )
    retained = () if table.delete_retention is None else table.delete_retention.columns or ()
    kept = [name for name in retained if name in in_value]
    if kept and stream.on_tombstone is OnDelete.REMOVE_ROW:
        yield _tombstone_problem(
            stream,
            f"a tombstone has no value, but {quoted_list(kept)}, which hold the time of a delete, are read "
            "from the value",
            "leave the `columns` of `delete_retention` out, read them from the record's `timestamp` or a "
            f"`header`, {_OTHERWISE}",
        )
    needed = [
        column.name
        for column in table.columns
        if column.name in in_value
        and column.name not in table.primary_key
        and column.name != table.options.get(ROW_KIND_FIELD)
        and (data_type := parsed_type(column.type)) is not None
        and not data_type.nullable
    ]
    if needed:
        yield _tombstone_problem(
            stream,
            f"a tombstone has no value, but the columns {quoted_list(needed)} are NOT NULL",
            f"declare them without NOT NULL, {_OTHERWISE}",
        )


def _tombstone_problem(stream: StreamSpec, message: str, hint: str) -> FieldProblem:
    return problem_at("on_tombstone", value=stream.on_tombstone.value, message=message, hint=hint)
