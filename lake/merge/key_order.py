"""One number per row that orders rows as their key columns do."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def key_codes(
    columns: Sequence[pa.Array | pa.ChunkedArray], *, descending: bool = False
) -> npt.NDArray[np.uint64]:
    """Return codes that compare as the rows do, equal for equal rows.

    Codes of one call compare with each other only: to compare several tables, concatenate them.

    Args:
        columns: Equally long, most significant first, of any atomic type. Null is smallest.
        descending: Turns the order of values round; null stays smallest.

    Returns:
        One code per row, in row order.

    Raises:
        UnsupportedFeature: A column's type is nested.
    """
    raise NotImplementedError
