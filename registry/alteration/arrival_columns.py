"""Arrival columns and options that an older table lacks.

Pure. An older table orders a group by its declared ordering columns alone, or by (partition, offset). One schema change
gives it what new tables have: the arrival columns, and the group's option with all ordering columns (`option_changes`).
The arrival columns are null in existing rows, so an existing row counts as older than any record with the same values
in the declared ordering columns. Existing columns keep names and types. If an existing column with another purpose has
the name of an arrival column, the change is refused: the column's values would count as arrival.
"""

from collections.abc import Iterator, Mapping

from braid.lake import AddColumn, SchemaChange, TableSchema, parse_type
from braid.registry.alteration.change_locations import Origin, column_problem
from braid.registry.layout.physical_table import PhysicalGroup, physical_groups
from braid.schemas import FieldProblem, TableSpec


def lacks_arrival(spec: TableSpec, schema: TableSchema) -> bool:
    """Return whether a table has to be changed before a stream can write arrival into it.

    Args:
        spec: The declaration.
        schema: The newest schema.
    """
    declared: dict[str, str] = {}
    for group in physical_groups(spec):
        declared |= group.options
    return bool(_missing_columns(spec, schema)) or actual_options(spec, schema) != declared


def added_columns(spec: TableSpec, schema: TableSchema) -> tuple[SchemaChange, ...]:
    """Return the changes that add the arrival columns which a table lacks.

    Args:
        spec: The declaration.
        schema: The newest schema.
    """
    return tuple(
        AddColumn(path=(name,), type=parse_type(group.generated_columns[name]))
        for name, group in _missing_columns(spec, schema).items()
    )


def check_names(
    before: TableSpec, after: TableSpec, schema: TableSchema, origin: Origin
) -> Iterator[FieldProblem]:
    """Yield the columns whose name an arrival column to be added needs.

    Args:
        before: The declaration now.
        after: The declaration after the change, which may rename such a column.
        schema: The newest schema.
        origin: The requested changes, to locate problems.
    """
    undeclared = [name for name in schema.field_names if name not in before.column_names]
    taken = {name.lower(): name for name in (*undeclared, *after.column_names)}
    for name, group in _missing_columns(before, schema).items():
        if (column := taken.get(name.lower())) is not None:
            yield column_problem(
                origin,
                column,
                "column",
                value=column,
                message=f"the sequence group `{group.name}` needs a column of this name for its "
                "order of arrival, but the existing column holds other values",
                hint="rename the existing column: with the change `rename_column` if it is declared, "
                "else with the engine that added it",
            )


def actual_options(spec: TableSpec, schema: TableSchema) -> Mapping[str, str]:
    """Return the options of the declared groups by the keys that the schema has for them.

    Args:
        spec: The declaration.
        schema: The newest schema; in an older table the keys name fewer ordering columns.
    """
    options: dict[str, str] = {}
    for group in physical_groups(spec):
        options |= group.options
        if _is_former(group, schema):
            key, value = group.option
            del options[key]
            options[group.former_option] = value
    return options


def _missing_columns(spec: TableSpec, schema: TableSchema) -> dict[str, PhysicalGroup]:
    """Return the groups of the arrival columns that a table lacks, by the columns' names."""
    missing = {}
    for group in physical_groups(spec):
        # Arrival was never part of such a group's order: a column of that name has other values.
        is_new = bool(group.declared_ordering) and _is_former(group, schema)
        for name in (group.partition_column, group.offset_column):
            if is_new or name not in schema.fields_by_name:
                missing[name] = group
    return missing


def _is_former(group: PhysicalGroup, schema: TableSchema) -> bool:
    return group.former_option in schema.options and group.option[0] not in schema.options
