"""Rules for columns that options name: `sequence.field`, `rowkind.field`, the keys of `fields.*`.

The rules for sequence groups are in `partial_update_rules`.

Source: merge-semantics 3.1, 3.3 (1, 2), 2.5.
"""

from collections.abc import Iterator

from braid.lake.declaration.engine_declarations import why_excluded
from braid.lake.declaration.engine_rules import FIRST_ROW_SETTING
from braid.lake.declaration.rule_problems import (
    conflict,
    find_field,
    repeated,
    unknown_column,
    unordered_type,
)
from braid.lake.errors import Problem
from braid.lake.format.data_types import TypeRoot, holds_variant
from braid.lake.format.schema import TableSchema
from braid.lake.merge.declared_options import DEFAULT_FUNCTION, FIELDS, split_names
from braid.lake.options.table_options import MergeEngine, TableOptions


def sequence_field_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of the columns that order all records of a key."""
    option = "sequence.field"
    declared = schema.options.get(option)
    if declared is None:
        return
    names = [name.strip() for name in split_names(declared)]
    yield from repeated(option, names)
    for name in dict.fromkeys(names):
        field = find_field(schema, name)
        if field is None:
            yield unknown_column(option, name, schema)
        elif holds_variant(field.type):
            yield unordered_type(option, field)
        key = f"fields.{name}.aggregate-function"
        if key in schema.options:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="a sequence field cannot have an aggregate function",
                hint=f"leave the option out, or take `{name}` out of {option}",
            )
    if options.merge_engine is MergeEngine.FIRST_ROW:
        why = why_excluded(MergeEngine.FIRST_ROW, option, FIRST_ROW_SETTING)
        yield conflict(option, declared, FIRST_ROW_SETTING, why)
    outside = [name for name in schema.partition_keys if name not in schema.primary_keys]
    if schema.primary_keys and outside:
        yield Problem(
            field=option,
            value=declared,
            message="a sequence field is not possible while rows can move between partitions",
            hint=f"add the partition columns to the primary key: {', '.join(outside)}",
        )


def row_kind_field_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of the column that holds the row kind."""
    option, name = "rowkind.field", options.rowkind_field
    if name is None:
        return
    field = find_field(schema, name)
    if field is None:
        yield unknown_column(option, name, schema)
    elif field.type.root not in (TypeRoot.CHAR, TypeRoot.VARCHAR):
        yield Problem(
            field=option,
            value=f"{name} {field.type}",
            message="the column holds +I, -U, +U or -D, so it must be a text",
            hint="name a column of type STRING",
        )


def fields_option_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield the problems of the columns in the keys of `fields.*` options, under any engine."""
    for key in sorted(key for key in schema.options if key.startswith(FIELDS)):
        segments = key.split(".")
        names = split_names(segments[1]) if len(segments) > 1 else ()
        if not names:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="the name of the option names no column",
                hint="write `fields.<column>.<option>`",
            )
        for name in unknown_columns_of_key(schema, key):
            yield unknown_column(key, name, schema)
        field = find_field(schema, names[0]) if len(names) == 1 else None
        if len(segments) > 3 and field is not None and field.type.root is TypeRoot.ROW:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="the name of the option has a path into a ROW, but only whole columns have options",
                hint=f"write `fields.{names[0]}.{segments[-1]}`",
            )


def unknown_columns_of_key(schema: TableSchema, key: str) -> tuple[str, ...]:
    """Return the names between the first two dots of a `fields.*` key that no column has."""
    segments = key.split(".")
    names = split_names(segments[1]) if len(segments) > 1 else ()
    default = DEFAULT_FUNCTION.split(".")[1]
    return tuple(name for name in names if name != default and find_field(schema, name) is None)
