"""Participation of rows in sequence groups: a row takes part if an ordering column of the group has a value in it."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array, validity
from braid.lake.merge.declared_options import SequenceGroup


def takes_part(rows: pa.Table, group: SequenceGroup) -> npt.NDArray[np.bool_]:
    """Return for each row whether any ordering column of the group has a value.

    Args:
        rows: Rows with all columns of the table.
        group: A sequence group of the table.
    """
    found = np.zeros(rows.num_rows, dtype=np.bool_)
    for name in group.ordering:
        found |= validity(combined_array(rows.column(name)))
    return found
