"""Column statistics of a data file: bounds and null counts.

The bounds are two binary rows over the covered columns; a column without bounds is null in both.
Statistics are only ever a reason to skip a file, so a bound may be wide and never narrow.

Source: table-format 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lake.format.data_types import DataField


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleStats:
    """Bounds and null counts of some columns.

    Attributes:
        min_values: Serialised binary row (arity first), one field per covered column.
        max_values: As `min_values`.
        null_counts: One per covered column; None where unknown.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...]


EMPTY_STATS = SimpleStats(min_values=bytes(12), max_values=bytes(12), null_counts=())


def collect_statistics(
    table: pa.Table, fields: Sequence[DataField], *, truncate: int | None
) -> SimpleStats:
    """Return the statistics of the columns that `fields` name, in their order.

    Args:
        table: Any number of rows; columns in the Arrow form of their type.
        fields: The columns to cover.
        truncate: Longest text (characters) and binary (bytes) bound; the upper bound is rounded
            up to stay one. None keeps bounds whole.

    Returns:
        Statistics of arity `len(fields)`. Nested types and timestamps of precision 7 and more
        have null bounds, as other writers of the format leave them.
    """
    raise NotImplementedError
