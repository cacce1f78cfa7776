"""Filters of Spark's queries as conditions of a scan.

A filter is taken if there are conditions that keep the same rows as Spark does, whatever the column holds:

| filter | conditions |
|---|---|
| `=`, `<`, `<=`, `>`, `>=`, and the negation of one | a comparison |
| `<=>` with a value, with null | `=`, IS NULL |
| the negation of `<=>` with null | IS NOT NULL |
| IN, NOT IN | IN, a comparison for each value |
| IS NULL, IS NOT NULL | the same |
| LIKE 'text%' | the range of texts that begin so |

All others are left to Spark, which evaluates them on the rows of the scan. So are comparisons that would not mean the same:

- with parts of nested columns;
- with timestamps of more than six digits: Spark compares them cut to microseconds, a scan compares them whole;
- with values of DECIMAL of 28 digits or more, which Spark rounds on their way to a Python data source.

FLOAT and DOUBLE mean the same except for zero: a scan orders -0.0 before 0.0, Spark takes them as equal. NaN is to both
equal to itself and above all other values.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, getcontext
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from braid.lake import (
    Condition,
    DataType,
    InvalidRequest,
    Operator,
    TableSchema,
    TypeRoot,
    bind_conditions,
    text_after,
)

_COMPARISONS: Final[dict[type[Filter], Operator]] = {
    EqualTo: Operator.EQUAL,
    LessThan: Operator.LESS,
    LessThanOrEqual: Operator.LESS_OR_EQUAL,
    GreaterThan: Operator.GREATER,
    GreaterThanOrEqual: Operator.GREATER_OR_EQUAL,
}
_OPPOSITES: Final = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}
_FIRST_ZERO: Final = (Operator.LESS, Operator.GREATER_OR_EQUAL)
"""Comparisons with zero that mean the smaller one, -0.0. The others mean 0.0."""
_NOT_IN_MAX: Final = 16
"""A scan compares a column once for each value of NOT IN."""
_MICROSECONDS: Final = 6
_TIMESTAMPS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedFilters:
    """The filters of a query, divided.

    Attributes:
        conditions: What the scan evaluates, a conjunction.
        left: What Spark has to evaluate: filters of the query, the same objects, in their order.
    """

    conditions: tuple[Condition, ...]
    left: tuple[Filter, ...]


def push_filters(filters: Iterable[Filter], schema: TableSchema) -> PushedFilters:
    """Return the conditions for the filters of a query, and the filters that are left to Spark.

    Args:
        filters: A conjunction.
        schema: The columns.
    """
    conditions: list[Condition] = []
    left: list[Filter] = []
    for one in filters:
        found = _conditions(one, schema)
        if found is not None and _fit(found, schema):
            conditions += found
        else:
            left.append(one)
    return PushedFilters(conditions=tuple(conditions), left=tuple(left))


def _fit(conditions: Sequence[Condition], schema: TableSchema) -> bool:
    """Return whether the columns' types have the values exactly."""
    try:
        bind_conditions(conditions, schema)
    except InvalidRequest:
        return False
    return True


def _conditions(pushed: Filter, schema: TableSchema) -> list[Condition] | None:
    """Return the conditions that keep the same rows; None if there are none."""
    inner = pushed.child if isinstance(pushed, Not) else pushed
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    column = path[0] if len(path) == 1 else None
    if column is None or column not in schema.field_names:
        return None
    match pushed:
        case IsNull() | Not(child=IsNotNull()) | EqualNullSafe(value=None):
            return [Condition(column=column, op=Operator.IS_NULL)]
        case IsNotNull() | Not(child=IsNull()) | Not(child=EqualNullSafe(value=None)):
            return [Condition(column=column, op=Operator.NOT_NULL)]
        case _:
            return _value_conditions(pushed, inner, column, schema.field(column).type)


def _value_conditions(
    pushed: Filter, inner: Filter, column: str, kind: DataType
) -> list[Condition] | None:
    """Return the conditions for a filter with values; `inner` is what it negates, or itself."""
    given: Any = getattr(inner, "value", None)
    values: Sequence[object] = list(inner.value) if isinstance(inner, In) else [given]
    if not _are_compared_whole(values, kind):
        return None
    is_float = kind.root in _FLOATS
    op = _COMPARISONS.get(type(inner))
    if op is not None:
        op = _OPPOSITES[op] if isinstance(pushed, Not) else op
        return _compared(column, op, given, is_float=is_float)
    match pushed:
        case EqualNullSafe():
            return _compared(column, Operator.EQUAL, given, is_float=is_float)
        case In():
            return [_one_of(column, values, is_float=is_float)]
        case Not(child=In()) if 0 < len(values) <= _NOT_IN_MAX:
            return [
                condition
                for value in values
                for condition in _compared(column, Operator.NOT_EQUAL, value, is_float=is_float)
            ]
        case StringStartsWith(value=prefix):
            return _beginning(column, prefix)
        case _:
            return None


def _are_compared_whole(values: Sequence[object], kind: DataType) -> bool:
    """Return whether Spark compares the values that the column has with the values that the query has."""
    if kind.root in _TIMESTAMPS and (kind.precision or 0) > _MICROSECONDS:
        return False
    digits = getcontext().prec
    return not any(
        isinstance(value, Decimal) and len(value.as_tuple().digits) >= digits for value in values
    )


def _compared(column: str, op: Operator, value: object, *, is_float: bool) -> list[Condition]:
    """Return a comparison as Spark means it."""
    if not is_float or value != 0:
        return [Condition(column=column, op=op, value=value)]
    match op:
        case Operator.EQUAL:
            return [_one_of(column, [value], is_float=True)]
        case Operator.NOT_EQUAL:
            return [Condition(column=column, op=op, value=zero) for zero in (-0.0, 0.0)]
        case _:
            return [Condition(column=column, op=op, value=-0.0 if op in _FIRST_ZERO else 0.0)]


def _one_of(column: str, values: Sequence[object], *, is_float: bool) -> Condition:
    zeros = [-0.0, 0.0] if is_float and 0 in values else []
    return Condition(column=column, op=Operator.IN, value=[*values, *zeros])


def _beginning(column: str, prefix: str) -> list[Condition]:
    """Return the range of the texts that begin with a prefix."""
    conditions = [Condition(column=column, op=Operator.GREATER_OR_EQUAL, value=prefix)]
    end = text_after(prefix)
    if end is not None:
        conditions.append(Condition(column=column, op=Operator.LESS, value=end))
    return conditions
