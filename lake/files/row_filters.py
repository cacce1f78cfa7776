"""The types of filters of row groups and rows, and the rows of a file that pass a filter of rows.

If the caller allows it, a part of the file (a row group) is read in two steps (late
materialisation): first the columns of the filter and then, if a row passes, the columns of the
result. If few rows pass, the second step is rare. If many rows pass, two steps would decode those
columns of the filter twice that the result has too; so a part is read in one step if a row of the
part before has passed.
`braid.lake.read` turns the conditions of a query into filters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.format.system_columns import VALUE_KIND_FIELD, is_retract

Decode: TypeAlias = Callable[[Sequence[int], Sequence[str]], Iterator[pa.RecordBatch]]
"""Returns the rows of some parts (numbers, ascending) with the named columns, in file order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupFilter:
    """A predicate on the statistics of row groups.

    Attributes:
        columns: Columns whose bounds the predicate reads.
        keep: Returns one boolean per row group, False if no row of the group can pass. Its arguments
            are the bounds by column (columns without bounds are absent) and the number of row groups.
    """

    columns: tuple[str, ...]
    keep: Callable[[Mapping[str, ColumnBounds], int], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """A predicate on rows.

    Attributes:
        columns: Columns that the predicate reads, at least one.
        matches: Returns one boolean per row, without nulls, for a batch with these columns.
    """

    columns: tuple[str, ...]
    matches: Callable[[pa.RecordBatch], pa.Array]


def without_retracts(wanted: RowFilter | None) -> RowFilter:
    """Return the filter that rejects retracts and the rows that `wanted` rejects; None rejects no row."""

    def matches(batch: pa.RecordBatch) -> pa.Array:
        kinds = batch.column(VALUE_KIND_FIELD.name).to_numpy()
        is_add = pa.array(~is_retract(kinds))
        return is_add if wanted is None else pc.and_(is_add, wanted.matches(batch))

    columns = () if wanted is None else wanted.columns
    return RowFilter(columns=(*columns, VALUE_KIND_FIELD.name), matches=matches)


def filtered_rows(
    decode: Decode,
    parts: Sequence[int],
    columns: Sequence[str],
    wanted: RowFilter,
    *,
    in_steps: bool,
    is_likely: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that pass a filter, in file order; batches may be empty.

    Args:
        decode: Returns rows of the file. It may cut the same parts into other batches for other columns.
        parts: Numbers of parts, ascending.
        columns: Columns of the result, in order.
        wanted: The filter.
        in_steps: Whether a part may be read in two steps.
        is_likely: Whether the first part probably has passing rows, for example because statistics have
            already excluded other parts.
    """
    every = tuple(dict.fromkeys([*columns, *wanted.columns]))
    if not in_steps:
        for batch in decode(parts, every):
            yield _filtered(batch.select(list(columns)), wanted.matches(batch))
        return
    has_rows = is_likely
    for part in parts:
        if has_rows:
            has_rows = False
            for batch in decode([part], every):
                chosen = _filtered(batch.select(list(columns)), wanted.matches(batch))
                has_rows = has_rows or chosen.num_rows > 0
                yield chosen
            continue
        # First step. The second step may have other batches, hence one mask for the whole part.
        masks = [wanted.matches(batch) for batch in decode([part], wanted.columns)]
        has_rows = any(mask.true_count for mask in masks)
        if has_rows:
            yield from _taken(decode([part], columns), pa.concat_arrays(masks))


def _taken(batches: Iterator[pa.RecordBatch], mask: pa.Array) -> Iterator[pa.RecordBatch]:
    begin = 0
    for batch in batches:
        yield _filtered(batch, mask.slice(begin, batch.num_rows))
        begin += batch.num_rows
    assert begin == len(mask), "all columns of a part have the same rows"


def _filtered(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    # Arrow's filter copies even when every row passes.
    return batch if mask.true_count == len(mask) else batch.filter(mask)
