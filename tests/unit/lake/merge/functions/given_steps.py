"""Histories of one column, and the results of a function's two executions."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from braid.lake.errors import SchemaMismatch
from braid.lake.merge.aggregate_function import AggregateFunction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.functions.support.overflow import ON_OVERFLOW
from braid.lake.merge.plain_values import plain_values
from braid.lake.merge.segments import Segments
from braid.lake.merge.selection import Pick
from braid.lake.merge.steps import Step, Steps

History = Sequence[tuple[Step, int]]
"""The steps of one key: what happens, and the row whose value it is."""

UNDECIDED = "undecided"
REFUSED = "refused"


def column_function(text: str) -> ColumnFunction:
    """Return what a column `c` declares: a function, and what becomes of values that do not fit.

    Args:
        text: `sum`, `sum wrap` or `sum fail`.
    """
    name, _, overflow = text.partition(" ")
    options = ((ON_OVERFLOW, overflow),) if overflow else ()
    return ColumnFunction(column="c", name=name, options=options)


def definition(name: str, kind: pa.DataType) -> AggregateFunction:
    """Return the definition of a function for a column `c` of the type."""
    function = column_function(name)
    declaration = function_named(function.name)
    assert declaration is not None
    return declaration.make(function, kind)


def folded(function: AggregateFunction, values: Sequence[object], history: History) -> object:
    """Return what the definition makes of a key; `REFUSED` when it raises."""
    function.reset()
    accumulated = None
    for step, row in history:
        value = values[row]
        try:
            match step:
                case Step.ADD:
                    accumulated = function.aggregate(accumulated, value)
                case Step.LATE:
                    accumulated = function.aggregate_late(accumulated, value)
                case Step.RETRACT:
                    accumulated = function.retract(accumulated, value)
                case Step.SEED:
                    accumulated = value
        except SchemaMismatch:
            return REFUSED
    return accumulated


def reduced(name: str, column: pa.Array, histories: Sequence[History]) -> list[object]:
    """Return what the reduction makes of each key; `UNDECIDED` where it leaves that open."""
    function = column_function(name)
    declaration = function_named(function.name)
    assert declaration is not None
    reduction = declaration.reduction(function, column.type)
    assert reduction is not None
    result = reduction.reduce(steps_of(histories), column)
    values = result.values.take(column) if isinstance(result.values, Pick) else result.values
    assert values.type == column.type
    values.validate(full=not pa.types.is_decimal(column.type))
    answers = plain_values(values)
    for segment in [] if result.undecided is None else result.undecided.tolist():
        answers[segment] = UNDECIDED
    return answers


def handled(name: str, kind: pa.DataType) -> list[Step]:
    """Return the steps that the reduction of a function takes."""
    function = column_function(name)
    declaration = function_named(function.name)
    assert declaration is not None
    reduction = declaration.reduction(function, kind)
    assert reduction is not None
    return sorted(reduction.handles)


def steps_of(histories: Sequence[History]) -> Steps:
    """Return the steps of some keys, one after another."""
    lengths = [len(history) for history in histories]
    actions = np.array([step for history in histories for step, _ in history], dtype=np.int8)
    order = np.array([row for history in histories for _, row in history], dtype=np.int64)
    segments = Segments(order=order, starts=np.cumsum([0, *lengths[:-1]]))
    return Steps(segments=segments, steps=actions if actions.any() else None)


def adds(*keys: Sequence[int]) -> list[History]:
    """Return histories of adds, given the rows of each key."""
    return [[(Step.ADD, row) for row in rows] for rows in keys]


def is_same(left: object, right: object) -> bool:
    """Return whether two plain values are one value: NaN is NaN, 0.0 is not -0.0."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1.0, left) == math.copysign(1.0, right)
    return type(left) is type(right) and left == right
