"""Rules for the names of columns, the primary key, the partition columns and the bucket key of a table.

Source: merge-semantics 8.4.
"""

from collections.abc import Iterator

from braid.lake.declaration.rule_problems import find_field, repeated, unknown_column
from braid.lake.errors import Problem
from braid.lake.format.data_types import TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.system_columns import RESERVED_NAMES, is_reserved
from braid.lake.merge.declared_options import split_names
from braid.lake.options.table_options import DYNAMIC_BUCKET


def key_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield the problems of the primary key, the partition columns and the bucket key."""
    if not schema.primary_keys:
        yield Problem(
            field="primary_key",
            value=None,
            message="the table has no primary key",
            hint="name the columns that identify a row",
        )
    elif set(schema.primary_keys) == set(schema.partition_keys):
        yield Problem(
            field="primary_key",
            value=", ".join(schema.primary_keys),
            message="the primary key equals the partition columns, so a partition has one row",
            hint="add a column to the primary key, or partition by fewer columns",
        )
    yield from _bucket_key_problems(schema)
    yield from _partition_problems(schema)
    for part, names in (
        ("primary_key", schema.primary_keys),
        ("partition", schema.partition_keys),
    ):
        yield from repeated(part, names)
        for name in dict.fromkeys(names):
            field = find_field(schema, name)
            if field is None:
                yield unknown_column(part, name, schema)
            elif not field.type.is_plain:
                yield Problem(
                    field=part,
                    value=f"{name} {field.type}",
                    message="a key column cannot be an ARRAY, MAP, MULTISET, ROW or VARIANT",
                )
            elif part == "partition" and field.type.root in (TypeRoot.BINARY, TypeRoot.VARBINARY):
                yield Problem(
                    field=part,
                    value=f"{name} {field.type}",
                    message="bytes cannot be written as the name of a directory",
                    hint="partition by a number, a date or a text",
                )


def column_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield the problems of the names of columns."""
    yield from repeated("columns", schema.field_names)
    for name in dict.fromkeys(schema.field_names):
        if not name.strip() or "\0" in name:
            yield Problem(
                field="columns",
                value=repr(name),
                message="expected a name that is not blank and has no NUL",
            )
        if is_reserved(name):
            yield Problem(
                field="columns",
                value=name,
                message="the name is reserved by the format",
                hint=f"reserved: {', '.join(sorted(RESERVED_NAMES))} and names that begin with _KEY_",
            )


def _partition_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield a problem if one key could be in several partitions: rows of different partitions never merge.

    The reference accepts such tables and returns one row of the key per partition.
    """
    outside = [
        name
        for name in schema.partition_keys
        if name not in schema.primary_keys and find_field(schema, name) is not None
    ]
    # With dynamic buckets rows could move between partitions, which this version does not support.
    if outside and schema.primary_keys and not _is_dynamic(schema):
        yield Problem(
            field="partition",
            value=", ".join(outside),
            message="not every partition column is in the primary key, so one key could have rows in several partitions",
            hint=f"primary key: {', '.join([*schema.primary_keys, *outside])}; or partition by "
            "columns of the primary key only",
        )


def _is_dynamic(schema: TableSchema) -> bool:
    return schema.options.get("bucket", str(DYNAMIC_BUCKET)).strip() == str(DYNAMIC_BUCKET)


def _bucket_key_problems(schema: TableSchema) -> Iterator[Problem]:
    key = "bucket-key"
    declared = schema.options.get(key)
    if declared is None:
        return
    if _is_dynamic(schema):
        yield Problem(
            field=key,
            value=declared,
            message="with `bucket = -1` keys are assigned to buckets by an index, not by a "
            "bucket key",
            hint="leave it out, or set a bucket count from 1",
        )
    for name in (name.strip() for name in split_names(declared)):
        if find_field(schema, name) is None:
            yield unknown_column(key, name, schema)
        elif schema.primary_keys and name not in schema.primary_keys:
            yield Problem(
                field=key,
                value=name,
                message="the column is not in the primary key, so one key could be in two buckets",
                hint=f"primary key: {', '.join(schema.primary_keys)}",
            )
