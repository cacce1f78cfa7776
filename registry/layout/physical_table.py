"""Physical tables: columns and options of the table format for a declared table.

Pure. The service creates tables from this layout and the pipelines write by it, so both agree on the
generated columns:

* `<group>__offset` BIGINT and `<group>__partition` INT hold the order of arrival. They are the
  group's last ordering columns, after the declared ones if there are any, so that arrival decides between
  records with equal ordering values. The offset is Kafka's, with the generation of the group's order in its upper bits
  (`braid.lake.commit.streams.group_order`).
* `<column>__order` BYTES, for each column that its group keeps, holds the whole order of the last record that
  had the column's field: the values of the group's ordering columns as `braid.lake.comparable_bytes`. It is the
  ordering column of a sequence group of the table format that protects this column alone, and null in a record
  without the field: the merge then skips the column.
* `<group>__at` TIMESTAMP(3) WITH LOCAL TIME ZONE and `<group>__op` STRING hold the Kafka timestamp of the group's
  newest record and its effect (`upsert` or `clear`). A table with `tracking: false` does not have these columns.

Beside the declared options every table has two fixed ones: writers do not compact (`write-only`), and writers of
other engines number their records from the snapshot (`write.sequence-number-init-mode`). Unless the declaration
says otherwise, files store key columns once (`data-file.thin-mode`).

A default aggregate function is written out for each declared column that uses it, so that it does
not apply to the generated columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from braid.lake import DataField, DataType, TableSchema, assign_field_ids, parse_type
from braid.registry.layout.column_functions import column_functions, sequence_fields
from braid.registry.layout.delete_options import ColumnsAtDelete, delete_options, retention_options
from braid.registry.layout.expiry_options import expiry_options
from braid.registry.layout.function_defaults import with_defaults
from braid.schemas import (
    SequenceGroupSpec,
    TableSpec,
)

OP_UPSERT = "upsert"
OP_CLEAR = "clear"


PARTITION_TYPE = "INT"
OFFSET_TYPE = "BIGINT"
AT_TYPE = "TIMESTAMP(3) WITH LOCAL TIME ZONE"
OP_TYPE = "STRING"
ORDER_TYPE = "BYTES"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumn:
    """A column whose older value a row keeps where a newer record has none.

    Attributes:
        name: The column.
        order_column: The generated column that orders its values.
    """

    name: str
    order_column: str

    @property
    def option(self) -> tuple[str, str]:
        """Key and value of the table format's option for the column's order."""
        return _group_key((self.order_column,)), self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalGroup:
    """A sequence group with its generated columns.

    Attributes:
        name: The declared name.
        declared_ordering: The declared ordering columns, most significant first; empty when the group is
            ordered by arrival alone.
        offset_column: The column that holds generation and Kafka offset of the newest record.
        partition_column: The column that holds the Kafka partition of the newest record.
        declared_columns: The declared protected columns, without the kept ones.
        kept_columns: The kept columns, in the order of the declaration.
        at_column: The column that holds Kafka's timestamp of the newest record; None without tracking.
        op_column: The column that holds what that record did, `upsert` or `clear`; None without tracking.
    """

    name: str
    declared_ordering: tuple[str, ...]
    offset_column: str
    partition_column: str
    declared_columns: tuple[str, ...]
    kept_columns: tuple[KeptColumn, ...]
    at_column: str | None
    op_column: str | None

    def __post_init__(self) -> None:
        assert (self.at_column is None) == (self.op_column is None), "tracking adds both or none"

    @property
    def ordering(self) -> tuple[str, ...]:
        """All ordering columns, most significant first: the declared ones, then arrival."""
        return (*self.declared_ordering, self.offset_column, self.partition_column)

    @property
    def ordering_in_options(self) -> tuple[str, ...]:
        """The ordering columns by which options name the group.

        Such options are fixed once a table has data, so new tables name a group as tables did before the
        arrival columns ended the order of every group: by the declared ordering columns alone.
        """
        return self.declared_ordering or (self.partition_column, self.offset_column)

    @property
    def tracking_columns(self) -> tuple[str, ...]:
        """`(<group>__at, <group>__op)`, or nothing."""
        return tuple(name for name in (self.at_column, self.op_column) if name is not None)

    @property
    def protected_columns(self) -> tuple[str, ...]:
        """All columns that the group's order protects, as in its option: the declared ones, then tracking."""
        return self.declared_columns + self.tracking_columns

    @property
    def generated_columns(self) -> Mapping[str, str]:
        """SQL types of the generated columns by name, in the table's order."""
        generated = {self.partition_column: PARTITION_TYPE, self.offset_column: OFFSET_TYPE}
        if self.at_column is not None and self.op_column is not None:
            generated |= {self.at_column: AT_TYPE, self.op_column: OP_TYPE}
        return generated | {kept.order_column: ORDER_TYPE for kept in self.kept_columns}

    def columns_at_delete(self, spec: TableSpec) -> ColumnsAtDelete:
        """Return the columns by what a delete does to them, in a table of that declaration."""
        retention = spec.delete_retention
        named = () if retention is None else retention.columns or ()
        kept = (self.at_column, *(name for name in self.declared_columns if name in named))
        return ColumnsAtDelete(
            name=self.name,
            ordering=self.ordering_in_options,
            own_orders=tuple(kept.order_column for kept in self.kept_columns),
            kept=tuple(name for name in kept if name is not None),
            marks=() if self.op_column is None else (self.op_column,),
        )

    @property
    def option(self) -> tuple[str, str]:
        """Key and value of the table format's option for the group's order."""
        return _group_key(self.ordering), ",".join(self.protected_columns)

    @property
    def options(self) -> Mapping[str, str]:
        """The table format's options for the group's order and those of its kept columns."""
        return dict([self.option, *(kept.option for kept in self.kept_columns)])

    @property
    def former_option(self) -> str:
        """The option's key in tables from before the arrival columns ended the order of every group."""
        return _group_key(self.ordering_in_options)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalTable:
    """A declared table in the terms of the table format.

    Attributes:
        columns: The declared columns, then the generated ones group by group; ids from 0, as a
            new table numbers them: each column before the fields inside it.
        primary_key: Column names.
        partition_keys: Column names.
        options: All options, the declared ones included.
        comment: The table's comment; None when it has none.
        groups: The sequence groups in the order of the declaration; empty unless the table is partial-update.
    """

    columns: tuple[DataField, ...]
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    groups: tuple[PhysicalGroup, ...]


def physical_group(spec: SequenceGroupSpec, *, tracking: bool) -> PhysicalGroup:
    """Return a declared group with its generated columns."""
    kept = frozenset(spec.keep)
    return PhysicalGroup(
        name=spec.name,
        declared_ordering=spec.ordering or (),
        offset_column=f"{spec.name}__offset",
        partition_column=f"{spec.name}__partition",
        declared_columns=tuple(name for name in spec.columns if name not in kept),
        kept_columns=tuple(
            KeptColumn(name=name, order_column=order_column(name)) for name in spec.keep
        ),
        at_column=f"{spec.name}__at" if tracking else None,
        op_column=f"{spec.name}__op" if tracking else None,
    )


def order_column(column: str) -> str:
    """Return the name of the generated column that orders the values of a kept column."""
    return f"{column}__order"


def shown_fields(schema: TableSchema) -> tuple[DataField, ...]:
    """Return the columns of a table without those that order kept columns: their bytes are for the merge alone."""
    orders = {
        order
        for name in schema.field_names
        if schema.options.get(_group_key((order := order_column(name),))) == name
    }
    return tuple(field for field in schema.fields if field.name not in orders)


def physical_groups(spec: TableSpec) -> tuple[PhysicalGroup, ...]:
    """Return the table's groups with their generated columns, in the order of the declaration."""
    return tuple(physical_group(group, tracking=spec.tracking) for group in spec.sequence_groups)


def physical_table(spec: TableSpec) -> PhysicalTable:
    """Return the declared table in the terms of the table format.

    Raises:
        InvalidRequest: A type cannot be parsed; `braid.registry.rules.tables.table_rules` reports all of them.
    """
    groups = physical_groups(spec)
    keys = frozenset(spec.primary_key)
    columns = [
        DataField(
            name=column.name,
            type=_column_type(column.type, is_key=column.name in keys),
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
    return PhysicalTable(
        columns=assign_field_ids(columns),
        primary_key=spec.primary_key,
        partition_keys=spec.partition_keys,
        options=_options(spec, groups),
        comment=spec.comment,
        groups=groups,
    )


def ungrouped_columns(table: TableSpec) -> tuple[str, ...]:
    """Return the columns that are neither key nor part of a group, in the table's order."""
    taken = set(table.primary_key)
    for group in table.sequence_groups:
        taken.update(group.columns, group.ordering or ())
    return tuple(name for name in table.column_names if name not in taken)


def _group_key(ordering: tuple[str, ...]) -> str:
    return f"fields.{','.join(ordering)}.sequence-group"


def _column_type(sql: str, *, is_key: bool) -> DataType:
    data_type = parse_type(sql)
    return replace(data_type, nullable=False) if is_key else data_type


def _options(spec: TableSpec, groups: tuple[PhysicalGroup, ...]) -> dict[str, str]:
    options = {
        "bucket": str(spec.buckets),
        "merge-engine": spec.merge_engine.value,
        # Ingest never compacts; other engines' writers must not either.
        "write-only": "true",
        # Key columns are stored once: legal for every reader of the format, smaller files.
        "data-file.thin-mode": "true",
        # Writers of other engines then number their records above ours without a scan.
        "write.sequence-number-init-mode": "snapshot",
    }
    for group in groups:
        options |= group.options
    options |= delete_options(spec, [group.columns_at_delete(spec) for group in groups])
    grouped = {name for group in spec.sequence_groups for name in group.columns}
    if any(column.default is not None and column.name in grouped for column in spec.columns):
        options["braid.defaults-by-group"] = "true"
    options |= retention_options(spec, {group.name: group.at_column for group in groups})
    options |= expiry_options(spec)
    return options | _function_options(spec) | dict(spec.options)


def _function_options(spec: TableSpec) -> dict[str, str]:
    declared = {column.name: column.aggregate for column in spec.columns if column.aggregate}
    if spec.default_aggregate is not None:
        declared = {**column_functions(spec), **declared}
        # Aggregation gives sequence fields their function, and refuses one that is declared.
        declared = {name: f for name, f in declared.items() if name not in sequence_fields(spec)}
    return {
        f"fields.{column}.{key}": value
        for column, function in with_defaults(spec, declared).items()
        for key, value in function.format_options.items()
    }
