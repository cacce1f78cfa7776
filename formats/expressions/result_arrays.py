"""Conversion of the results of expressions to the values of a column; finds the results that the column cannot hold."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrow_cast import cut_cast
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.times import moment_bounds
from braid.formats.type_bounds import length_bound
from braid.lake import DataType, TypeRoot, to_arrow_type

RESULT_BYTES_MAX: Final = 1 << 20
"""Largest size of a text or of bytes in a result."""

_Bools = npt.NDArray[np.bool_]
_UNIT_NS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_INT64_BOUND: Final = 2**63
_DAY_NS: Final = 86_400 * 10**9
_TEXTS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_MOMENTS: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


def result_column(
    results: pa.Array, data_type: DataType
) -> tuple[pa.Array, Mapping[int, DeadLetterReason]]:
    """Return results as a column, and the rows of those that it does not hold, which are null there.

    Args:
        results: The results, of a type that the column holds without loss (`result_types`).
        data_type: The column's type; its own nullability does not count.
    """
    wanted = to_arrow_type(data_type)
    if results.null_count == len(results):
        return pa.nulls(len(results), wanted), {}
    unfit: dict[int, DeadLetterReason] = {}
    for reason, mask in _unfit(results, data_type):
        for row in np.flatnonzero(mask).tolist():
            unfit.setdefault(row, reason)
    if unfit:
        is_fit = np.ones(len(results), bool)
        is_fit[list(unfit)] = False
        order = np.arange(len(results))
        results = results.take(pa.array(order, mask=~is_fit))
    return cut_cast(results, wanted), unfit


def _unfit(array: pa.Array, data_type: DataType) -> list[tuple[DeadLetterReason, _Bools]]:
    """Return the reasons for which a type does not hold values, each with the rows to which it applies."""
    far = DeadLetterReason.OUT_OF_RANGE
    match data_type.root:
        case root if root in _TEXTS or root in _BINARIES:
            sizes = pc.binary_length(array)
            found = [(DeadLetterReason.TOO_LARGE, _is_true(pc.greater(sizes, RESULT_BYTES_MAX)))]
            bound = length_bound(data_type)
            if bound is not None:
                lengths = pc.utf8_length(array) if root in _TEXTS else sizes
                found.append((far, _is_true(pc.greater(lengths, bound))))
            return found
        case TypeRoot.DATE:
            return [
                (far, _is_beyond(array.cast(pa.int32()).cast(pa.int64()), moment_bounds(_DAY_NS)))
            ]
        case TypeRoot.TIME:
            day = _DAY_NS // _UNIT_NS[array.type.unit]
            return [(far, _is_beyond(array.cast(pa.int64()), (0, day - 1)))]
        case root if root in _MOMENTS:
            is_fine = to_arrow_type(data_type).unit == "ns"
            bounds = moment_bounds(_UNIT_NS[array.type.unit], is_fine=is_fine)
            return [(far, _is_beyond(array.cast(pa.int64()), bounds))]
        case TypeRoot.ARRAY:
            assert data_type.element is not None, "an ARRAY has an element type"
            return _of_items(array, _unfit_part(array.values, data_type.element))
        case TypeRoot.MAP:
            assert data_type.key is not None, "a MAP has a key type"
            assert data_type.value is not None, "a MAP has a value type"
            parts = [
                *_unfit_part(array.keys, data_type.key),
                *_unfit_part(array.items, data_type.value),
            ]
            return _of_items(array, parts)
        case TypeRoot.ROW:
            is_there = _is_true(array.is_valid())
            return [
                (reason, mask & is_there)
                for part, field in zip(array.flatten(), data_type.fields, strict=True)
                for reason, mask in _unfit_part(part, field.type)
            ]
        case _:
            return []


def _unfit_part(array: pa.Array, data_type: DataType) -> list[tuple[DeadLetterReason, _Bools]]:
    found = _unfit(array, data_type)
    if not data_type.nullable:
        found.append((DeadLetterReason.NOT_NULL, _is_true(array.is_null())))
    return found


def _of_items(
    array: pa.Array, found: list[tuple[DeadLetterReason, _Bools]]
) -> list[tuple[DeadLetterReason, _Bools]]:
    """Return for lists or maps what was found for all of their items."""
    offsets = array.offsets.to_numpy()
    is_there = _is_true(array.is_valid())
    lists = []
    for reason, mask in found:
        before = np.concatenate(([0], np.cumsum(mask)))
        lists.append((reason, (before[offsets[1:]] > before[offsets[:-1]]) & is_there))
    return lists


def _is_beyond(numbers: pa.Int64Array, bounds: tuple[int, int]) -> _Bools:
    low, high = max(bounds[0], -_INT64_BOUND), min(bounds[1], _INT64_BOUND - 1)
    return _is_true(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)))


def _is_true(mask: pa.BooleanArray) -> _Bools:
    found: _Bools = mask.fill_null(False).to_numpy(zero_copy_only=False)
    return found
