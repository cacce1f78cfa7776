"""Plan of a stream: columns, conditions and rules for its records, derived from its declaration and the table's schema.

`plan_stream` checks again that the declaration fits the schema, because another engine may have changed the schema
since the stream was registered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from braid.formats.mapped_column import MappedColumn
from braid.formats.part_conditions import parse_condition, source_of
from braid.formats.record_conditions import NO_CONDITIONS, RecordConditions, record_conditions
from braid.lake import (
    WHOLE_ROWS,
    InvalidRequest,
    MergeEngine,
    Problem,
    RowKind,
    TableSchema,
    TypeRoot,
    UnsupportedFeature,
    ValueChecks,
)
from braid.records.expression_columns import columns_in_expressions
from braid.registry.layout.stream_columns import (
    StreamColumns,
    expression_fields,
    mapped_column,
    stream_columns,
)
from braid.registry.rules.arrival_rules import (
    is_keyed,
    needs_keyed_partitions,
    shows_older_rows,
)
from braid.registry.rules.json_types import HINT, unreadable_in_json
from braid.registry.rules.record_part_rules import part_misfit
from braid.registry.rules.time_format_rules import why_no_times
from braid.schemas import ColumnSource, OnNullOrdering, StreamSpec, TableSpec, has_row_image

_LONG: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.BINARY, TypeRoot.VARBINARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """One stream of one table, as its query reads and writes it.

    Attributes:
        table: `<database>.<table>`.
        spec: The stream as registered.
        columns: The columns that are filled from records, in the order of the declaration.
        written: All columns that the stream writes, generated ones included.
        ordering: Declared ordering columns; empty when arrival alone orders, or nothing does.
        generation: `restart_generation` of the stream's entry: the number of restarts requested.
        partition_keys: The table's partition columns.
        key_bytes_max: Largest total size of the texts and bytes of a key, in bytes.
        version: Version of the stream's entry in the registry.
        schema_id: Id of the schema that the types of `columns` come from.
        kind_column: The column that holds the row kind (`rowkind.field`); None: there is none.
        row_kinds: The admissible values of `kind_column`.
        paths_of_other_streams: Paths that other streams of the table read from the same topic, and those of
            this stream's conditions and expressions: their fields are no new fields.
        needs_keyed_partitions: Whether arrival alone orders the stream's records, so that all records of a
            row have to be in one partition.
        is_keyed: Whether the declaration says that all records of a row are in one partition.
        shows_older_rows: Whether rows are older than they were while the stream reads records again.
        checked_columns: Columns whose aggregate functions cannot read every value.
        conditions: The conditions of the stream over its records' fields.
        columns_in_expressions: Columns whose fields expressions of the stream use.
        delete_columns: Columns that are read from the records of deletes; every other column is null there.
    """

    table: str
    spec: StreamSpec
    columns: tuple[MappedColumn, ...]
    written: StreamColumns
    ordering: tuple[str, ...]
    generation: int = 0
    partition_keys: tuple[str, ...] = ()
    key_bytes_max: int = 64 << 10
    version: int = 1
    schema_id: int = 0
    paths_of_other_streams: tuple[tuple[str, ...], ...] = ()
    needs_keyed_partitions: bool = False
    is_keyed: bool = False
    shows_older_rows: bool = False
    checked_columns: tuple[str, ...] = ()
    conditions: RecordConditions = NO_CONDITIONS
    columns_in_expressions: frozenset[str] = frozenset()
    delete_columns: tuple[str, ...] = ()
    kind_column: str | None = None
    row_kinds: tuple[str, ...] = ()

    @property
    def value_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that are read from the record's value, or computed from its fields."""
        return tuple(column for column in self.columns if column.source.is_in_value)

    @property
    def field_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that are read from one field of the record's value each."""
        return self._columns_from(ColumnSource.VALUE)

    @property
    def fields(self) -> tuple[MappedColumn, ...]:
        """The fields that expressions of the stream can use."""
        return expression_fields(self.spec, self.columns)

    @property
    def key_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that are read from the record's Kafka key."""
        return self._columns_from(ColumnSource.KEY)

    @property
    def part_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that are read from headers, or from what Kafka knows of the record, or are constant."""
        return tuple(
            column
            for column in self.columns
            if not column.source.is_message and not column.source.is_of_change
        )

    @property
    def change_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that are read from the events around captured rows."""
        return self._columns_from(ColumnSource.CHANGE)

    @property
    def position_columns(self) -> tuple[MappedColumn, ...]:
        """The columns that get the positions of captured changes."""
        return self._columns_from(ColumnSource.CHANGE_POSITION)

    def _columns_from(self, source: ColumnSource) -> tuple[MappedColumn, ...]:
        return tuple(column for column in self.columns if column.source is source)

    @property
    def order_group(self) -> str | None:
        """The group whose generation the stream writes in; None where arrival orders nothing."""
        if self.written.group is not None:
            return self.written.group.name
        return WHOLE_ROWS if self.needs_keyed_partitions else None

    @property
    def stream(self) -> str:
        """The stream's name, which is also its commit user."""
        return self.spec.name

    @property
    def key(self) -> str:
        """`<database>.<table>/<stream>`."""
        return f"{self.table}/{self.stream}"

    @property
    def connector(self) -> str:
        """Name of the connector in dead letters."""
        return f"braid.{self.table}.{self.stream}"

    @property
    def clears_null_ordering(self) -> bool:
        """Whether a record without ordering values writes nulls into its group, instead of being refused."""
        return self.spec.on_null_ordering is OnNullOrdering.CLEAR

    @property
    def long_key_columns(self) -> tuple[int, ...]:
        """Positions in `columns` of the texts and bytes of the key, partition columns left out."""
        return tuple(
            index
            for index, column in enumerate(self.columns)
            if column.name in self.written.key
            and column.name not in self.partition_keys
            and column.type.root in _LONG
        )

    @property
    def group_columns(self) -> tuple[str, ...]:
        """Every column of the stream's group, generated ones included."""
        group = self.written.group
        if group is None:
            return ()
        kept = ((one.name, one.order_column) for one in group.kept_columns)
        return (*group.ordering, *group.protected_columns, *chain.from_iterable(kept))


def plan_stream(
    *,
    table: str,
    spec: TableSpec,
    stream: StreamSpec,
    schema: TableSchema,
    generation: int = 0,
    version: int = 1,
    other_streams: Iterable[StreamSpec] = (),
) -> StreamPlan:
    """Return the plan of a registered stream.

    Args:
        table: `<database>.<table>`.
        spec: The table as declared.
        stream: The stream as registered.
        schema: The table's schema as it is.
        generation: `restart_generation` of the stream's entry in the registry.
        version: Version of the same entry.
        other_streams: The streams of the table; the stream itself is ignored among them.

    Raises:
        InvalidRequest: The table has no such column, a column cannot be read from JSON, or from its part of the
            record (`UnsupportedFeature`), two columns read one field of the message in different ways, or an expression
            or a condition does not fit the columns' types.
            Registration checks this; another engine may have changed the table since.
    """
    written = stream_columns(spec, stream)
    group = written.group
    columns = _typed(schema, written, stream=stream, table=table)
    return StreamPlan(
        table=table,
        spec=stream,
        columns=columns,
        written=written,
        ordering=() if group is None else group.declared_ordering,
        generation=generation,
        partition_keys=schema.partition_keys,
        key_bytes_max=schema.table_options.key_bytes_max,
        version=version,
        schema_id=schema.id,
        kind_column=schema.table_options.rowkind_field,
        row_kinds=_row_kinds(schema),
        paths_of_other_streams=(
            *_paths_of_others(stream, other_streams),
            *_condition_paths(stream),
            *_field_paths(stream),
        ),
        needs_keyed_partitions=needs_keyed_partitions(spec, stream),
        is_keyed=is_keyed(spec, stream),
        shows_older_rows=shows_older_rows(spec, stream),
        checked_columns=_checked_columns(schema, [column.name for column in columns]),
        conditions=_conditions(stream, columns),
        columns_in_expressions=columns_in_expressions(columns, stream),
        delete_columns=_delete_columns(schema, written, columns),
    )


def fit_plan(plan: StreamPlan, schema: TableSchema) -> StreamPlan:
    """Return the plan of an unchanged declaration for another schema of its table.

    Raises:
        InvalidRequest: What `plan_stream` raises.
    """
    # Only types and options come from the schema; the columns read and written come from the declaration.
    columns = _typed(schema, plan.written, stream=plan.spec, table=plan.table)
    return replace(
        plan,
        columns=columns,
        schema_id=schema.id,
        key_bytes_max=schema.table_options.key_bytes_max,
        checked_columns=_checked_columns(schema, [column.name for column in columns]),
        kind_column=schema.table_options.rowkind_field,
        row_kinds=_row_kinds(schema),
        conditions=_conditions(plan.spec, columns),
        columns_in_expressions=columns_in_expressions(columns, plan.spec),
        delete_columns=_delete_columns(schema, plan.written, columns),
    )


def _conditions(stream: StreamSpec, columns: Iterable[MappedColumn]) -> RecordConditions:
    # Of captured changes, columns are read from the row inside of the message that conditions are about.
    has_rows = has_row_image(stream.format)
    known = [c for c in columns if not (has_rows and c.source is ColumnSource.VALUE)]
    fields = (one for one in expression_fields(stream, columns) if one.is_in_expression)
    return record_conditions(stream.where, stream.delete_when, [*known, *fields])


def _paths_of_others(stream: StreamSpec, others: Iterable[StreamSpec]) -> Iterator[tuple[str, ...]]:
    for other in others:
        if other.name != stream.name and other.topic == stream.topic:
            yield from _column_paths(other)
            yield from _condition_paths(other)


def _column_paths(stream: StreamSpec) -> Iterator[tuple[str, ...]]:
    for column in stream.columns:
        if column.source is ColumnSource.VALUE:
            yield column.source_path
    yield from _field_paths(stream)


def _field_paths(stream: StreamSpec) -> Iterator[tuple[str, ...]]:
    """Yield the paths of fields that only expressions use."""
    return (tuple(address.split(".")) for address in stream.fields)


def _condition_paths(stream: StreamSpec) -> Iterator[tuple[str, ...]]:
    """Yield the paths of conditions that are about the fields of which columns are read."""
    conditions = () if has_row_image(stream.format) else (stream.where, stream.delete_when)
    for condition in conditions:
        for comparison in () if condition is None else parse_condition(condition):
            if source_of(comparison) is ColumnSource.VALUE:
                yield comparison.path


def _delete_columns(
    schema: TableSchema, written: StreamColumns, columns: Iterable[MappedColumn]
) -> tuple[str, ...]:
    """Return the columns that a delete needs: the key, what orders it, its time, and what cannot be null."""
    options = schema.table_options
    needed = {
        *written.key,
        *(() if written.group is None else written.group.declared_ordering),
        *options.sequence_field,
        *options.null_deletes_kept_fields,
        *options.delete_time_fields,
    }
    return tuple(c.name for c in columns if c.name in needed or not c.type.nullable)


def _checked_columns(schema: TableSchema, columns: Iterable[str]) -> tuple[str, ...]:
    functions = ValueChecks.of(schema).functions
    return tuple(name for name in columns if name in functions)


def _row_kinds(schema: TableSchema) -> tuple[str, ...]:
    """Return the row kinds that a table accepts: first-row accepts no retracts, unless it drops them."""
    options = schema.table_options
    kinds = list(RowKind)
    if options.merge_engine is MergeEngine.FIRST_ROW and not options.ignore_delete:
        kinds.remove(RowKind.DELETE)
        if not options.ignore_update_before:
            kinds.remove(RowKind.UPDATE_BEFORE)
    return tuple(kind.symbol for kind in kinds)


def _typed(
    schema: TableSchema,
    written: StreamColumns,
    *,
    stream: StreamSpec,
    table: str,
) -> tuple[MappedColumn, ...]:
    """Return the columns with the schema's types.

    Args:
        schema: The table's schema.
        written: All columns that the stream writes.
        stream: The stream.
        table: The table's name, for the error message.
    """
    types = {column.name: column.type for column in schema.fields}
    problems = [
        Problem(
            field=f"columns.{name}",
            value=name,
            message=f"table {table} has no such column",
            hint=f"its columns: {', '.join(types)}",
        )
        for name in written.written
        if name not in types
    ]
    if problems:
        message = f"stream {stream.name} does not fit table {table}"
        raise InvalidRequest(message, problems=problems)
    columns = tuple(
        replace(
            mapped_column(one, types[one.column]), finds_missing=one.column in written.on_missing
        )
        for one in written.mapped
    )
    _check_types(columns, stream.topic)
    for source in (ColumnSource.VALUE, ColumnSource.KEY, ColumnSource.CHANGE):
        # The key, the value and the event around it are apart: the same path in two of them is no conflict.
        _check_paths(tuple(column for column in columns if column.source is source))
    return columns


def _check_types(columns: tuple[MappedColumn, ...], topic: str) -> None:
    """Refuse columns that cannot be read from JSON, or from their part of the record."""
    problems = [
        Problem(field=column.name, value=str(column.type), message=reason, hint=HINT)
        for column in columns
        if (reason := unreadable_in_json(column.type)) is not None
    ]
    found = ((c, why_no_times(c) or part_misfit(c.source, c.type, topic=topic)) for c in columns)
    problems += [
        Problem(field=column.name, value=str(column.type), message=reason[0], hint=reason[1])
        for column, reason in found
        if reason is not None
    ]
    if problems:
        message = f"column {problems[0].field} cannot be read"
        raise UnsupportedFeature(message, problems=problems)


def _check_paths(columns: tuple[MappedColumn, ...]) -> None:
    """Refuse a field that is read as two types, or as a value and as an object."""
    leaves: Mapping[tuple[str, ...], MappedColumn] = {column.path: column for column in columns}
    problems = []
    for column in columns:
        parents = [column.path[:depth] for depth in range(1, len(column.path))]
        others = [leaves[path] for path in parents if path in leaves]
        same = leaves[column.path]
        if (
            same.type.with_nullable(True) != column.type.with_nullable(True)
            or same.time_format != column.time_format
        ):
            others.append(same)
        problems += [
            Problem(
                field=f"columns.{column.name}.path",
                value=column.address,
                message=f"column {other.name} reads {other.address} as {other.type}",
                hint="give the two columns different fields of the message",
            )
            for other in others
        ]
    if problems:
        message = "a field of a message can be read in one way only"
        raise InvalidRequest(message, problems=problems)
