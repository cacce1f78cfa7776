"""The values of a column that an aggregate function computes, for many keys at once.

A segment goes through the function's reduction if there is one, if it handles all steps of the segment, and if it
decides the segment. Otherwise the definition computes the segment, value by value. Single records that the merge
keeps as they are go through a reduction only if it keeps them unchanged; otherwise they are picked. `needs_late`
tells whether a function distinguishes late values.

Source: merge-semantics 4.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from braid.lake.merge.aggregate_function import Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.column_parts import ColumnParts
from braid.lake.merge.function_definition import definition_of, fold_steps
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.functions.user_function_errors import (
    checked_reduced,
    checked_reduction,
    user_function_errors,
)
from braid.lake.merge.key_histories import KeySteps
from braid.lake.merge.segments import Bools, Ints
from braid.lake.merge.selection import NO_ROW, Merged, Pick
from braid.lake.merge.steps import Step, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedColumn:
    """The values that a function computes.

    Attributes:
        merged: One value per key.
        looped: Number of keys whose value was computed one record at a time.
    """

    merged: Merged
    looped: int = 0


def computed_column(
    function: ColumnFunction, column: pa.Array, found: KeySteps | None, count: int
) -> ComputedColumn:
    """Return the value that a function computes for each key; null for a key without steps.

    Args:
        function: The column's function.
        column: The records' values.
        found: The steps of the keys that have steps; None when no key has any.
        count: Number of keys.

    Raises:
        SchemaMismatch: The function cannot combine a value, or cannot retract it.
    """
    if found is None:
        return ComputedColumn(merged=Pick(rows=np.full(count, NO_ROW, dtype=np.int64)))
    parts = ColumnParts(count=count)
    reduction = _reduction(function, column.type)
    steps, keys = found.steps, found.keys
    if found.untouched is not None and (reduction is None or not reduction.keeps_single):
        # Only a reduction that keeps single records may see them: other code might change their
        # values.
        single = np.flatnonzero(found.untouched)
        rows = steps.segments.order[steps.segments.starts[single]]
        parts.add(Pick(rows=rows), _some(keys, single))
        others = np.flatnonzero(~found.untouched)
        steps, keys = steps.subset(others), _some(keys, others)
    looped = _fill(parts, function, column, steps, keys, reduction)
    return ComputedColumn(merged=parts.assembled(column), looped=looped)


def needs_late(function: ColumnFunction, data_type: pa.DataType) -> bool:
    """Return whether late values have to be marked for the function."""
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
    """Add the parts of all keys; return how many were computed value by value."""
    if not steps.segments.count:
        return 0
    definition = definition_of(function, column.type)
    if reduction is None:
        parts.add(fold_steps(function, definition, steps, column), keys)
        return steps.segments.count
    unhandled = _unhandled(steps, reduction)
    looped = 0
    if unhandled is not None:
        chosen = np.flatnonzero(unhandled)
        parts.add(
            fold_steps(function, definition, steps.subset(chosen), column), _some(keys, chosen)
        )
        looped += len(chosen)
        others = np.flatnonzero(~unhandled)
        steps, keys = steps.subset(others), _some(keys, others)
        if not len(others):
            return looped
    with user_function_errors(function, "its reduction"):
        reduced = reduction.reduce(steps, column)
    reduced = checked_reduced(function, reduced, steps, column)
    parts.add(reduced.values, keys)
    if reduced.undecided is not None and len(reduced.undecided):
        # The part that is added last counts, so these values replace the reduction's.
        undecided = steps.subset(reduced.undecided)
        parts.add(
            fold_steps(function, definition, undecided, column), _some(keys, reduced.undecided)
        )
        looped += len(reduced.undecided)
    return looped


def _reduction(function: ColumnFunction, data_type: pa.DataType) -> Reduction | None:
    declaration = function_named(function.name)
    assert declaration is not None, function.name
    with user_function_errors(function, "`reduction`"):
        return checked_reduction(function, declaration.reduction(function, data_type))


def _unhandled(steps: Steps, reduction: Reduction) -> Bools | None:
    """Return which segments have a step that the reduction does not handle; None when none has."""
    if steps.steps is None:
        return None
    others = [step for step in Step if step not in reduction.handles]
    is_other = np.isin(steps.steps, others)
    return steps.segments.any_of(is_other) if is_other.any() else None


def _some(keys: Ints | None, index: Ints) -> Ints:
    return index if keys is None else keys[index]
