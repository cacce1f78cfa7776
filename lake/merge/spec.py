"""What a table declares about merging, resolved from its schema once.

A `MergeSpec` is all that the machines know of a table: no option is read after it is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lake.errors import Problem, UnsupportedFeature
from lake.format.schema import TableSchema
from lake.merge.declared_options import (
    LAST_NON_NULL_VALUE,
    SequenceGroup,
    declared_groups,
    function_key,
    ignores_retract,
    removing_columns,
)
from lake.options import MergeEngine

__all__ = ["ColumnFunction", "MergeSpec", "SequenceGroup", "columns_needed", "merge_spec"]

SUPPORTED_ENGINES = (MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE)
SUPPORTED_FUNCTIONS = (LAST_NON_NULL_VALUE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFunction:
    """The aggregate function of one column.

    Attributes:
        column: Its name; neither a primary-key column nor an ordering column.
        name: The function, spelt as in the option.
        ignore_retract: Retracts leave the column alone.
    """

    column: str
    name: str
    ignore_retract: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """How records of one key become one row.

    Attributes:
        engine: Deduplicate or partial-update; others are refused by `merge_spec`.
        key_columns: The trimmed primary key, in comparison order.
        not_null_columns: Columns, keys included, that may not be null.
        sequence_fields: Order records of one key before their sequence number does.
        sequence_descending: The largest value of a sequence field merges first.
        groups: Sequence groups; only partial-update has any. No column is in two.
        ignore_delete: Records of kind -D and -U are skipped.
        remove_record_on_delete: A -D removes the row (partial-update without groups).
        removing_columns: Ordering columns whose group's -D removes the row.
        functions: One for every column that has one; only partial-update has any.
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


def merge_spec(schema: TableSchema) -> MergeSpec:
    """Return how the table's records merge.

    Args:
        schema: One that `validate_schema` accepts, or was written by another engine of the format;
            its rules are not checked again.

    Raises:
        UnsupportedFeature: Its engine or an aggregate function is not in this version.
    """
    problems = unsupported_merging(schema)
    if problems:
        text = "the table merges in a way that this version does not support"
        raise UnsupportedFeature(text, problems=problems)
    options = schema.table_options
    partial = options.merge_engine is MergeEngine.PARTIAL_UPDATE
    return MergeSpec(
        engine=options.merge_engine,
        key_columns=tuple(schema.trimmed_primary_keys),
        not_null_columns=frozenset(f.name for f in schema.fields if not f.type.nullable),
        sequence_fields=options.sequence_field,
        sequence_descending=options.sequence_field_descending,
        groups=tuple(declared_groups(schema.options).values()) if partial else (),
        ignore_delete=options.ignore_delete,
        remove_record_on_delete=partial and options.partial_update_remove_record_on_delete,
        removing_columns=frozenset(removing_columns(schema.options) if partial else ()),
        functions=effective_functions(schema) if partial else (),
    )


def effective_functions(schema: TableSchema) -> tuple[ColumnFunction, ...]:
    """Return the aggregate functions that take effect under partial-update, in column order.

    Primary-key and ordering columns have none, whatever the options say (merge-semantics 5).
    """
    ordering = {o for group in declared_groups(schema.options).values() for o in group.ordering}
    exempt = ordering | set(schema.primary_keys)
    return tuple(
        ColumnFunction(
            column=field.name,
            name=schema.options[key],
            ignore_retract=ignores_retract(schema.options, field.name),
        )
        for field in schema.fields
        if field.name not in exempt
        and (key := function_key(schema.options, field.name)) is not None
    )


def unsupported_merging(schema: TableSchema) -> list[Problem]:
    """Return one problem for everything about merging that this version does not execute."""
    engine = schema.table_options.merge_engine
    if engine not in SUPPORTED_ENGINES:
        return [
            Problem(
                field="merge-engine",
                value=str(engine),
                message="this merge engine is not in this version",
                hint=f"supported: {', '.join(SUPPORTED_ENGINES)}",
            )
        ]
    if engine is not MergeEngine.PARTIAL_UPDATE:
        return []
    # A default function is one declaration, however many columns it concerns.
    declared = {
        function_key(schema.options, function.column): function.name
        for function in effective_functions(schema)
    }
    return [
        Problem(
            field=str(key),
            value=name,
            message="this aggregate function is not in this version",
            hint=f"supported: {', '.join(SUPPORTED_FUNCTIONS)}",
        )
        for key, name in declared.items()
        if name not in SUPPORTED_FUNCTIONS
    ]


def columns_needed(spec: MergeSpec, projection: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to read so that merging them answers for the projection.

    Args:
        spec: How the table's records merge.
        projection: Names of table columns, in any order, without repeats.

    Returns:
        The projection in its order, then what merging needs besides: key columns, sequence fields,
        ordering columns of the groups concerned and of groups that can remove a row.

    Source:
        merge-semantics 1.7, widened: the reference leaves out the ordering columns of groups that
        can remove a row, and so shows removed rows under some projections (2.3, consequence 5).
    """
    wanted = set(projection)
    needed = [*projection, *spec.key_columns, *spec.sequence_fields]
    for group in spec.groups:
        concerned = wanted.intersection(group.ordering + group.protected)
        if concerned or spec.removing_columns.intersection(group.ordering):
            needed.extend(group.ordering)
    return tuple(dict.fromkeys(needed))
