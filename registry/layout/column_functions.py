"""Aggregate functions of declared columns, and their dependence on order and repetition.

A function is order-free if its value is the same in any order of arrival. If several streams write a column, or records
can be late, the column's function has to be order-free, unless `unordered: allowed` accepts the dependence (decision
0008; `aggregation_table_rules` names functions that it does not cover). In a sequence group `last_value` is always
allowed, because the group's order decides its value. The rules that call this module make these exceptions.
"""

from collections.abc import Mapping

from braid.lake import DataType, TypeRoot, UnsupportedFeature, function_named
from braid.lake.aggregates import FunctionDeclaration
from braid.schemas import AggregateSpec, MergeEngine, TableSpec

LAST_NON_NULL_VALUE = "last_non_null_value"
LAST_VALUE = "last_value"
FIRST_VALUE = "first_value"
FUNCTION_ENGINES = (MergeEngine.AGGREGATION, MergeEngine.PARTIAL_UPDATE)

_FLOATS = (TypeRoot.FLOAT, TypeRoot.DOUBLE)
_ARITHMETIC = ("sum", "product")
_DISTINCT = ("collect", "listagg")
_REPEATABLE = frozenset(
    {
        "bool_and",
        "bool_or",
        "first_non_null_value",
        "first_value",
        "hll_sketch",
        "last_non_null_value",
        "last_value",
        "max",
        "merge_map",
        "merge_map_with_keytime",
        "min",
        "nested_partial_update",
        "rbm32",
        "rbm64",
        "theta_sketch",
    }
)
_RISK = "accept the risk for the column, or for the table, with `unordered: allowed`"


def sequence_fields(spec: TableSpec) -> tuple[str, ...]:
    """Return the columns of the option `sequence.field`, which orders whole rows."""
    declared = spec.options.get("sequence.field", "")
    return tuple(name.strip() for name in declared.split(",") if name.strip())


def column_functions(spec: TableSpec) -> Mapping[str, AggregateSpec]:
    """Return the function that takes effect on each column, in the table's order.

    Keys, ordering columns and columns that merge without a function are left out.
    """
    if spec.merge_engine not in FUNCTION_ENGINES:
        return {}
    is_aggregation = spec.merge_engine is MergeEngine.AGGREGATION
    default = spec.default_aggregate or (LAST_NON_NULL_VALUE if is_aggregation else None)
    ordering = {name for group in spec.sequence_groups for name in group.ordering or ()}
    exempt = ordering.union(spec.primary_key)
    last_values = sequence_fields(spec) if is_aggregation else ()
    functions: dict[str, AggregateSpec] = {}
    for column in spec.columns:
        if column.name in exempt:
            continue
        # The engine gives sequence fields this function, whatever the default of the table is.
        if column.name in last_values:
            functions[column.name] = AggregateSpec(function=LAST_VALUE)
        elif column.aggregate is not None:
            functions[column.name] = column.aggregate
        elif default is not None:
            functions[column.name] = AggregateSpec(function=default)
    return functions


def declared_function(name: str) -> FunctionDeclaration | None:
    """Return the declaration of a function; None when there is none, or its package is broken."""
    try:
        return function_named(name)
    except UnsupportedFeature:  # a broken package: the engine's checks report it
        return None


def why_order_matters(name: str, data_type: DataType) -> str | None:
    """Return why a column's value depends on the order of arrival; None when it does not.

    Args:
        name: A function; None is returned for an unknown one.
        data_type: The column's type.
    """
    declaration = declared_function(name)
    if declaration is None:
        return None
    if not declaration.order_free:
        return f"the result of `{name}` depends on the order in which records arrive"
    if name in _ARITHMETIC and data_type.root in _FLOATS:
        return (
            f"a {name} of {data_type.root.value} is rounded at each record, so its last digits "
            "depend on the order in which records arrive"
        )
    if name == "product" and data_type.root is TypeRoot.DECIMAL and data_type.scale:
        return (
            "a product of DECIMAL is rounded at each record, so its last digits depend on the "
            "order in which records arrive"
        )
    return None


def why_repetition_matters(function: AggregateSpec) -> str | None:
    """Return why a repeated value changes the column; None when it does not.

    A user's own function is assumed to count repeated values, because its declaration does not cover this.
    """
    declaration = declared_function(function.function)
    # An alias, such as `first_not_null_value`, is the same function.
    name = function.function if declaration is None else declaration.name
    is_distinct = name in _DISTINCT and bool(function.distinct)
    is_keyed = name == "nested_update" and function.nested_key is not None
    if name in _REPEATABLE or is_distinct or is_keyed:
        return None
    return f"`{name}` counts a value again when its record is read again"


def order_hint(name: str) -> str:
    """Return the hint for a column whose function depends on order."""
    instead = "use an integer or, for sums, DECIMAL" if name in _ARITHMETIC else ""
    return f"{instead or 'choose an order-free function'}, or {_RISK}"
