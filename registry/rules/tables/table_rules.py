"""Rules for declared tables: the streams that feed a table cannot harm each other's columns.

Pure functions from a declaration to the list of its problems, each with location, value and hint. The rules (decision
0008 has 1 and 6):

1. Every non-key column of a partial-update table is in exactly one sequence group, protected or ordering, because
   sequence numbers of concurrent writers are not ordered: without an order in the data the older of two
   versions can win for good. `unordered: allowed` of the column or of the table accepts that risk explicitly.
2. Groups share no column, and contain neither keys nor another group's ordering columns.
3. A non-key column of a partial-update table is nullable: in the file of one stream the columns of the other
   streams are null.
4. Generated columns of a group do not collide with declared ones.
5. Staleness and completeness, of the table and of its feature views, name groups that exist, and staleness needs
   tracking columns: `row_rules`, `view_rules`. Tests expect columns and groups that exist: `table_test_rules`.
6. Aggregate functions, deletes and default values give the same row in any order of arrival:
   `aggregate_function_rules`, `delete_rules`, `default_rules`. Kept columns have an order of their own:
   `keep_rules`. The time of a delete and of a row's expiry is in a column of the table: `delete_retention`,
   `row_ttl`.
7. Names, key columns and their types, the number of buckets, and options are checked here; `settable_options` lists the
   options that may be set.
8. The engine's own checks (`engine_check`) come last, on the physical table, and only if there is no other problem.
"""

import re
from collections.abc import Collection, Iterator

from braid.lake import (
    InvalidRequest,
    TypeRoot,
    parse_type,
)
from braid.registry import names
from braid.registry.layout.column_functions import column_functions
from braid.registry.layout.declared_types import parsed_type, type_fault
from braid.registry.layout.physical_table import physical_groups, ungrouped_columns
from braid.registry.rules.tables.aggregate_function_rules import check_aggregate_functions
from braid.registry.rules.tables.default_rules import check_defaults
from braid.registry.rules.tables.delete_retention import check_delete_retention
from braid.registry.rules.tables.delete_rules import check_deletes
from braid.registry.rules.tables.engine_check import FIELD_OF_OPTION, check_with_engine
from braid.registry.rules.tables.keep_rules import check_keep
from braid.registry.rules.tables.lookup_index_rules import check_lookup_indexes
from braid.registry.rules.tables.row_rules import check_row_rules
from braid.registry.rules.tables.row_ttl import check_row_ttl
from braid.registry.rules.tables.settable_options import check_option, orders_whole_rows
from braid.registry.rules.tables.table_test_rules import check_table_tests
from braid.registry.rules.tables.view_rules import check_views
from braid.schemas import BUCKETS_MAX, FieldProblem, MergeEngine, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

# Options that are the same for every table.
_FIXED_OPTIONS = ("write-only", "write.sequence-number-init-mode", "type", "path")
# Options with locations of files: a declaration must not reach outside its table's directory.
_LOCATION_OPTION = re.compile(r"(^|[.-])(path|paths|directory|dir|location|warehouse)($|[.-])")
# Options whose values become parts of the names of files or directories.
_NAME_OPTIONS = ("data-file.prefix", "changelog-file.prefix", "partition.default-name")
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
UNORDERED_RISK = "when two jobs write versions of a row at once, the older one may win for good"


def check_table(database: str, name: str, spec: TableSpec) -> list[FieldProblem]:
    """Return all problems of a table's declaration; empty when the table can be created.

    Args:
        database: The first part of its identifier, from the address.
        name: The second part.
        spec: The declaration.
    """
    problems = [
        *names.check_database(database, "database"),
        *names.check_name(name, "table", kind="table"),
        *_check_columns(spec),
        *_check_keys(spec),
        *_check_buckets(spec),
        *_check_groups(spec),
        *_check_generated(spec),
        *_check_group_columns(spec),
        *_check_unordered(spec),
        *check_row_rules(spec),
        *check_views(spec),
        *check_lookup_indexes(spec),
        *check_table_tests(spec),
        *_check_options(spec),
        *check_aggregate_functions(spec),
        *check_deletes(spec),
        *check_delete_retention(spec),
        *check_row_ttl(spec),
        *check_defaults(spec),
        *check_keep(spec),
    ]
    # Only a declaration without other problems is sure to have a physical table.
    return problems or list(check_with_engine(spec))


def _check_columns(spec: TableSpec) -> Iterator[FieldProblem]:
    paths = [("columns", index, "name") for index in range(len(spec.columns))]
    yield from names.check_distinct(spec.column_names, paths, kind="column")
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    keys = frozenset(spec.primary_key)
    for index, column in enumerate(spec.columns):
        yield from names.check_column_name(column.name, "columns", index, "name")
        try:
            data_type = parse_type(column.type)
        except InvalidRequest as error:
            message, hint = type_fault(error)
            yield problem_at(
                "columns", index, "type", value=column.type, message=message, hint=hint
            )
            continue
        if is_partial and not data_type.nullable and column.name not in keys:
            yield problem_at(
                "columns",
                index,
                "type",
                value=column.type,
                message="a non-key column of a partial-update table cannot be NOT NULL: "
                "it is null until its stream has delivered",
                hint=f"write `{data_type.with_nullable(True)}`",
            )


def _check_keys(spec: TableSpec) -> Iterator[FieldProblem]:
    declared = dict.fromkeys(spec.column_names)
    for field, keys in (("primary_key", spec.primary_key), ("partition_keys", spec.partition_keys)):
        yield from _check_references(field, keys, declared)
    yield from _check_key_types(spec)
    primary_key = frozenset(spec.primary_key)
    for index, key in enumerate(spec.partition_keys):
        if key in declared and key not in primary_key:
            yield problem_at(
                "partition_keys",
                index,
                value=key,
                message="a partition column has to be part of the primary key, "
                "or one key could be in two partitions",
                hint=f"add `{key}` to primary_key, or take it out of partition_keys",
            )
    if spec.partition_keys and set(spec.primary_key) <= set(spec.partition_keys):
        yield problem_at(
            "partition_keys",
            value=", ".join(spec.partition_keys),
            message="the primary key needs a column that is not a partition column",
            hint="partition by fewer columns",
        )


def _check_buckets(spec: TableSpec) -> Iterator[FieldProblem]:
    if not 1 <= spec.buckets <= BUCKETS_MAX:
        yield problem_at(
            "buckets",
            value=str(spec.buckets),
            message=f"expected a whole number from 1 to {BUCKETS_MAX}",
            hint="leave it out for the default, 4",
        )


def _check_key_types(spec: TableSpec) -> Iterator[FieldProblem]:
    types = {column.name: parsed_type(column.type) for column in spec.columns}
    for index, key in enumerate(spec.primary_key):
        data_type = types.get(key)
        if data_type is not None and data_type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE):
            yield problem_at(
                "primary_key",
                index,
                value=key,
                message=f"a {data_type.root.value} cannot be a key: -0.0 equals 0.0 and NaN "
                "equals nothing, but their bytes compare otherwise, so a row could be found "
                "twice or never",
                hint="use DECIMAL, an integer or STRING",
            )
    for index, key in enumerate(spec.partition_keys):
        data_type = types.get(key)
        if data_type is not None and data_type.root in (TypeRoot.BINARY, TypeRoot.VARBINARY):
            yield problem_at(
                "partition_keys",
                index,
                value=key,
                message="a partition's directory is named by its values, and bytes cannot be a "
                "name",
                hint="partition by another column",
            )


def _check_references(
    field: str, columns: tuple[str, ...], declared: Collection[str], *prefix: str | int
) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for index, column in enumerate(columns):
        if column not in declared:
            yield problem_at(
                *prefix,
                field,
                index,
                value=column,
                message="no such column",
                hint=f"columns: {quoted_list(declared)}",
            )
        elif column in seen:
            yield problem_at(
                *prefix, field, index, value=column, message="named twice", hint="name it once"
            )
        seen.add(column)


def _check_groups(spec: TableSpec) -> Iterator[FieldProblem]:
    groups = spec.sequence_groups
    if groups and spec.merge_engine is not MergeEngine.PARTIAL_UPDATE:
        yield problem_at(
            "sequence_groups",
            value=quoted_list(group.name for group in groups),
            message="only partial-update tables have sequence groups, and this is a "
            f"{spec.merge_engine.value} table",
            hint="use merge_engine `partial-update`, or order whole rows by the option "
            "`sequence.field`",
        )
    paths = [("sequence_groups", index, "name") for index in range(len(groups))]
    yield from names.check_distinct([g.name for g in groups], paths, kind="sequence group")
    declared = dict.fromkeys(spec.column_names)
    for index, group in enumerate(groups):
        yield from names.check_name(
            group.name, "sequence_groups", index, "name", kind="sequence group"
        )
        for field, columns in (("ordering", group.ordering or ()), ("columns", group.columns)):
            yield from _check_references(field, columns, declared, "sequence_groups", index)


def _check_group_columns(spec: TableSpec) -> Iterator[FieldProblem]:
    owner: dict[str, str] = {}
    keys = frozenset(spec.primary_key)
    for index, group in enumerate(spec.sequence_groups):
        for field, columns in (("ordering", group.ordering or ()), ("columns", group.columns)):
            here: set[str] = set()
            for position, column in enumerate(columns):
                path = ("sequence_groups", index, field, position)
                if column in keys:
                    yield problem_at(
                        *path,
                        value=column,
                        message="a key column cannot be in a sequence group",
                        hint="take it out: the key is the same in every version of a row",
                    )
                # A column that one list names twice is reported by `_check_references` already.
                elif column in owner and column not in here:
                    yield problem_at(
                        *path,
                        value=column,
                        message=f"the column is in the sequence group `{owner[column]}` already",
                        hint="a column can be in only one group, and only once",
                    )
                else:
                    owner[column] = group.name
                here.add(column)


def _check_generated(spec: TableSpec) -> Iterator[FieldProblem]:
    # Groups cannot collide with each other: equal suffixes mean equal names.
    declared = {name.lower(): index for index, name in enumerate(spec.column_names)}
    for group in physical_groups(spec):
        for name in group.generated_columns:
            if name.lower() in declared:
                yield problem_at(
                    "columns",
                    declared[name.lower()],
                    "name",
                    value=spec.columns[declared[name.lower()]].name,
                    message=f"the sequence group `{group.name}` generates a column of this name",
                    hint="rename the column or the group",
                )


def _check_unordered(spec: TableSpec) -> Iterator[FieldProblem]:
    is_partial = spec.merge_engine is MergeEngine.PARTIAL_UPDATE
    plain, functions = ungrouped_columns(spec), column_functions(spec)
    for index, one in enumerate(spec.columns):
        is_open = (is_partial and one.name in plain) or one.name in functions
        if one.unordered is not None and not is_open:
            yield problem_at(
                "columns",
                index,
                "unordered",
                value=one.unordered,
                message="the column is ordered by its group or by the merge engine, so this has no effect",
                hint="leave it out; it is for columns without a sequence group or with a function",
            )
    if not is_partial:
        return
    # Reversed, so that a repeated name leads to its first column.
    positions = {name: index for index, name in reversed(list(enumerate(spec.column_names)))}
    allowed = spec.unordered_columns
    for column in plain:
        if column in allowed:
            continue
        yield problem_at(
            "columns",
            positions[column],
            "name",
            value=column,
            message=f"no sequence group orders this column: {UNORDERED_RISK}",
            hint="add it to the `columns` of a sequence group, or accept the risk for the column, or "
            "for the table, with `unordered: allowed`",
        )


def _check_options(spec: TableSpec) -> Iterator[FieldProblem]:
    for key, value in spec.options.items():
        if key in FIELD_OF_OPTION:
            message = "a field of the declaration sets this"
            hint = f"use the field `{FIELD_OF_OPTION[key]}`"
        elif key in _FIXED_OPTIONS:
            message = "this option is the same for every table"
            hint = "leave it out"
        elif key.startswith("fields."):
            message = "options of single columns are fields of the declaration"
            hint = "use `aggregate` of the column, or `sequence_groups`"
        elif orders_whole_rows(spec, key):
            message = "one order of whole rows would let one stream hold back another's columns"
            hint = "name the ordering columns of each sequence group"
        elif _LOCATION_OPTION.search(key):
            message = "the warehouse decides where files are"
            hint = "leave it out"
        elif key in _NAME_OPTIONS and not _FILE_NAME.fullmatch(value):
            message = "this becomes part of file names: expected letters, digits, `_`, `-` and `.`"
            hint = "for example `data-`"
        elif key == "file.compression" and value.strip().lower() not in _COMPRESSIONS:
            message = f"no such compression; known: {quoted_list(_COMPRESSIONS)}"
            hint = "write `zstd`, or leave it out"
        else:
            yield from check_option(spec, key)
            continue
        yield problem_at("options", key, value=value, message=message, hint=hint)
