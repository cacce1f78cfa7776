"""Definitions of columns' aggregate functions, and values that are computed with them one step at a time.

`definition_of` adds what every function has: `ignore-retract`, and the checks of a user's function. `computed_column`
uses the vectorised reduction of a function where there is one.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from braid.lake.merge.aggregate_function import AggregateFunction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.extension import is_user_function_name
from braid.lake.merge.functions.registry import function_named
from braid.lake.merge.functions.user_function_errors import (
    check_user_numbers,
    check_user_values,
    user_function_errors,
    wrap_user_function,
)
from braid.lake.merge.plain_values import plain_array, plain_values
from braid.lake.merge.steps import Step, Steps


def definition_of(function: ColumnFunction, data_type: pa.DataType) -> AggregateFunction:
    """Return the definition of a column's function.

    Args:
        function: The column's function, of a known name: `merge_spec` refuses all others.
        data_type: The column's type.

    Raises:
        SchemaMismatch: The function is a user's, and its `make` fails.
    """
    declaration = function_named(function.name)
    assert declaration is not None, function.name
    with user_function_errors(function, "`make`"):
        made = declaration.make(function, data_type)
    if is_user_function_name(function.name):
        made = wrap_user_function(made, function)
    return _IgnoringRetracts(made) if function.ignore_retract else made


def fold_steps(
    function: ColumnFunction, definition: AggregateFunction, steps: Steps, column: pa.Array
) -> pa.Array:
    """Return the value of each segment, computed one step at a time.

    Args:
        function: The column's function.
        definition: The function's definition, from `definition_of`.
        steps: The column's steps.
        column: All values of the column.

    Raises:
        SchemaMismatch: The function cannot combine a value, or cannot retract it.
    """
    values = plain_values(column.take(pa.array(steps.segments.order)))
    actions = [Step.ADD] * len(values) if steps.steps is None else steps.steps.tolist()
    folded = list(_fold(definition, steps, values, actions))
    return folded_array(function, folded, column.type)


def folded_array(
    function: ColumnFunction, values: Sequence[object], data_type: pa.DataType
) -> pa.Array:
    """Return the values that a function computed as an array of the column's type.

    Raises:
        SchemaMismatch: The function is a user's, and a value does not fit the type.
    """
    check_user_numbers(function, values, data_type)
    with user_function_errors(function, f"its result as {data_type}"):
        array = plain_array(values, data_type)
    check_user_values(function, array)
    return array


def _fold(
    function: AggregateFunction, steps: Steps, values: list[object], actions: list[Step]
) -> Iterator[object]:
    act = {
        Step.ADD: function.aggregate,
        Step.LATE: function.aggregate_late,
        Step.RETRACT: function.retract,
        Step.SEED: _seed,
    }
    for start, stop in pairwise([*steps.segments.starts.tolist(), len(values)]):
        function.reset()
        accumulated = None
        for position in range(start, stop):
            accumulated = act[actions[position]](accumulated, values[position])
        yield accumulated


def _seed(accumulated: object, value: object) -> object:  # called like the function's methods
    return value


class _IgnoringRetracts:
    """A function whose column declares `ignore-retract`.

    As in the reference, a late value is combined by the function's `aggregate` with the arguments
    swapped, not by its `aggregate_late`.

    Source: merge-semantics 4.
    """

    def __init__(self, function: AggregateFunction) -> None:
        self._function = function

    def reset(self) -> None:
        """Begin the next key."""
        self._function.reset()

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is not older than it."""
        return self._function.aggregate(accumulated, value)

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is older than it."""
        return self._function.aggregate(value, accumulated)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated value as it is."""
        return accumulated
