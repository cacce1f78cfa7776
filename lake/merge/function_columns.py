"""A column with an aggregate function, for many keys at once.

Segments go through the function's reduction where it has one that takes their steps, and through its
definition, value by value, otherwise.

Source: merge-semantics 4.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lake.merge.aggregate_function import Reduction
from lake.merge.column_function import ColumnFunction
from lake.merge.column_parts import ColumnParts
from lake.merge.functions.registry import function_named
from lake.merge.history import KeySteps
from lake.merge.row_function import fold_steps, row_function
from lake.merge.segments import Bools, Ints
from lake.merge.selection import NO_ROW, Merged, Pick
from lake.merge.steps import Step, Steps
from lake.merge.user_function_errors import checked_reduced, checked_reduction, user_function_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionColumn:
    """The values that a function gives.

    Attributes:
        merged: One per key.
        looped: Keys whose value was found one record at a time.
    """

    merged: Merged
    looped: int = 0


def function_column(
    function: ColumnFunction, column: pa.Array, found: KeySteps | None, count: int
) -> FunctionColumn:
    """Return what a function makes of each key's steps; null for a key without any.

    Args:
        function: Of the column.
        column: The records' values.
        found: The steps of the keys that have any.
        count: Keys.

    Raises:
        SchemaMismatch: The function cannot take a value, or cannot take it back.
    """
    if found is None:
        return FunctionColumn(merged=Pick(rows=np.full(count, NO_ROW, dtype=np.int64)))
    parts = ColumnParts(count=count)
    reduction = _reduction(function, column.type)
    steps, keys = found.steps, found.keys
    if found.untouched is not None and (reduction is None or not reduction.keeps_single):
        lone = np.flatnonzero(found.untouched)
        parts.add(Pick(rows=steps.segments.order[steps.segments.starts[lone]]), _some(keys, lone))
        others = np.flatnonzero(~found.untouched)
        steps, keys = steps.subset(others), _some(keys, others)
    looped = _fill(parts, function, column, steps, keys, reduction)
    return FunctionColumn(merged=parts.assembled(column), looped=looped)


def needs_late(function: ColumnFunction, data_type: pa.DataType) -> bool:
    """Return whether it matters to the function which values come late."""
    reduction = _reduction(function, data_type)
    return reduction is None or not reduction.late_as_add


def _fill(
    parts: ColumnParts,
    function: ColumnFunction,
    column: pa.Array,
    steps: Steps,
    keys: Ints | None,
    reduction: Reduction | None,
) -> int:
    """Add the parts of all keys; return how many were found value by value."""
    if not steps.segments.count:
        return 0
    definition = row_function(function, column.type)
    if reduction is None:
        parts.add(fold_steps(function, definition, steps, column), keys)
        return steps.segments.count
    beyond = _beyond(steps, reduction)
    looped = 0
    if beyond is not None:
        chosen = np.flatnonzero(beyond)
        parts.add(
            fold_steps(function, definition, steps.subset(chosen), column), _some(keys, chosen)
        )
        looped += len(chosen)
        others = np.flatnonzero(~beyond)
        steps, keys = steps.subset(others), _some(keys, others)
        if not len(others):
            return looped
    with user_function_errors(function, "its reduction"):
        reduced = reduction.reduce(steps, column)
    reduced = checked_reduced(function, reduced, steps, column)
    parts.add(reduced.values, keys)
    if reduced.undecided is not None and len(reduced.undecided):
        doubtful = steps.subset(reduced.undecided)
        parts.add(
            fold_steps(function, definition, doubtful, column), _some(keys, reduced.undecided)
        )
        looped += len(reduced.undecided)
    return looped


def _reduction(function: ColumnFunction, data_type: pa.DataType) -> Reduction | None:
    declaration = function_named(function.name)
    assert declaration is not None, function.name
    with user_function_errors(function, "`reduction`"):
        return checked_reduction(function, declaration.reduction(function, data_type))


def _beyond(steps: Steps, reduction: Reduction) -> Bools | None:
    """Return which segments hold a step that the reduction does not take; None when none does."""
    if steps.steps is None:
        return None
    unhandled = [step for step in Step if step not in reduction.handles]
    foreign = np.isin(steps.steps, unhandled)
    return steps.segments.any_of(foreign) if foreign.any() else None


def _some(keys: Ints | None, index: Ints) -> Ints:
    return index if keys is None else keys[index]
