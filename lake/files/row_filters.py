"""Filters of row groups and rows, and the rows of a file that pass one.

Late materialisation: a part of the file (a row group) is read in two steps, first the columns of the
filter, then the others if a row passes. Where few rows pass, the other columns are hardly ever decoded.
Where many pass, two steps would decode the filter's columns twice; so the part that follows one with
passing rows is read in one step, until a part has none.
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
"""From numbers of parts (ascending) and names of columns to their rows, in file order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupFilter:
    """A predicate on the statistics of row groups.

    Attributes:
        columns: Columns whose bounds it reads.
        keep: From bounds by column (columns without any are absent) and the number of row groups to
            one boolean per row group; False if no row of it can pass.
    """

    columns: tuple[str, ...]
    keep: Callable[[Mapping[str, ColumnBounds], int], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """A predicate on rows.

    Attributes:
        columns: Columns that it reads, at least one.
        matches: From a batch with these columns to one boolean per row, without nulls.
    """

    columns: tuple[str, ...]
    matches: Callable[[pa.RecordBatch], pa.Array]


def without_retracts(wanted: RowFilter | None) -> RowFilter:
    """Return the filter that rejects retracts and what `wanted` rejects; None rejects nothing."""

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
        decode: Returns rows of the file. Batches of the same parts may be cut differently when the
            columns differ.
        parts: Numbers of parts, ascending.
        columns: Of the result, in order.
        wanted: The filter.
        in_steps: Columns of a part can be decoded independently of each other.
        is_likely: The first part is expected to have passing rows, as where statistics have already
            excluded other parts.
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
        # First step. The second one may be cut into other batches, hence one mask for the whole part.
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
