"""Reductions of arrays: for collect, and for nested_update without a nested key and without a limit.

For collect with `distinct`, the reduction supports only elements of types that are not nested.

Source: merge-semantics 4.2, 4.4.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrays import validity
from braid.lake.merge.aggregate_function import Reduced
from braid.lake.merge.functions.support.elements import (
    Elements,
    element_codes,
    first_and_last,
    gather_elements,
)
from braid.lake.merge.segments import Ints
from braid.lake.merge.steps import Steps


def all_elements(steps: Steps, column: pa.Array, *, in_order: bool) -> Reduced:
    """Return the elements of all arrays of each segment.

    Args:
        steps: The steps of one column.
        column: The column's rows: lists.
        in_order: Elements are in order of arrival; otherwise those of late arrays come first.
    """
    elements = gather_elements(steps, column, in_order=in_order)
    return Reduced(values=_lists(column, elements.indices, elements.offsets, elements))


def distinct_elements(steps: Steps, column: pa.Array, *, in_order: bool) -> Reduced:
    """Return each distinct element of each segment, in order of first arrival; see `all_elements`."""
    elements = gather_elements(steps, column, in_order=in_order)
    codes = element_codes(column.values)[elements.indices]
    firsts, _ = first_and_last(elements, codes)
    kept = np.zeros(len(codes), dtype=np.bool_)
    kept[firsts] = True
    offsets = elements.offsets_of(kept)
    return Reduced(values=_lists(column, elements.indices[firsts], offsets, elements))


def present_elements(steps: Steps, column: pa.Array) -> Reduced:
    """Return the elements that are not null of all arrays of each segment, in order of arrival."""
    elements = gather_elements(steps, column, in_order=True)
    kept = validity(column.values)[elements.indices]
    offsets = elements.offsets_of(kept)
    return Reduced(values=_lists(column, elements.indices[kept], offsets, elements))


def _lists(column: pa.Array, indices: Ints, offsets: pa.Array, elements: Elements) -> pa.Array:
    values = pc.take(column.values, pa.array(indices), boundscheck=False)
    return pa.ListArray.from_arrays(offsets, values, type=column.type, mask=elements.nulls)
