"""Codes of rows: one unsigned 64-bit number per row; the codes of one call have the order of the rows by some columns.

The columns are, for example, key columns, sequence fields, or the ordering columns of a group.

The codes are made from the columns' normalized keys (`normalized_keys`, `key_codes`).

Source: merge-semantics 1.5; table-format 13.1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.merge.order.key_codes import Uints, narrow, word_codes
from braid.lake.merge.order.normalized_keys import normalized_keys


def key_codes(
    columns: Sequence[pa.Array | pa.ChunkedArray], *, descending: bool = False
) -> npt.NDArray[np.uint64]:
    """Return codes that compare as the rows do, equal for equal rows.

    Codes of one call compare with each other only: to compare several tables, concatenate them.

    Args:
        columns: At least one, equally long, most significant first. Null is smallest.
        descending: Reverses the order of values; null stays smallest.

    Returns:
        One code per row, in row order.
    """
    assert columns, "rows without key columns have no order"
    words = [word for column in columns for word in normalized_keys(column, descending=descending)]
    return word_codes(words, rows=len(columns[0]))


def number_codes(numbers: Sequence[Uints]) -> Uints:
    """Return codes as `key_codes` does, of rows in columns of numbers; at least one row."""
    words = [word for values in numbers if (word := narrow(values)) is not None]
    return word_codes(words, rows=len(numbers[0]))
