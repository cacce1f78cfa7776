"""Conditions on rows: comparisons of columns with values, and tests for null, joined by AND.

As in SQL a comparison with a null is not true, whatever the operator. FLOAT and DOUBLE compare as
keys do, in Java's total order: -0.0 is less than 0.0; NaN equals NaN and is greater than all others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.errors import InvalidRequest, Problem
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.data_types import DataType
from braid.lake.format.float_order import total_order_column
from braid.lake.format.schema import TableSchema
from braid.lake.read.condition_value import exact_array


class Operator(StrEnum):
    """How a condition compares a column with its value."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    IN = "in"
    IS_NULL = "is_null"
    NOT_NULL = "not_null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison or test for null; several of them are a conjunction.

    Attributes:
        column: A column of the table.
        op: A value of `Operator`.
        value: The value to compare with, in the form that `pa.Array.to_pylist()` would give; several
            for `in`; None for `is_null` and `not_null`. NaN is a value, and -0.0 is another than 0.0.
            A value that the column's type cannot hold exactly is refused, never rounded.

    Example:
        >>> Condition(column="price", op=">=", value=10)
        Condition(column='price', op='>=', value=10)
    """

    column: str
    op: str
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCondition:
    """A condition whose column exists and whose value has the column's type.

    Attributes:
        column: Name of the column.
        op: The operator.
        values: In the column's Arrow type, without nulls: one for a comparison (none when it
            compares with null), any number for `in`, none for the null tests.
    """

    column: str
    op: Operator
    values: pa.Array

    def __post_init__(self) -> None:
        """Check what `bind_conditions` ensures."""
        assert self.values.null_count == 0, "nulls are left out"

    @property
    def never_holds(self) -> bool:
        """Whether no row can fulfil the condition: it compares with an empty list or with null."""
        return len(self.values) == 0 and self.op not in (Operator.IS_NULL, Operator.NOT_NULL)


def bind_conditions(where: Sequence[Condition], schema: TableSchema) -> tuple[BoundCondition, ...]:
    """Return the conditions with their operators and values checked against the schema.

    Raises:
        InvalidRequest: `problems` names each unknown column or operator, and each value that is
            not of the column's type.
    """
    return bind_to_types(where, {field.name: field.type for field in schema.fields})


def bind_to_types(
    where: Sequence[Condition], types: Mapping[str, DataType]
) -> tuple[BoundCondition, ...]:
    """Return the conditions with their operators and values checked against the types of columns, by name.

    Raises:
        InvalidRequest: As for `bind_conditions`.
    """
    bound: list[BoundCondition] = []
    problems: list[Problem] = []
    for condition in where:
        result = _bind(condition, types)
        if isinstance(result, Problem):
            problems.append(result)
        else:
            bound.append(result)
    if problems:
        message = "the conditions do not fit the table"
        raise InvalidRequest(message, problems=problems)
    return tuple(bound)


def matching_rows(
    columns: Mapping[str, pa.Array | pa.ChunkedArray] | pa.Table | pa.RecordBatch,
    where: Sequence[BoundCondition],
) -> pa.Array | pa.ChunkedArray | None:
    """Return for each row whether all conditions hold, without nulls; None without conditions.

    Args:
        columns: At least the columns that the conditions name.
        where: The conjunction.
    """
    mask: pa.Array | pa.ChunkedArray | None = None
    for condition in where:
        column = columns[condition.column]
        # A comparison with null is null in Arrow; SQL's WHERE keeps only what is true.
        matches = pc.fill_null(_matches(column, condition), False)
        mask = matches if mask is None else pc.and_(mask, matches)
    return mask


def no_such_column(name: str, columns: Iterable[str]) -> Problem:
    """Return the problem of a condition on a column that is none of a table's columns."""
    hint = f"columns: {', '.join(columns)}"
    return Problem(field=name, value=None, message="the table has no such column", hint=hint)


def _bind(condition: Condition, types: Mapping[str, DataType]) -> BoundCondition | Problem:
    name = condition.column
    column_type = types.get(name)
    if column_type is None:
        return no_such_column(name, types)
    if condition.op not in set(Operator):
        expected = f"expected one of {', '.join(Operator)}"
        return Problem(
            field=name, value=condition.op, message=f"the operator is unknown; {expected}"
        )
    operator = Operator(condition.op)
    arrow_type = to_arrow_type(column_type)
    takes_value = operator not in (Operator.IS_NULL, Operator.NOT_NULL)
    if takes_value and pa.types.is_nested(arrow_type):
        message = f"a column of type {column_type} can only be tested for null"
        return Problem(field=name, value=condition.op, message=message)
    values = _values(condition, operator)
    if values is None:
        message = f"the operator {operator} expects a list of values"
        return Problem(field=name, value=str(condition.value), message=message)
    # A comparison with null is never true, so nulls are left out: `in` then matches only the other
    # values.
    present = [value for value in values if value is not None]
    try:
        array = exact_array(present, column_type, arrow_type) if takes_value else pa.nulls(0)
    except ValueError as error:
        message = f"the value is not of type {column_type}: {error}"
        return Problem(field=name, value=repr(condition.value), message=message)
    return BoundCondition(column=name, op=operator, values=array)


def _values(condition: Condition, operator: Operator) -> Sequence[object] | None:
    match operator:
        case Operator.IS_NULL | Operator.NOT_NULL:
            return []
        case Operator.IN:
            value = condition.value
            if isinstance(value, (str, bytes)) or not isinstance(value, Sequence | set | frozenset):
                return None
            return list(value)
        case _:
            return [condition.value]


def _matches(
    column: pa.Array | pa.ChunkedArray, condition: BoundCondition
) -> pa.Array | pa.ChunkedArray:
    operator = condition.op
    if operator is Operator.IS_NULL:
        return column.is_null()
    if operator is Operator.NOT_NULL:
        return column.is_valid()
    if condition.never_holds:
        return pa.repeat(pa.scalar(value=False), len(column))
    values = condition.values
    if pa.types.is_floating(values.type):
        # As integers in Java's total order, because Arrow compares NaN and the zeros as IEEE 754 does.
        column, values = total_order_column(column), total_order_column(values)
    if operator is Operator.IN:
        return pc.is_in(column, value_set=values)
    return _compare(column, operator, values[0])


def _compare(
    column: pa.Array | pa.ChunkedArray, operator: Operator, value: pa.Scalar
) -> pa.Array | pa.ChunkedArray:
    match operator:
        case Operator.EQUAL:
            return pc.equal(column, value)
        case Operator.NOT_EQUAL:
            return pc.not_equal(column, value)
        case Operator.LESS:
            return pc.less(column, value)
        case Operator.LESS_OR_EQUAL:
            return pc.less_equal(column, value)
        case Operator.GREATER:
            return pc.greater(column, value)
        case Operator.GREATER_OR_EQUAL:
            return pc.greater_equal(column, value)
        case Operator.IN | Operator.IS_NULL | Operator.NOT_NULL:
            message = f"{operator} is not a comparison"
            raise AssertionError(message)
        case _:
            assert_never(operator)
