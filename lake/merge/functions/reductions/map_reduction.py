"""Reduction of maps: for merge_map, if the keys of the maps are not nested.

Source: merge-semantics 4 (`merge_map`).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.merge.aggregate_function import Reduced
from braid.lake.merge.functions.support.elements import (
    element_codes,
    first_and_last,
    gather_elements,
)
from braid.lake.merge.steps import Steps


def merged_maps(steps: Steps, column: pa.Array) -> Reduced:
    """Return the union of the maps of each segment; of equal keys the newest entry stays.

    Entries are in the order in which the maps are combined. The only map of a segment is kept as it is.
    """
    elements = gather_elements(steps, column, in_order=False)
    is_alone = np.repeat(elements.value_counts == 1, np.diff(elements.starts))
    codes = element_codes(column.keys)[elements.indices]
    # Distinct codes for all entries of a segment's only map, so that it keeps repeated keys.
    codes[is_alone] = np.flatnonzero(is_alone)
    firsts, lasts = first_and_last(elements, codes)
    kept = np.zeros(len(codes), dtype=np.bool_)
    kept[firsts] = True
    indices = pa.array(elements.indices[lasts])
    values = pa.MapArray.from_arrays(
        elements.offsets_of(kept),
        pc.take(column.keys, indices, boundscheck=False),
        pc.take(column.items, indices, boundscheck=False),
        type=column.type,
        mask=elements.nulls,
    )
    return Reduced(values=values)
