"""Rules for partial-update tables: sequence groups, deletes, aggregate functions outside of groups.

Source: merge-semantics 2.5, 3.2, 3.3, 5.
"""

from collections.abc import Iterator

from braid.lake.declaration.engine_declarations import why_excluded
from braid.lake.declaration.rule_problems import (
    conflict,
    find_field,
    known_names,
    unknown_column,
    unordered_type,
)
from braid.lake.declaration.sequence_rules import unknown_columns_of_key
from braid.lake.errors import Problem
from braid.lake.format.data_types import holds_variant
from braid.lake.format.schema import TableSchema
from braid.lake.merge.declared_options import (
    LAST_NON_NULL_VALUE,
    REMOVE_ON_GROUP,
    SequenceGroup,
    declared_groups,
    function_key,
    is_group_key,
    is_well_formed_group_key,
    removing_columns,
)
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.spec import effective_functions
from braid.lake.options.table_options import MergeEngine, TableOptions

_REMOVE_ON_DELETE = "partial-update.remove-record-on-delete"


def partial_update_problems(schema: TableSchema, options: TableOptions) -> Iterator[Problem]:
    """Yield the problems of sequence groups, deletes and columns that need a group."""
    groups = declared_groups(schema.options)
    for key in sorted(filter(is_group_key, schema.options)):
        if not is_well_formed_group_key(key):
            yield Problem(
                field=key,
                value=schema.options[key],
                message="the name of the option does not have the form of a sequence group",
                hint="write `fields.<ordering columns>.sequence-group`",
            )
    for key, group in groups.items():
        yield from _group_problems(schema, key, group)
    yield from _shared_column_problems(groups)
    yield from _delete_problems(schema, options, groups)
    yield from _unprotected_problems(schema, groups)


def _group_problems(schema: TableSchema, key: str, group: SequenceGroup) -> Iterator[Problem]:
    reported = unknown_columns_of_key(schema, key)
    # `fields_option_problems` reports names whose part up to the first dot is no column. The name of a
    # column may have dots, so here whole names are checked, except those reported already.
    ordering = [name for name in group.ordering if name.split(".")[0] not in reported]
    for name in dict.fromkeys((*ordering, *group.protected)):
        field = find_field(schema, name)
        if field is None:
            yield unknown_column(key, name, schema)
        elif name in group.ordering and holds_variant(field.type):
            yield unordered_type(key, field)
    for name in dict.fromkeys(group.ordering + group.protected):
        if name in schema.primary_keys:
            yield Problem(
                field=key,
                value=name,
                message="a primary-key column cannot be in a sequence group",
                hint="take it out: the key is the same in every record of a row",
            )


def _shared_column_problems(groups: dict[str, SequenceGroup]) -> Iterator[Problem]:
    """Yield a problem for every column that has more than one role in sequence groups."""
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
                message="the column is in more than one sequence group",
                hint=f"it is also in {keys[0]}; take it out of one of them",
            )
    for name, keys in ordered_by.items():
        if len(keys) > 1:
            yield Problem(
                field=keys[-1],
                value=name,
                message="the column orders more than one group; other engines do not define the result",
                hint=f"the column is also in {keys[0]}; give each group ordering columns of its own",
            )
        for key in protecting.get(name, [])[:1]:
            yield Problem(
                field=key,
                value=name,
                message="an ordering column is also listed as a column of a sequence group; other engines do not "
                "define the result",
                hint=f"take it out of this list: it already changes together with {keys[0]}",
            )


def _delete_problems(
    schema: TableSchema, options: TableOptions, groups: dict[str, SequenceGroup]
) -> Iterator[Problem]:
    removing = removing_columns(schema.options)
    if options.partial_update_remove_record_on_delete:
        if options.ignore_delete:
            yield _conflict(_REMOVE_ON_DELETE, "true", "ignore-delete", " = true")
        if groups:
            yield _conflict(_REMOVE_ON_DELETE, "true", "sequence groups")
    if removing and options.ignore_delete:
        yield _conflict(REMOVE_ON_GROUP, ",".join(removing), "ignore-delete", " = true")
    ordering = sorted({name for group in groups.values() for name in group.ordering})
    for name in removing:
        if name not in ordering:
            yield Problem(
                field=REMOVE_ON_GROUP,
                value=name,
                message="the column is not an ordering column of a sequence group",
                hint=known_names("ordering columns", name, ordering),
            )


def _conflict(key: str, value: str, other: str, set_to: str = "") -> Problem:
    why = why_excluded(MergeEngine.PARTIAL_UPDATE, key, other)
    return conflict(key, value, f"{other}{set_to}", why)


def _unprotected_problems(
    schema: TableSchema, groups: dict[str, SequenceGroup]
) -> Iterator[Problem]:
    protected = {name for group in groups.values() for name in group.protected}
    for function in effective_functions(schema):
        # `function_problems` reports unknown functions.
        plain = function.name == LAST_NON_NULL_VALUE or function_named(function.name) is None
        if not plain and function.column not in protected:
            yield Problem(
                field=str(function_key(schema.options, function.column)),
                value=function.name,
                message=f"column `{function.column}` is in no sequence group, and only columns of a group can be "
                "aggregated",
                hint=f"put it into a sequence group, or use {LAST_NON_NULL_VALUE}",
            )
