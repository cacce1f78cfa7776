"""From a declared table to columns and options of the table format, and to what a stream writes.

Pure. The service creates tables with it and the pipelines write by it, so both agree on the
columns that nobody declared:

* `<group>__partition` INT and `<group>__offset` BIGINT order a group that names no ordering
  column: a key keeps its Kafka partition, and offsets of one partition grow.
* `<group>__at` TIMESTAMP(3) WITH LOCAL TIME ZONE and `<group>__op` STRING say when and how the
  group's stream last touched the row, unless the table declines tracking.

A default aggregate function is written out for each declared column that takes it, so that it does
not reach the columns that nobody declared.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lake import DataField, DataType, assign_field_ids, parse_type
from registry.column_functions import column_functions, sequence_fields
from registry.delete_retention import retention_options
from registry.delete_rules import DeletedColumns, delete_options
from registry.names import TOPIC_LENGTH_MAX
from schemas import (
    MergeEngine,
    SequenceGroupSpec,
    StreamColumn,
    StreamDefinition,
    StreamSpec,
    TableSpec,
    Unordered,
)

OP_UPSERT = "upsert"
OP_CLEAR = "clear"

DEAD_LETTERS = ".dead-letters"

PARTITION_TYPE = "INT"
OFFSET_TYPE = "BIGINT"
AT_TYPE = "TIMESTAMP(3) WITH LOCAL TIME ZONE"
OP_TYPE = "STRING"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDefinition:
    """A sequence group with the columns that were made for it.

    Attributes:
        name: As declared.
        ordering: The ordering columns, declared or generated, most significant first.
        is_generated: Whether `ordering` is (partition, offset) of Kafka, filled by the pipeline.
        columns: The declared protected columns.
        at_column: When the stream last touched the row; None without tracking.
        op_column: How it did: `upsert` or `clear`; None without tracking.
    """

    name: str
    ordering: tuple[str, ...]
    is_generated: bool
    columns: tuple[str, ...]
    at_column: str | None
    op_column: str | None

    @property
    def tracking_columns(self) -> tuple[str, ...]:
        """`(<group>__at, <group>__op)`, or nothing."""
        return tuple(name for name in (self.at_column, self.op_column) if name is not None)

    @property
    def protected(self) -> tuple[str, ...]:
        """All protected columns, in the order of the option: the declared ones, then tracking."""
        return self.columns + self.tracking_columns

    @property
    def generated_columns(self) -> Mapping[str, str]:
        """SQL type by name of the columns that no one declared, in the table's order."""
        generated: dict[str, str] = {}
        if self.is_generated:
            types = (PARTITION_TYPE, OFFSET_TYPE)
            generated.update(zip(self.ordering, types, strict=True))
        if self.at_column is not None and self.op_column is not None:
            generated |= {self.at_column: AT_TYPE, self.op_column: OP_TYPE}
        return generated

    def deleted_columns(self, spec: TableSpec) -> DeletedColumns:
        """Return what deletes have to do with the columns, in a table declared like that."""
        retention = spec.delete_retention
        named = () if retention is None else retention.columns or ()
        kept = (self.at_column, *(name for name in self.columns if name in named))
        return DeletedColumns(
            name=self.name,
            ordering=self.ordering,
            kept=tuple(name for name in kept if name is not None),
            marks=() if self.op_column is None else (self.op_column,),
        )

    @property
    def option(self) -> tuple[str, str]:
        """The table format's option, key and value."""
        return f"fields.{','.join(self.ordering)}.sequence-group", ",".join(self.protected)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefinition:
    """A table in the words of the table format.

    Attributes:
        columns: The declared columns, then the generated ones group by group; ids from 0, as a
            new table numbers them: each column before the fields inside it.
        primary_key: Column names.
        partition_keys: Column names.
        options: All options, the declared ones included.
        comment: None when there is none.
        groups: Of a partial-update table, as declared.
    """

    columns: tuple[DataField, ...]
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    groups: tuple[GroupDefinition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamColumns:
    """Which columns of its table a stream writes, and from where.

    Attributes:
        key: The table's primary key; every one of these is in `mapped`.
        mapped: Columns that come out of the message's value, with their paths.
        group: The group that the stream owns; None when it owns none.
        partition_column: Filled with Kafka's partition; None unless the order is generated.
        offset_column: Filled with Kafka's offset; None unless the order is generated.
        at_column: Filled with Kafka's timestamp; None without tracking.
        op_column: Filled with `upsert` or `clear`; None without tracking.
        written: All of the above in the table's order; every other column stays null.
    """

    key: tuple[str, ...]
    mapped: tuple[StreamColumn, ...]
    group: GroupDefinition | None
    partition_column: str | None
    offset_column: str | None
    at_column: str | None
    op_column: str | None
    written: tuple[str, ...]


def define_group(spec: SequenceGroupSpec, *, tracking: bool) -> GroupDefinition:
    """Return a declared group with the columns that are made for it."""
    generated = (f"{spec.name}__partition", f"{spec.name}__offset")
    return GroupDefinition(
        name=spec.name,
        ordering=generated if spec.ordering is None else spec.ordering,
        is_generated=spec.ordering is None,
        columns=spec.columns,
        at_column=f"{spec.name}__at" if tracking else None,
        op_column=f"{spec.name}__op" if tracking else None,
    )


def define_groups(spec: TableSpec) -> tuple[GroupDefinition, ...]:
    """Return the table's groups with the columns that are made for them, as declared."""
    return tuple(define_group(group, tracking=spec.tracking) for group in spec.sequence_groups)


def define_table(spec: TableSpec) -> TableDefinition:
    """Return the table in the words of the table format.

    Raises:
        InvalidRequest: A type cannot be read. `registry.table_rules` finds all such at once.
    """
    groups = define_groups(spec)
    columns = [
        DataField(
            name=column.name,
            type=_column_type(column.type, is_key=column.name in spec.primary_key),
            description=column.description,
            default_value=column.default,
        )
        for column in spec.columns
    ]
    for group in groups:
        columns += [
            DataField(name=name, type=parse_type(sql))
            for name, sql in group.generated_columns.items()
        ]
    return TableDefinition(
        columns=assign_field_ids(columns),
        primary_key=spec.primary_key,
        partition_keys=spec.partition_keys,
        options=_options(spec, groups),
        comment=spec.comment,
        groups=groups,
    )


def complete_stream(
    table: TableSpec, definition: StreamDefinition, *, name: str, known: StreamSpec | None = None
) -> StreamSpec:
    """Return the definition with everything that was left out filled in; checks nothing.

    Args:
        table: The stream's table.
        definition: As its owner declares it.
        name: The stream's name, from the address.
        known: The stream as registered. Columns that are left out are read from where it reads
            them: a column that was renamed since is still called otherwise in messages.
    """
    group_name = definition.sequence_group
    if group_name is None and table.sequence_group(name) is not None:
        group_name = name
    columns = definition.columns
    if not columns:
        paths = {} if known is None else {one.column: one.path for one in known.columns}
        columns = tuple(
            StreamColumn(column=column, path=paths.get(column))
            for column in _default_columns(table, group_name)
        )
    values = definition.model_dump() | {
        "name": name,
        "sequence_group": group_name,
        "columns": columns,
        "dead_letter_topic": definition.dead_letter_topic
        or default_dead_letter_topic(definition.topic),
    }
    return StreamSpec.model_validate(values)


def default_dead_letter_topic(topic: str) -> str:
    """Return `<topic>.dead-letters`; of a topic too long for that, a part and a digest of it."""
    name = f"{topic}{DEAD_LETTERS}"
    if len(name) <= TOPIC_LENGTH_MAX:
        return name
    digest = hashlib.sha256(topic.encode()).hexdigest()[:16]
    return f"{topic[: TOPIC_LENGTH_MAX - len(DEAD_LETTERS) - 17]}.{digest}{DEAD_LETTERS}"


def stream_columns(table: TableSpec, stream: StreamSpec) -> StreamColumns:
    """Return what the stream writes.

    Requires:
        The stream has been admitted to the table: `registry.stream_rules` finds nothing.
    """
    spec = table.sequence_group(stream.sequence_group) if stream.sequence_group else None
    group = None if spec is None else define_group(spec, tracking=table.tracking)
    generated = {} if group is None else group.generated_columns
    mapped = set(stream.column_names)
    is_generated = group is not None and group.is_generated
    return StreamColumns(
        key=table.primary_key,
        mapped=stream.columns,
        group=group,
        partition_column=group.ordering[0] if group is not None and is_generated else None,
        offset_column=group.ordering[1] if group is not None and is_generated else None,
        at_column=None if group is None else group.at_column,
        op_column=None if group is None else group.op_column,
        written=(*(name for name in table.column_names if name in mapped), *generated),
    )


def ungrouped_columns(table: TableSpec) -> tuple[str, ...]:
    """Return the columns that are neither key nor part of a group, in the table's order."""
    taken = set(table.primary_key)
    for group in table.sequence_groups:
        taken.update(group.columns, group.ordering or ())
    return tuple(name for name in table.column_names if name not in taken)


def _default_columns(table: TableSpec, group_name: str | None) -> tuple[str, ...]:
    if table.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        return table.column_names
    wanted = set(table.primary_key)
    group = None if group_name is None else table.sequence_group(group_name)
    if group is not None:
        wanted.update(group.columns, group.ordering or ())
    elif table.unordered is Unordered.ALLOWED:
        wanted.update(ungrouped_columns(table))
    return tuple(name for name in table.column_names if name in wanted)


def _column_type(sql: str, *, is_key: bool) -> DataType:
    data_type = parse_type(sql)
    return replace(data_type, nullable=False) if is_key else data_type


def _options(spec: TableSpec, groups: tuple[GroupDefinition, ...]) -> dict[str, str]:
    options = {
        "bucket": str(spec.buckets),
        "merge-engine": spec.merge_engine.value,
        # Ingest never compacts, and no other engine's writer shall do it in passing.
        "write-only": "true",
        # Key columns are stored once: legal for every reader of the format, smaller files.
        "data-file.thin-mode": "true",
        # Writers of other engines then number their records above ours without a scan.
        "write.sequence-number-init-mode": "snapshot",
    }
    options.update(group.option for group in groups)
    options |= delete_options(spec, [group.deleted_columns(spec) for group in groups])
    options |= retention_options(spec, {group.name: group.at_column for group in groups})
    return options | _function_options(spec) | dict(spec.options)


def _function_options(spec: TableSpec) -> dict[str, str]:
    declared = {column.name: column.aggregate for column in spec.columns if column.aggregate}
    if spec.default_aggregate is not None:
        declared = {**column_functions(spec), **declared}
        # Aggregation gives sequence fields their function, and refuses one that is declared.
        declared = {name: f for name, f in declared.items() if name not in sequence_fields(spec)}
    return {
        f"fields.{column}.{key}": value
        for column, function in declared.items()
        for key, value in function.format_options.items()
    }
