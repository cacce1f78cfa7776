"""What a table may declare about keys and merging: every rule, checked before any data exists.

All rules are looked at and everything that is wrong is told at once. What the reference leaves to
chance is refused: an ordering column of two groups, or one that a group protects.

Source: merge-semantics 2.5, 3.1, 3.3, 8.4.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from lake.errors import InvalidRequest, Problem, UnsupportedFeature
from lake.format.data_types import DataField, TypeRoot
from lake.format.schema import TableSchema
from lake.format.system_columns import RESERVED_NAMES, is_reserved
from lake.merge.declared_options import (
    DEFAULT_FUNCTION,
    FIELDS,
    FUNCTIONS,
    LAST_NON_NULL_VALUE,
    REMOVE_ON_GROUP,
    SequenceGroup,
    declared_functions,
    declared_groups,
    is_group_key,
    is_well_formed_group_key,
    removing_columns,
    split_names,
)
from lake.merge.spec import effective_functions, unsupported_merging
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
        problems.extend(_fields_option_problems(schema))
        problems.extend(_engine_problems(schema, options))
        if options.merge_engine is MergeEngine.PARTIAL_UPDATE:
            problems.extend(_partial_update_problems(schema, options))
        unsupported.extend(unsupported_merging(schema))
        unsupported.extend(_unordered_type_problems(schema, options))
    if problems:
        text = "the table cannot be made as declared"
        raise InvalidRequest(text, problems=[*problems, *unsupported])
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
        yield from _repeated(place, names)
        for name in dict.fromkeys(names):
            field = _find(schema, name)
            if field is None:
                yield _unknown_column(place, name, schema)
            elif field.type.is_nested:
                yield Problem(
                    field=place,
                    value=f"{name} {field.type}",
                    message="a key column cannot be an ARRAY, MAP, MULTISET or ROW",
                )


def _bucket_key_problems(schema: TableSchema) -> Iterator[Problem]:
    place = "bucket-key"
    declared = schema.options.get(place)
    if declared is None:
        return
    for name in (name.strip() for name in split_names(declared)):
        if _find(schema, name) is None:
            yield _unknown_column(place, name, schema)
        elif schema.primary_keys and name not in schema.primary_keys:
            yield Problem(
                field=place,
                value=name,
                message="the column is not in the primary key, so one key could be in two buckets",
                hint=f"primary key: {', '.join(schema.primary_keys)}",
            )


def _column_problems(schema: TableSchema) -> Iterator[Problem]:
    yield from _repeated("columns", schema.field_names)
    for name in dict.fromkeys(schema.field_names):
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
    yield from _repeated(place, names)
    for name in dict.fromkeys(names):
        if _find(schema, name) is None:
            yield _unknown_column(place, name, schema)
        key = f"fields.{name}.aggregate-function"
        if key in schema.options:
            yield Problem(
                field=key,
                value=schema.options[key],
                message="a sequence field cannot have an aggregate function",
            )
    if options.merge_engine is MergeEngine.FIRST_ROW:
        yield _conflict(place, declared, "merge-engine = first-row keeps the first record written")
    outside = [name for name in schema.partition_keys if name not in schema.primary_keys]
    if schema.primary_keys and outside:
        yield Problem(
            field=place,
            value=declared,
            message="no sequence field while rows can move between partitions",
            hint=f"add the partition columns to the primary key: {', '.join(outside)}",
        )


def _fields_option_problems(schema: TableSchema) -> Iterator[Problem]:
    """Yield what is wrong with the columns that `fields.*` options name, under any engine."""
    for key in sorted(key for key in schema.options if key.startswith(FIELDS)):
        segments = key.split(".")
        names = split_names(segments[1]) if len(segments) > 1 else ()
        if not names:
            yield Problem(field=key, value=schema.options[key], message="the key names no column")
        for name in names:
            if name != DEFAULT_FUNCTION.split(".")[1] and _find(schema, name) is None:
                yield _unknown_column(key, name, schema)
        field = _find(schema, names[0]) if len(names) == 1 else None
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
        yield _conflict(place, producer, "merge-engine = first-row allows none and lookup only")
    if first_row and options.deletion_vectors_enabled:
        yield _conflict("deletion-vectors.enabled", "true", "merge-engine = first-row")
    if options.deletion_vectors_enabled and producer is ChangelogProducer.FULL_COMPACTION:
        yield _conflict(place, producer, "deletion-vectors.enabled = true")
    if producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        overwrite = schema.options.get("streaming-read-overwrite", "false")
        if overwrite.strip().lower() == "true":
            yield _conflict(
                "streaming-read-overwrite", overwrite, f"changelog-producer = {producer}"
            )
    lookup = producer is ChangelogProducer.LOOKUP
    if lookup and options.full_compaction_delta_commits is not None:
        yield _conflict(
            "full-compaction.delta-commits",
            str(options.full_compaction_delta_commits),
            "changelog-producer = lookup",
        )


def _partial_update_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    groups = declared_groups(schema.options)
    for key in sorted(filter(is_group_key, schema.options)):
        if not is_well_formed_group_key(key):
            yield Problem(
                field=key,
                value=schema.options[key],
                message="not the key of a sequence group",
                hint="write `fields.<ordering columns>.sequence-group`",
            )
    for key, group in groups.items():
        yield from _group_problems(schema, key, group)
    yield from _shared_column_problems(groups)
    yield from _delete_problems(schema, options, groups)
    yield from _function_problems(schema, groups)


def _group_problems(schema: TableSchema, key: str, group: SequenceGroup) -> Iterator[Problem]:
    # Unknown ordering columns are told by the check of all `fields.*` keys.
    for name in dict.fromkeys(group.protected):
        if _find(schema, name) is None:
            yield _unknown_column(key, name, schema)
    for name in dict.fromkeys(group.ordering + group.protected):
        if name in schema.primary_keys:
            yield Problem(
                field=key, value=name, message="a primary-key column cannot be in a sequence group"
            )


def _shared_column_problems(groups: dict[str, SequenceGroup]) -> Iterator[Problem]:
    """Yield every column that takes more than one part in sequence groups."""
    protecting: dict[str, list[str]] = {}
    ordered_by: dict[str, list[str]] = {}
    for key, group in groups.items():
        for name in group.protected:
            protecting.setdefault(name, []).append(key)
        for name in group.ordering:
            ordered_by.setdefault(name, []).append(key)
    for name, keys in protecting.items():
        if len(keys) > 1:
            yield Problem(
                field=keys[-1],
                value=name,
                message="the column is protected more than once",
                hint=f"also by {keys[0]}",
            )
    for name, keys in ordered_by.items():
        if len(keys) > 1:
            yield Problem(
                field=keys[-1],
                value=name,
                message="the column orders more than once; other engines leave open what that does",
                hint=f"also in {keys[0]}; give each group ordering columns of its own",
            )
        for key in protecting.get(name, [])[:1]:
            yield Problem(
                field=key,
                value=name,
                message="an ordering column is protected; other engines leave open what that does",
                hint=f"it orders {keys[0]} and changes together with that group",
            )


def _delete_problems(
    schema: TableSchema, options: TableOptions, groups: dict[str, SequenceGroup]
) -> Iterator[Problem]:
    removing = removing_columns(schema.options)
    on_delete = "partial-update.remove-record-on-delete"
    if options.partial_update_remove_record_on_delete:
        if options.ignore_delete:
            yield _conflict(on_delete, "true", "ignore-delete = true")
        if groups:
            hint = f"sequence groups; name ordering columns in {REMOVE_ON_GROUP} instead"
            yield _conflict(on_delete, "true", hint)
    if removing and options.ignore_delete:
        yield _conflict(REMOVE_ON_GROUP, ",".join(removing), "ignore-delete = true")
    ordering = {name for group in groups.values() for name in group.ordering}
    for name in removing:
        if name not in ordering:
            yield Problem(
                field=REMOVE_ON_GROUP,
                value=name,
                message="not an ordering column of a sequence group",
                hint=f"ordering columns: {', '.join(sorted(ordering)) or 'none'}",
            )


def _function_problems(schema: TableSchema, groups: dict[str, SequenceGroup]) -> Iterator[Problem]:
    protected = {name for group in groups.values() for name in group.protected}
    for key, name in declared_functions(schema.options).items():
        if name not in FUNCTIONS:
            yield Problem(
                field=key,
                value=name,
                message="there is no such aggregate function",
                hint=f"functions: {', '.join(FUNCTIONS)}",
            )
    for function in effective_functions(schema):
        plain = function.name == LAST_NON_NULL_VALUE or function.name not in FUNCTIONS
        if not plain and function.column not in protected:
            yield Problem(
                field=function.column,
                value=function.name,
                message="a column with an aggregate function has to be in a sequence group",
                hint=f"protect it by a group, or use {LAST_NON_NULL_VALUE}",
            )


def _unordered_type_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    places = dict.fromkeys(options.sequence_field, "sequence.field")
    if options.merge_engine is MergeEngine.PARTIAL_UPDATE:
        for key, group in declared_groups(schema.options).items():
            places.update(dict.fromkeys(group.ordering, key))
    for name, place in places.items():
        field = _find(schema, name)
        if field is not None and field.type.is_nested:
            yield Problem(
                field=place,
                value=f"{name} {field.type}",
                message="this version does not order records by a column of this type",
                hint="order by a number, a date or time, or a text",
            )


def _find(schema: TableSchema, name: str) -> DataField | None:
    return next((field for field in schema.fields if field.name == name), None)


def _repeated(place: str, names: Sequence[str]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem(field=place, value=name, message="the column is named more than once")


def _unknown_column(place: str, name: str, schema: TableSchema) -> Problem:
    return Problem(
        field=place,
        value=name,
        message="the table has no such column",
        hint=f"columns: {', '.join(schema.field_names)}",
    )


def _conflict(place: str, value: str, other: str) -> Problem:
    return Problem(
        field=place, value=value, message=f"in conflict with {other}", hint="choose one of the two"
    )
