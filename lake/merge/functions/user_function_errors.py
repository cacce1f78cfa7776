"""Errors of users' aggregate functions: exceptions of their code, and wrong results, become a SchemaMismatch.

A function of the format raises the errors that it declares; any other error there is a defect of this engine and is
not converted. A user's function may raise or return anything. A failure becomes an error that names the function, the
column and what went wrong; an exception of the user's code is the cause of the new error. Errors of the engine
(`LakeError`), `MemoryError` and an interruption by the user pass as they are.

Source: merge-semantics 4.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import repeat

import numpy as np
import pyarrow as pa

from braid.lake.errors import LakeError, SchemaMismatch
from braid.lake.format.data_types import DataField
from braid.lake.format.value_limits import limit_breaches
from braid.lake.merge.aggregate_function import AggregateFunction, Reduced, Reduction
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.functions.extension import is_user_function_name
from braid.lake.merge.functions.support.function_errors import value_error
from braid.lake.merge.selection import NO_ROW, Pick
from braid.lake.merge.steps import Steps

_TEXT_MAX = 200


@contextmanager
def user_function_errors(function: ColumnFunction, part: str) -> Iterator[None]:
    """Convert errors that a user's function raises inside the block; errors of other functions pass.

    Args:
        function: The column's function.
        part: The part of the function that runs inside the block, in a few words.
    """
    try:
        yield
    except (LakeError, MemoryError):
        raise
    # SystemExit as well: a call of `sys.exit` in a package must not end the process that merges.
    except (Exception, SystemExit) as error:
        if not is_user_function_name(function.name):
            raise
        raise _failed(function, f"{part} raises {error_text(error)}") from error


def error_text(error: BaseException) -> str:
    """Return a Python error as one short line."""
    first = next(iter(str(error).splitlines()), "")[:_TEXT_MAX]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def wrap_user_function(
    definition: AggregateFunction, function: ColumnFunction
) -> AggregateFunction:
    """Return the definition of a user's function with the errors of its methods converted."""
    return _UserFunction(definition, function)


class _UserFunction:
    """A definition whose methods raise only errors of the engine."""

    def __init__(self, definition: AggregateFunction, function: ColumnFunction) -> None:
        self._definition = definition
        self._function = function

    def reset(self) -> None:
        """Begin the next key."""
        self._ask("reset")

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is not older than it."""
        return self._ask("aggregate", accumulated, value)

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value that is older than it."""
        return self._ask("aggregate_late", accumulated, value)

    def retract(self, accumulated: object, value: object) -> object:
        """Return the accumulated value after a value is taken back, older or not."""
        return self._ask("retract", accumulated, value)

    def _ask(self, method: str, *values: object) -> object:
        # `user_function_errors` inlined, because this runs for every value.
        try:
            return getattr(self._definition, method)(*values)
        except (LakeError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            what = f"`{method}` raises {error_text(error)}"
            raise _failed(self._function, what) from error


def check_user_numbers(
    function: ColumnFunction, values: Sequence[object], kind: pa.DataType
) -> None:
    """Refuse a float or Decimal, even a whole one, where a user's function has to return an int.

    Arrow would cut a fraction off.

    Args:
        function: The column's function; only a user's function is checked.
        values: Plain values that the function returned.
        kind: The column's type.

    Raises:
        SchemaMismatch: A number is a float or Decimal; the message names it.
    """
    if not is_user_function_name(function.name):
        return
    for value in values:
        wrong = _not_whole(value, kind)
        if wrong is not None:
            raise _failed(function, f"it returns {wrong!r} where {kind} needs a whole number")


def _not_whole(value: object, kind: pa.DataType) -> object | None:
    """Return the first number in a plain value that has to be whole but is not, else None."""
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return value if isinstance(value, float | Decimal) else None
    if pa.types.is_struct(kind) and isinstance(value, tuple):
        parts = zip(value, (field.type for field in kind), strict=False)
    elif pa.types.is_map(kind) and isinstance(value, list):
        pair = pa.struct([kind.key_field, kind.item_field])
        parts = zip(value, repeat(pair), strict=False)
    elif pa.types.is_list(kind) and isinstance(value, list):
        parts = zip(value, repeat(kind.value_type), strict=False)
    else:
        return None
    found = (_not_whole(part, inner) for part, inner in parts)
    return next((wrong for wrong in found if wrong is not None), None)


def check_user_values(function: ColumnFunction, values: pa.Array) -> None:
    """Refuse values of a user's function that could not be written to the column.

    Args:
        function: The column's function; only a user's function is checked.
        values: The values in the Arrow form of the column's type.

    Raises:
        SchemaMismatch: A value is too long, out of range, or null inside of a nested value where
            null cannot be; the message names the first such value.
    """
    if not is_user_function_name(function.name) or function.type is None:
        return
    field = DataField(id=0, name=function.column, type=function.type)
    for breach in limit_breaches(pa.chunked_array([values]), field, is_partition=False):
        raise _failed(function, f"it returns {breach.value}: {breach.message}")


def checked_reduction(function: ColumnFunction, reduction: Reduction | None) -> Reduction | None:
    """Return the reduction of a function; the reduction of a user's function is checked.

    Raises:
        SchemaMismatch: A user's function returned something other than a Reduction or None.
    """
    if is_user_function_name(function.name) and not isinstance(reduction, Reduction | None):
        raise _failed(function, f"`reduction` returns {_kind(reduction)}, not a Reduction or None")
    return reduction


def checked_reduced(
    function: ColumnFunction, reduced: Reduced, steps: Steps, column: pa.Array
) -> Reduced:
    """Return the result of a function's reduction; the result of a user's function is checked.

    Raises:
        SchemaMismatch: The result of a user's function is not one value of the column's type per
            segment.
    """
    if is_user_function_name(function.name):
        fault = _fault(reduced, steps.segments.count, column)
        if fault is not None:
            raise _failed(function, f"its reduction returns {fault}")
        if isinstance(reduced.values, pa.Array):
            check_user_values(function, reduced.values)
    return reduced


def _fault(reduced: object, count: int, column: pa.Array) -> str | None:
    if not isinstance(reduced, Reduced):
        return f"{_kind(reduced)}, not a Reduced"
    values, undecided = reduced.values, reduced.undecided
    if isinstance(values, Pick):
        if not _are_positions(values.rows, NO_ROW, len(column)):
            return "picks outside of the column's rows"
        found = len(values.rows)
    elif isinstance(values, pa.Array):
        if values.type != column.type:
            return f"values of type {values.type} for a column of {column.type}"
        found = len(values)
    else:
        return f"{_kind(values)} as `values`, not an array or a Pick"
    if found != count:
        return f"{found} values for {count} keys"
    if undecided is not None and not (
        _are_positions(undecided, 0, count) and bool((undecided[1:] > undecided[:-1]).all())
    ):
        return "`undecided` with numbers that are not segments in ascending order"
    return None


def _are_positions(positions: object, low: int, high: int) -> bool:
    if not (
        isinstance(positions, np.ndarray) and positions.dtype == np.int64 and positions.ndim == 1
    ):
        return False
    return bool(((positions >= low) & (positions < high)).all())


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _failed(function: ColumnFunction, what: str) -> SchemaMismatch:
    return value_error(
        function.column,
        function.name,
        f"fails: {what}",
        "fix the package that provides the function, or the values that it does not expect",
    )
