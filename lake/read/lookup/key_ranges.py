"""Key ranges of the files of a sorted run, which do not overlap: at most one file may have a key."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.binary_row import decode_rows
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.data_types import DataField
from braid.lake.format.float_order import total_order
from braid.lake.merge.order.key_order import key_codes
from braid.lake.read.lookup.key_hash import is_number, raw_numbers
from braid.lake.read.lookup.point_key import PointValue, point_values
from braid.lake.read.lookup.wanted_keys import Rows, WantedKeys, row_array


class KeyRanges:
    """The lowest and highest keys of the files of a sorted run."""

    def __init__(self, files: Sequence[DataFileMeta], key_fields: Sequence[DataField]) -> None:
        """Decode the ranges of files.

        Args:
            files: In any order. Requires: their key ranges do not overlap.
            key_fields: The trimmed primary key.
        """
        rows = [*(file.min_key for file in files), *(file.max_key for file in files)]
        assert files, "a run has files"
        self._bounds: pa.Table = decode_rows(rows, key_fields)
        self._count = len(files)
        assert self._bounds.num_rows == 2 * self._count, "lowest keys, then highest keys"
        self._numbers = self._as_numbers()
        self._order = None if self._numbers is None else self._numbers[: self._count].argsort()

    @property
    def is_numeric(self) -> bool:
        """Whether a key is a single number: if so, one binary search locates all keys."""
        return self._numbers is not None

    def files_of(self, keys: WantedKeys, wanted: Rows) -> Rows:
        """Return for each wanted key the number of the file whose range contains it, -1 for none."""
        if self._numbers is not None:
            return self._located(self._numbers, _ordered(keys.columns[0])[wanted], self._order)
        # Codes of bounds and keys together: they compare as the keys do.
        rows = row_array(wanted)
        columns = [
            pa.chunked_array([*bound.chunks, column.take(rows)])
            for bound, column in zip(self._bounds.columns, keys.columns, strict=True)
        ]
        codes = key_codes(columns)
        return self._located(codes[: 2 * self._count], codes[2 * self._count :], None)

    def file_of(self, values: Sequence[PointValue]) -> int:
        """Return the number of the file whose range contains one key (`point_key`), -1 for none."""
        lows, ends = self._points
        key = tuple(values)
        index = bisect_right(lows, key) - 1
        if index < 0 or ends[index][0] < key:
            return -1
        return ends[index][1]

    @cached_property
    def _points(
        self,
    ) -> tuple[list[tuple[PointValue, ...]], list[tuple[tuple[PointValue, ...], int]]]:
        """The lowest keys, ascending, and for each the highest key of the same file and the file's number."""
        columns = [point_values(combined_array(column)) for column in self._bounds.columns]
        rows = list(zip(*columns, strict=True))
        files = sorted(
            zip(rows[: self._count], rows[self._count :], range(self._count), strict=True)
        )
        return [low for low, _, _ in files], [(high, number) for _, high, number in files]

    def _as_numbers(self) -> npt.NDArray[Any] | None:
        if self._bounds.num_columns > 1 or not is_number(self._bounds.column(0).type):
            return None
        return _ordered(combined_array(self._bounds.column(0)))

    def _located(
        self, bounds: npt.NDArray[Any], wanted: npt.NDArray[Any], order: Rows | None
    ) -> Rows:
        lows, highs = bounds[: self._count], bounds[self._count :]
        if self._count == 1:
            # True is file 0, False is -1.
            number: Rows = ((wanted >= lows[0]) & (wanted <= highs[0])).astype(np.int64) - 1
            return number
        if order is None:
            order = lows.argsort()
        # The last file that begins at or before the key is the only one that may contain it.
        index = lows[order].searchsorted(wanted, side="right") - 1
        number = order[np.maximum(index, 0)]
        return np.where((index >= 0) & (wanted <= highs[number]), number, -1)


def _ordered(column: pa.Array) -> npt.NDArray[Any]:
    """Return integers that compare as the keys do. Requires: the column's type `is_number`."""
    values = raw_numbers(column)
    return total_order(values) if values.dtype.kind == "f" else values
