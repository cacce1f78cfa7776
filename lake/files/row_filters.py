"""Rows of a file that fulfil conditions, without decoding more than telling them takes.

A part of the file (a row group) is read in two steps: the columns that the conditions look at, and the
others only if a row fulfils them. Where conditions choose little of a file, its other columns are
hardly ever decoded. Where they choose much, two steps would decode the columns of the conditions twice;
so what follows a part with such rows is read at once, until a part has none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake.files.parquet.bounds import ColumnBounds
from lake.format.system_columns import VALUE_KIND_FIELD

Decode: TypeAlias = Callable[[Sequence[int], Sequence[str]], Iterator[pa.RecordBatch]]
"""From numbers of parts, ascending, and names of columns to their rows in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupFilter:
    """Says which row groups can hold what is looked for.

    Attributes:
        columns: Whose bounds it looks at.
        keep: From bounds per column (those that have any) and the number of row groups to one
            boolean per row group: False skips it.
    """

    columns: tuple[str, ...]
    keep: Callable[[Mapping[str, ColumnBounds], int], npt.NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Says which rows are looked for.

    Attributes:
        columns: That it looks at, at least one.
        matches: From a batch with these columns to a boolean per row, without nulls.
    """

    columns: tuple[str, ...]
    matches: Callable[[pa.RecordBatch], pa.Array]


def without_retracts(wanted: RowFilter | None) -> RowFilter:
    """Return what lets of the rows of a filter those through that are no retracts."""

    def matches(batch: pa.RecordBatch) -> pa.Array:
        kinds = batch.column(VALUE_KIND_FIELD.name).to_numpy()
        # The lowest bit tells: +I is 0, -U 1, +U 2, -D 3.
        is_add = pa.array((kinds & 1) == 0)
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
    """Yield the rows that a filter lets through, in file order; batches may be empty.

    Args:
        decode: Gives rows of the file; the same batches of rows for the same parts only if the
            columns are the same.
        parts: Numbers of parts, ascending.
        columns: Of the result, in order.
        wanted: The filter.
        in_steps: Columns of a part can be decoded apart from each other.
        is_likely: The first part is expected to have such rows, as where statistics have left
            other parts out.
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
        masks = [wanted.matches(batch) for batch in decode([part], wanted.columns)]
        has_rows = any(mask.true_count for mask in masks)
        if has_rows:
            yield from _taken(decode([part], columns), pa.concat_arrays(masks))


def _taken(batches: Iterator[pa.RecordBatch], mask: pa.Array) -> Iterator[pa.RecordBatch]:
    begin = 0
    for batch in batches:
        yield _filtered(batch, mask.slice(begin, batch.num_rows))
        begin += batch.num_rows
    assert begin == len(mask), "every column of a part has its rows"


def _filtered(batch: pa.RecordBatch, mask: pa.Array) -> pa.RecordBatch:
    # A filter copies, even what it leaves as it is.
    return batch if mask.true_count == len(mask) else batch.filter(mask)
