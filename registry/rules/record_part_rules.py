"""Rules for columns that are read from a part of the record other than its key and value.

Pure. The parts are the headers, the timestamp, the partition, the offset and the topic. Captured changes also have the event
around the row, and its log position.

1. The type of a column holds the values of its part.
2. Only a header and a field of an event have a `path`, which is their name, and can have a time format.
3. Of these parts, only headers and the topic fill key columns. The other parts differ between records of the same row, so an
   event that is sent again would become another row.
4. Partition, offset and topic are not ordering columns. Offsets of two partitions cannot be compared, and offsets begin again
   at 0 when a topic is deleted and created again. The order of arrival compares them together with a generation.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from braid.lake import DataType, TypeRoot
from braid.registry.layout.column_functions import sequence_fields
from braid.registry.layout.declared_types import declared_type
from braid.schemas import ColumnSource, FieldProblem, StreamSpec, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

HEADER_NAME_LENGTH_MAX: Final = 1_000  # characters; Kafka's own bound is the record's

_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_TYPES: Final[Mapping[ColumnSource, tuple[TypeRoot, ...]]] = {
    ColumnSource.TIMESTAMP: (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ, TypeRoot.BIGINT),
    ColumnSource.PARTITION: (TypeRoot.INT, TypeRoot.BIGINT),
    ColumnSource.OFFSET: (TypeRoot.BIGINT,),
    ColumnSource.TOPIC: _TEXTS,
    ColumnSource.CHANGE_POSITION: (TypeRoot.VARBINARY,),
}
_SHOWN: Final = {
    ColumnSource.TIMESTAMP: "TIMESTAMP(3), with or without LOCAL TIME ZONE, or BIGINT for milliseconds",
    ColumnSource.PARTITION: "INT",
    ColumnSource.OFFSET: "BIGINT",
    ColumnSource.TOPIC: "STRING",
    ColumnSource.CHANGE_POSITION: "BYTES",
}
_POSITION_BYTES: Final = 100
"""A position has at most so many bytes."""
_OF_KEYS: Final = (
    ColumnSource.VALUE,
    ColumnSource.KEY,
    ColumnSource.HEADER,
    ColumnSource.TOPIC,
)
_PLACE: Final = (ColumnSource.PARTITION, ColumnSource.OFFSET, ColumnSource.TOPIC)


def part_misfit(source: ColumnSource, data_type: DataType, *, topic: str) -> tuple[str, str] | None:
    """Return why a column of a type cannot be read from a part of the record, with a hint; None: it can.

    Args:
        source: The part.
        data_type: The column's type.
        topic: The stream's topic.
    """
    types = _TYPES.get(source)
    if types is None:
        return None
    shown = f"declare the column as {_SHOWN[source]}"
    if data_type.root not in types:
        return f"the {source.value} of a record cannot fill a column of type {data_type}", shown
    if source is ColumnSource.TOPIC and len(topic) > (data_type.length or len(topic)):
        return f"the name of the topic, `{topic}`, does not fit {data_type}", shown
    if source is ColumnSource.CHANGE_POSITION and (data_type.length or 0) < _POSITION_BYTES:
        return f"the position of a change does not fit {data_type}", shown
    return None


def check_record_parts(table: TableSpec, stream: StreamSpec) -> Iterator[FieldProblem]:
    """Yield the problems of columns that are read from parts of the record other than its key and value."""
    group = table.sequence_group(stream.sequence_group) if stream.sequence_group else None
    ordering = {*((group.ordering or ()) if group else ()), *sequence_fields(table)}
    for index, mapping in enumerate(stream.columns):
        source = mapping.source
        if source.is_message or source is ColumnSource.CONSTANT:
            continue
        if mapping.path is not None and source is not ColumnSource.CHANGE:
            yield from _check_name(source, mapping.path, index)
        is_text = source in (ColumnSource.HEADER, ColumnSource.CHANGE)
        if not is_text and (mapping.time_format or mapping.time_zone):
            yield problem_at(
                "columns",
                index,
                "time_format" if mapping.time_format else "time_zone",
                value=mapping.time_format or mapping.time_zone,
                message=f"the {source.value} of a record is not a text, so this has no effect",
                hint="leave it out",
            )
        data_type = declared_type(table, mapping.column)
        misfit = None
        if data_type is not None:
            misfit = part_misfit(source, data_type, topic=stream.topic)
        if misfit is not None:
            message, hint = misfit
            yield problem_at(
                "columns", index, "column", value=mapping.column, message=message, hint=hint
            )
        problem = None
        if mapping.column in table.primary_key:
            problem = _why_no_key(source)
        elif mapping.column in ordering and source in _PLACE:
            problem = (
                f"the {source.value} of a record does not order records: offsets are compared within a "
                "partition only, and begin at 0 again in a topic that is deleted and created again",
                "leave the column out of the ordering: arrival, with partition and offset, completes the "
                "order anyway, and is the whole order of a group without `ordering`",
            )
        if problem is not None:
            message, hint = problem
            yield problem_at(
                "columns", index, "source", value=source.value, message=message, hint=hint
            )


def _check_name(source: ColumnSource, name: str, index: int) -> Iterator[FieldProblem]:
    path = ("columns", index, "path")
    if source is not ColumnSource.HEADER:
        yield problem_at(
            *path,
            value=name,
            message=f"the {source.value} of a record has no fields",
            hint="leave `path` out",
        )
    elif len(name) > HEADER_NAME_LENGTH_MAX:
        yield problem_at(
            *path,
            value=name,
            message=f"the name of a header has at most {HEADER_NAME_LENGTH_MAX} characters, this one has {len(name)}",
            hint="use a shorter name",
        )


def _why_no_key(source: ColumnSource) -> tuple[str, str] | None:
    if source in _OF_KEYS:
        return None
    return (
        f"the {source.value} of a record tells records apart, not rows: an event that is sent again would "
        "be another row",
        f"read key columns from {quoted_list([one.value for one in _OF_KEYS])}",
    )
