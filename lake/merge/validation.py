"""What a table may declare about keys and merging: every rule, checked before any data exists.

All rules are looked at and everything that is wrong is told at once. What the reference leaves to
chance is refused: an ordering column of two groups, or one that a group protects.

Source: merge-semantics 2.5, 3.1, 3.3, 8.4.
"""

from collections.abc import Iterator

from lake.errors import InvalidRequest, Problem, UnsupportedFeature
from lake.format.arrow_types import to_arrow_type
from lake.format.data_types import TypeRoot
from lake.format.schema import TableSchema
from lake.format.system_columns import RESERVED_NAMES, is_reserved
from lake.merge.declared_options import DEFAULT_FUNCTION, FIELDS, declared_groups, split_names
from lake.merge.order_values import has_order
from lake.merge.partial_update_rules import partial_update_problems
from lake.merge.rule_problems import conflict, find_field, repeated, unknown_column
from lake.merge.spec import unsupported_merging
from lake.options import ChangelogProducer, MergeEngine, TableOptions


def validate_schema(schema: TableSchema) -> None:
    """Check the keys, columns and merge options of a new or altered table.

    Args:
        schema: As it would be written; key columns need not be NOT NULL yet.

    Raises:
        InvalidRequest: A rule is broken; `problems` holds every one of them.
        UnsupportedFeature: All rules hold, and this version does not execute something.
    """
    problems = [*_key_problems(schema), *_column_problems(schema)]
    unsupported: list[Problem] = []
    try:
        options = schema.table_options
    except InvalidRequest as error:
        problems.extend(error.problems)
    else:
        problems.extend(_sequence_field_problems(schema, options))
        problems.extend(_row_kind_field_problems(schema, options))
        problems.extend(_fields_option_problems(schema))
        problems.extend(_engine_problems(schema, options))
        if options.merge_engine is MergeEngine.PARTIAL_UPDATE:
            problems.extend(partial_update_problems(schema, options))
        unsupported.extend(unsupported_merging(schema))
        unsupported.extend(_unordered_type_problems(schema, options))
    if problems:
        text = "the table cannot be made as declared"
        told = {problem.field for problem in problems}
        problems.extend(problem for problem in unsupported if problem.field not in told)
        raise InvalidRequest(text, problems=problems)
    if unsupported:
        text = "the table declares what this version does not support"
        raise UnsupportedFeature(text, problems=unsupported)


def _key_problems(schema: TableSchema) -> Iterator[Problem]:
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
    for place, names in (
        ("primary_key", schema.primary_keys),
        ("partition", schema.partition_keys),
    ):
        yield from repeated(place, names)
        for name in dict.fromkeys(names):
            field = find_field(schema, name)
            if field is None:
                yield unknown_column(place, name, schema)
            elif field.type.is_nested:
                yield Problem(
                    field=place,
                    value=f"{name} {field.type}",
                    message="a key column cannot be an ARRAY, MAP, MULTISET or ROW",
                )
            elif place == "partition" and field.type.root in (TypeRoot.BINARY, TypeRoot.VARBINARY):
                yield Problem(
                    field=place,
                    value=f"{name} {field.type}",
                    message="bytes cannot be spelt as the name of a directory",
                    hint="partition by a number, a date or a text",
                )


def _bucket_key_problems(schema: TableSchema) -> Iterator[Problem]:
    place = "bucket-key"
    declared = schema.options.get(place)
    if declared is None:
        return
    for name in (name.strip() for name in split_names(declared)):
        if find_field(schema, name) is None:
            yield unknown_column(place, name, schema)
        elif schema.primary_keys and name not in schema.primary_keys:
            yield Problem(
                field=place,
                value=name,
                message="the column is not in the primary key, so one key could be in two buckets",
                hint=f"primary key: {', '.join(schema.primary_keys)}",
            )


def _column_problems(schema: TableSchema) -> Iterator[Problem]:
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
                message="the name belongs to the format",
                hint=f"not to be used: {', '.join(sorted(RESERVED_NAMES))} and what begins with "
                "_KEY_",
            )


def _sequence_field_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    place = "sequence.field"
    declared = schema.options.get(place)
    if declared is None:
        return
    names = [name.strip() for name in split_names(declared)]
    yield from repeated(place, names)
    for name in dict.fromkeys(names):
        if find_field(schema, name) is None:
            yield unknown_column(place, name, schema)
        key = f"fields.{name}.aggregate-function"
        if key in schema.options:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="a sequence field cannot have an aggregate function",
            )
    if options.merge_engine is MergeEngine.FIRST_ROW:
        yield conflict(place, declared, "merge-engine = first-row keeps the first record written")
    outside = [name for name in schema.partition_keys if name not in schema.primary_keys]
    if schema.primary_keys and outside:
        yield Problem(
            field=place,
            value=declared,
            message="no sequence field while rows can move between partitions",
            hint=f"add the partition columns to the primary key: {', '.join(outside)}",
        )


def _row_kind_field_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    place, name = "rowkind.field", options.rowkind_field
    if name is None:
        return
    field = find_field(schema, name)
    if field is None:
        yield unknown_column(place, name, schema)
    elif field.type.root not in (TypeRoot.CHAR, TypeRoot.VARCHAR):
        yield Problem(
            field=place,
            value=f"{name} {field.type}",
            message="the column holds +I, -U, +U or -D, so it must be a text",
        )


def _fields_option_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield what is wrong with the columns that `fields.*` options name, under any engine."""
    for key in sorted(key for key in schema.options if key.startswith(FIELDS)):
        segments = key.split(".")
        names = split_names(segments[1]) if len(segments) > 1 else ()
        if not names:
            yield Problem(field=key, value=schema.options[key], message="the key names no column")
        for name in names:
            if name != DEFAULT_FUNCTION.split(".")[1] and find_field(schema, name) is None:
                yield unknown_column(key, name, schema)
        field = find_field(schema, names[0]) if len(names) == 1 else None
        if len(segments) > 3 and field is not None and field.type.root is TypeRoot.ROW:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="the key is a path into a ROW; only whole columns have options",
            )


def _engine_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    producer = options.changelog_producer
    place = "changelog-producer"
    first_row = options.merge_engine is MergeEngine.FIRST_ROW
    if first_row and producer in (ChangelogProducer.INPUT, ChangelogProducer.FULL_COMPACTION):
        yield conflict(place, producer, "merge-engine = first-row allows none and lookup only")
    if first_row and options.deletion_vectors_enabled:
        yield conflict("deletion-vectors.enabled", "true", "merge-engine = first-row")
    if options.deletion_vectors_enabled and producer is ChangelogProducer.FULL_COMPACTION:
        yield conflict(place, producer, "deletion-vectors.enabled = true")
    if producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        overwrite = schema.options.get("streaming-read-overwrite", "false")
        if overwrite.strip().lower() == "true":
            yield conflict(
                "streaming-read-overwrite", overwrite, f"changelog-producer = {producer}"
            )
    lookup = producer is ChangelogProducer.LOOKUP
    if lookup and options.full_compaction_delta_commits is not None:
        yield conflict(
            "full-compaction.delta-commits",
            str(options.full_compaction_delta_commits),
            "changelog-producer = lookup",
        )


def _unordered_type_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    places = dict.fromkeys(options.sequence_field, "sequence.field")
    if options.merge_engine is MergeEngine.PARTIAL_UPDATE:
        for key, group in declared_groups(schema.options).items():
            places.update(dict.fromkeys(group.ordering, key))
    for name, place in places.items():
        field = find_field(schema, name)
        if field is not None and not has_order(to_arrow_type(field.type)):
            yield Problem(
                field=place,
                value=f"{name} {field.type}",
                message="this version does not order records by a column of this type",
                hint="order by a number, a date or time, or a text",
            )
