"""Merge specifications: everything that a schema declares about merging; and the columns that a merge has to read.

`effective_functions` decides which column has which aggregate function. A specification has the options of a function
as they are declared; they are parsed when the function is created.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.format.schema import TableSchema
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.declared_options import (
    LAST_NON_NULL_VALUE,
    LAST_VALUE,
    SequenceGroup,
    declared_groups,
    function_key,
    ignores_retract,
    options_by_column,
    removing_columns,
)
from braid.lake.merge.functions.registry import FUNCTIONS, function_named
from braid.lake.options.table_options import MergeEngine

__all__ = ["ColumnFunction", "MergeSpec", "SequenceGroup", "columns_needed", "merge_spec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """How records of one key become one row.

    Attributes:
        engine: The merge engine.
        columns: All columns of the table, in its order.
        key_columns: The trimmed primary key, in comparison order.
        not_null_columns: Columns, keys included, that may not be null.
        sequence_fields: Columns that order records of one key, before the sequence number.
        sequence_descending: The largest value of a sequence field merges first.
        groups: Sequence groups; only under partial-update. No column is in two.
        ignore_delete: Records of kind -D and -U are skipped; never under aggregation.
        remove_record_on_delete: A -D removes the row (aggregation, partial-update without groups).
        removing_columns: Ordering columns of the groups whose -D removes the row.
        functions: One function per column that has one: under aggregation every column outside the
            key, under partial-update those that declare one, or all but key and ordering columns if
            the table declares a default function. Other engines have none.
    """

    engine: MergeEngine
    key_columns: tuple[str, ...]
    not_null_columns: frozenset[str] = frozenset()
    sequence_fields: tuple[str, ...] = ()
    sequence_descending: bool = False
    groups: tuple[SequenceGroup, ...] = ()
    ignore_delete: bool = False
    remove_record_on_delete: bool = False
    removing_columns: frozenset[str] = frozenset()
    functions: tuple[ColumnFunction, ...] = ()
    columns: tuple[str, ...] = ()


def merge_spec(schema: TableSchema) -> MergeSpec:
    """Return how the table's records merge.

    Args:
        schema: A schema that `validate_schema` accepts, or that another engine of the format wrote;
            the rules are not checked again.

    Raises:
        UnsupportedFeature: The schema has an aggregate function that is unknown here.
    """
    functions = effective_functions(schema)
    problems = _unknown(functions, schema)
    if problems:
        text = "the table uses an aggregate function that is unknown here"
        raise UnsupportedFeature(text, problems=problems)
    options = schema.table_options
    engine = options.merge_engine
    partial = engine is MergeEngine.PARTIAL_UPDATE
    removes = {
        MergeEngine.PARTIAL_UPDATE: options.partial_update_remove_record_on_delete,
        MergeEngine.AGGREGATION: options.aggregation_remove_record_on_delete,
    }
    return MergeSpec(
        engine=engine,
        key_columns=tuple(schema.trimmed_primary_keys),
        not_null_columns=frozenset(f.name for f in schema.fields if not f.type.nullable),
        sequence_fields=options.sequence_field,
        sequence_descending=options.sequence_field_descending,
        groups=tuple(declared_groups(schema.options).values()) if partial else (),
        ignore_delete=options.ignore_delete and engine is not MergeEngine.AGGREGATION,
        remove_record_on_delete=removes.get(engine, False),
        removing_columns=frozenset(removing_columns(schema.options) if partial else ()),
        functions=functions,
        columns=tuple(schema.field_names),
    )


def effective_functions(schema: TableSchema) -> tuple[ColumnFunction, ...]:
    """Return the aggregate functions that take effect, in column order.

    Primary-key and ordering columns have no function, whatever the options declare. A column that
    declares none has the function of `fields.default-aggregate-function`, if the table sets that option.
    Otherwise it has `last_non_null_value` under aggregation, and none under partial-update. Under
    aggregation a sequence field has `last_value`.

    Source: merge-semantics 5.
    """
    engine = schema.table_options.merge_engine
    if engine not in (MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATION):
        return ()
    return tuple(_functions_of(schema, aggregation=engine is MergeEngine.AGGREGATION))


def _functions_of(schema: TableSchema, *, aggregation: bool) -> Iterator[ColumnFunction]:
    groups = {} if aggregation else declared_groups(schema.options)
    exempt = {name for group in groups.values() for name in group.ordering}
    exempt.update(schema.primary_keys)
    options_of = options_by_column(schema.options)
    for name in schema.field_names:
        if name in exempt:
            continue
        key = function_key(schema.options, name)
        if aggregation and name in schema.table_options.sequence_field:
            function = LAST_VALUE
        elif key is not None:
            function = schema.options[key]
        elif aggregation:
            function = LAST_NON_NULL_VALUE
        else:
            continue
        yield ColumnFunction(
            column=name,
            name=function,
            ignore_retract=ignores_retract(schema.options, name),
            options=options_of.get(name, ()),
            type=schema.field(name).type,
        )


def _unknown(functions: Sequence[ColumnFunction], schema: TableSchema) -> list[Problem]:
    """Return one problem for every declaration of an aggregate function that is unknown here."""
    # A default function is one declaration, whatever the number of its columns.
    declared = {
        function_key(schema.options, function.column): function.name for function in functions
    }
    return [
        Problem(
            field=str(key),
            value=name,
            message="unknown aggregate function",
            hint=f"known: {', '.join(sorted(FUNCTIONS))}; a custom function has to be "
            "installed wherever the table is merged",
        )
        for key, name in declared.items()
        if function_named(name) is None
    ]


def columns_needed(spec: MergeSpec, projection: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to read so that the projection merges as the whole table does.

    Args:
        spec: How the table's records merge.
        projection: Names of table columns, in any order, without repeats.

    Returns:
        The projection in its order, then the other columns that merging needs: key columns, sequence
        fields, ordering columns of the groups that any of these belong to and of groups that can
        remove a row. If there are such groups, all of these are in table order: a delete that removes
        the row is not retracted from the columns that follow, and one of these could refuse it.
        Called with this result as the projection, the function returns the same columns.

    Source:
        merge-semantics 1.7, widened: the reference leaves out the ordering columns of groups that
        can remove a row, and so shows removed rows under some projections (2.3, consequence 5).
    """
    needed = dict.fromkeys([*projection, *spec.key_columns, *spec.sequence_fields])
    count = 0
    # Repeated until nothing is added: a sequence field may belong to a group itself, and one group
    # may protect the ordering columns of another.
    while count < len(needed):
        count = len(needed)
        for group in spec.groups:
            concerned = needed.keys() & {*group.ordering, *group.protected}
            if concerned or spec.removing_columns.intersection(group.ordering):
                needed.update(dict.fromkeys(group.ordering))
    if not spec.removing_columns:
        return tuple(needed)
    return tuple(name for name in spec.columns if name in needed)
