"""Rules for streams of captured changes (Debezium, Maxwell, Canal).

Pure.

1. The sources `change` and `change_position` are only for captured changes: `change` for messages with an event around the
   row, and `change_position` for messages with a log position, which messages of Canal do not have.
2. The event says whether it is a delete, so `delete_when` is refused. The tombstone after a delete deletes nothing, unless
   the events are unwrapped.
3. No column is read from the Kafka keys of Maxwell and Canal, because only the row shows a change of the key.
4. PostgreSQL and Oracle may leave large values out of a change (`unavailable_value`). So each column of a text, of bytes or
   of a nested type is kept by its sequence group, or declares `on_missing`, unless it is a key or ordering column. A stream
   that adds columns (`on_new_field: evolve`) needs a group, which keeps such columns. In Avro their placeholder is no JSON, so no
   VARIANT is read from them.
"""

from collections.abc import Iterator

from braid.lake import holds_variant
from braid.registry.layout.column_functions import sequence_fields
from braid.registry.layout.declared_types import declared_type
from braid.registry.layout.left_out_values import is_large, leaves_out_values
from braid.schemas import (
    CanalFormat,
    ColumnSource,
    DebeziumFormat,
    FieldProblem,
    MaxwellFormat,
    OnNewField,
    StreamColumn,
    StreamSpec,
    TableSpec,
    has_row_image,
)
from braid.schemas.field_problems import problem_at


def check_change_capture(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of a stream of captured changes, and of sources that only such a stream has.

    Args:
        table: The stream's table.
        stream: The completed stream.
    """
    yield from _check_sources(stream)
    if not stream.captures_changes:
        return
    if stream.delete_when is not None:
        yield problem_at(
            "delete_when",
            value=stream.delete_when,
            message="each event of a captured change says itself whether it is a delete",
            hint="leave it out; `on_delete` says what deletes do",
        )
    if stream.on_tombstone.deletes and has_row_image(stream.format):
        yield problem_at(
            "on_tombstone",
            value=stream.on_tombstone.value,
            message="a tombstone repeats the delete before it, without its place in the order",
            hint="use `ignore`, which is the default here; the event of the delete deletes",
        )
    yield from _check_unavailable(table, stream)


def _check_sources(stream: StreamSpec) -> Iterator[FieldProblem]:
    declared = stream.format
    for index, mapping in enumerate(stream.columns):
        problem = None
        if mapping.source.is_of_change and not stream.captures_changes:
            problem = (
                f"messages of the format `{declared.type}` are rows, not change events",
                "declare the format `debezium`, `maxwell` or `canal`",
            )
        elif mapping.source is ColumnSource.CHANGE and not has_row_image(declared):
            problem = (
                "an unwrapped event has its own fields beside the fields of the row",
                "leave `source` out, and read a field such as `__source_ts_ms`",
            )
        elif mapping.source is ColumnSource.CHANGE_POSITION and isinstance(declared, CanalFormat):
            problem = (
                "Canal's messages do not have the position of a change in the log",
                "order the group by arrival: leave `ordering` out of it, and declare `partitioned_by_key`",
            )
        elif mapping.source is ColumnSource.KEY and isinstance(
            declared, MaxwellFormat | CanalFormat
        ):
            problem = (
                "a change of the key is one message about two keys, and its Kafka key is only one of them",
                "leave `source` out: the key is read from the row",
            )
        if problem is not None:
            message, hint = problem
            yield problem_at(
                "columns", index, "source", value=mapping.source.value, message=message, hint=hint
            )


def _check_unavailable(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    declared = stream.format
    if not isinstance(declared, DebeziumFormat) or not leaves_out_values(declared):
        return
    group = None if stream.sequence_group is None else table.sequence_group(stream.sequence_group)
    kept = () if group is None else group.keep
    ordering = {*((group.ordering or ()) if group else ()), *sequence_fields(table)}
    safe = {*table.primary_key, *ordering, *kept}
    name = declared.database.value
    for index, mapping in enumerate(stream.columns):
        data_type = declared_type(table, mapping.column)
        if declared.messages != "json" and data_type is not None and holds_variant(data_type):
            yield problem_at(
                "columns",
                index,
                value=mapping.column,
                message=f"a change event from {name} in Avro may have `{declared.unavailable_value}` instead of a "
                "large value, which is no JSON, so a VARIANT cannot be read from it",
                hint="declare the column as STRING, or read messages in JSON",
            )
        if _can_be_left_out(table, mapping) and mapping.column not in safe:
            yield problem_at(
                "columns",
                index,
                "on_missing",
                value=mapping.column,
                message=f"a change event from {name} may leave out a large value that has not changed "
                f"(`{declared.unavailable_value}`), and `{mapping.column}` is not kept, so the row would lose the value",
                hint="name the column in `keep` of its sequence group when the table is declared, or declare "
                "`on_missing: null` or `reject`",
            )
    if stream.on_new_field is OnNewField.EVOLVE and group is None:
        yield problem_at(
            "on_new_field",
            value=stream.on_new_field,
            message=f"a change event from {name} may leave out a large value that has not changed "
            f"(`{declared.unavailable_value}`), so a new column of texts, bytes, lists or objects has to be kept; "
            "only columns of a sequence group can be kept, and the stream has no sequence group",
            hint="use `ignore` or `reject`, or a partial-update table with a sequence group for the stream",
        )


def _can_be_left_out(table: TableSpec, mapping: StreamColumn) -> bool:
    if mapping.source is not ColumnSource.VALUE or mapping.on_missing is not None:
        return False
    data_type = declared_type(table, mapping.column)
    return data_type is not None and is_large(data_type)
