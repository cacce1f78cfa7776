"""Columns of a table that a stream writes, and their sources.

Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from braid.formats.mapped_column import ISO, MappedColumn, TimeFormat
from braid.lake import DataType, parse_type
from braid.registry.layout.physical_table import PhysicalGroup, physical_group
from braid.schemas import (
    ColumnSource,
    OnMissing,
    StreamColumn,
    StreamSpec,
    TableSpec,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamColumns:
    """The columns of its table that a stream writes, and their sources.

    Attributes:
        key: The table's primary key; all of its columns are in `mapped`.
        mapped: Columns with the source of each: a field of the value or of the Kafka key, another part of the
            record, an expression or a constant.
        group: The group that the stream owns; None when it owns none.
        partition_column: The column filled with Kafka's partition; None without a group.
        offset_column: The column filled with generation and Kafka's offset; None without a group.
        at_column: The column filled with Kafka's timestamp; None without tracking.
        op_column: The column filled with `upsert` or `clear`; None without tracking.
        on_missing: What the stream does with records without a column's field, by column; a column that is
            not named reads null.
        written: All of the above in the table's order; every other column stays null.
    """

    key: tuple[str, ...]
    mapped: tuple[StreamColumn, ...]
    group: PhysicalGroup | None
    partition_column: str | None
    offset_column: str | None
    at_column: str | None
    op_column: str | None
    on_missing: Mapping[str, OnMissing]
    written: tuple[str, ...]


def mapped_column(mapping: StreamColumn, data_type: DataType) -> MappedColumn:
    """Return a column as it is read from records.

    Args:
        mapping: The column as its stream maps it.
        data_type: Its type in the table.
    """
    has_format = mapping.time_format is not None or mapping.time_zone is not None
    return MappedColumn(
        name=mapping.column,
        path=() if mapping.expression is not None else mapping.source_path,
        type=data_type,
        source=mapping.source,
        time_format=TimeFormat(mapping.time_format or ISO, mapping.time_zone)
        if has_format
        else None,
        expression=mapping.expression,
        constant=mapping.constant,
        default=mapping.default,
    )


def expression_fields(
    stream: StreamSpec, columns: Iterable[MappedColumn]
) -> tuple[MappedColumn, ...]:
    """Return the fields that expressions of a stream can use: those that columns are read from, and the declared ones.

    Args:
        stream: The stream; the types of its `fields` are types.
        columns: Its columns.
    """
    read = [column for column in columns if column.source is ColumnSource.VALUE]
    declared = [
        MappedColumn(
            name=address,
            path=tuple(address.split(".")),
            type=parse_type(sql).with_nullable(True),
            is_in_expression=True,
        )
        for address, sql in stream.fields.items()
    ]
    return (*read, *declared)


def stream_columns(table: TableSpec, stream: StreamSpec) -> StreamColumns:
    """Return the columns that the stream writes.

    Requires:
        The stream has been admitted to the table: `braid.registry.rules.stream_rules` finds no problem.
    """
    spec = table.sequence_group(stream.sequence_group) if stream.sequence_group else None
    group = None if spec is None else physical_group(spec, tracking=table.tracking)
    kept = frozenset(() if spec is None else spec.keep)
    generated = {} if group is None else group.generated_columns
    mapped = set(stream.column_names)
    assert mapped.issuperset(table.primary_key), "an admitted stream maps the whole key"
    return StreamColumns(
        key=table.primary_key,
        mapped=stream.columns,
        group=group,
        partition_column=None if group is None else group.partition_column,
        offset_column=None if group is None else group.offset_column,
        at_column=None if group is None else group.at_column,
        op_column=None if group is None else group.op_column,
        on_missing={
            column.column: effect
            for column in stream.columns
            if (effect := _on_missing(column, kept)) is not OnMissing.NULL
        },
        written=(*(name for name in table.column_names if name in mapped), *generated),
    )


def _on_missing(column: StreamColumn, kept: frozenset[str]) -> OnMissing:
    if column.on_missing is not None:
        return column.on_missing
    if column.default is not None or column.source is ColumnSource.CONSTANT:
        return OnMissing.NULL  # every record has a value
    return OnMissing.KEEP if column.column in kept else OnMissing.NULL
