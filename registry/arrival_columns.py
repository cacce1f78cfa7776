"""Columns and options of arrival that an older table lacks.

Pure. Such a table orders a group by its declared ordering columns alone, or by (partition, offset).
One schema change gives it what tables have now: the columns of arrival, which are null in the rows
that are there, so that these count as older than any record of the same declared order; and the
group's option with all ordering columns in it. Columns keep their names and types.
"""

from collections.abc import Mapping

from lake import AddColumn, SchemaChange, TableSchema, parse_type
from registry.table_definition import OFFSET_TYPE, PARTITION_TYPE, define_groups
from schemas import TableSpec


def lacks_arrival(spec: TableSpec, schema: TableSchema) -> bool:
    """Return whether a table is to be changed before a stream writes arrival into it.

    Args:
        spec: As declared.
        schema: As it is.
    """
    declared = dict(group.option for group in define_groups(spec))
    return bool(_missing_columns(spec, schema)) or actual_options(spec, schema) != declared


def added_columns(spec: TableSpec, schema: TableSchema) -> tuple[SchemaChange, ...]:
    """Return the changes that add the columns of arrival which a table lacks.

    Args:
        spec: As declared so far.
        schema: As it is.
    """
    missing = _missing_columns(spec, schema)
    return tuple(AddColumn(path=(name,), type=parse_type(sql)) for name, sql in missing.items())


def actual_options(spec: TableSpec, schema: TableSchema) -> Mapping[str, str]:
    """Return the options of the declared groups by the keys that they have in a table.

    Args:
        spec: As declared so far.
        schema: As it is.
    """
    options = {}
    for group in define_groups(spec):
        key, value = group.option
        is_former = group.former_option in schema.options and key not in schema.options
        options[group.former_option if is_former else key] = value
    return options


def _missing_columns(spec: TableSpec, schema: TableSchema) -> dict[str, str]:
    return {
        name: sql
        for group in define_groups(spec)
        for name, sql in (
            (group.partition_column, PARTITION_TYPE),
            (group.offset_column, OFFSET_TYPE),
        )
        if name not in schema.fields_by_name
    }
