"""One column of merged rows, assembled from parts that each hold some of the keys."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from braid.lake.merge.segments import Ints
from braid.lake.merge.selection import NO_ROW, Merged, Pick, values_of


@dataclass(slots=True, kw_only=True)
class ColumnParts:
    """The parts of one column; a key in no part is null, one in several has the value of the last.

    Attributes:
        count: Number of keys.
    """

    count: int
    _parts: list[tuple[Ints | None, Merged]] = field(default_factory=list)

    def add(self, merged: Merged, segments: Ints | None = None) -> None:
        """Set the values of some keys.

        Args:
            merged: One value per key.
            segments: The keys, by number; None means all.
        """
        length = len(merged.rows) if isinstance(merged, Pick) else len(merged)
        assert length == (self.count if segments is None else len(segments)), "one value per key"
        self._parts.append((segments, merged))

    def assembled(self, column: pa.ChunkedArray) -> Merged:
        """Return the whole column.

        Args:
            column: The records' values, which picks refer to by row.
        """
        match self._parts:
            case [(None, merged)]:
                return merged
            case parts if all(isinstance(merged, Pick) for _, merged in parts):
                return self._one_pick()
            case _:
                return self._one_array(column)

    def _one_pick(self) -> Pick:
        rows = np.full(self.count, NO_ROW, dtype=np.int64)
        for segments, merged in self._parts:
            assert isinstance(merged, Pick)
            rows[slice(None) if segments is None else segments] = merged.rows
        return Pick(rows=rows)

    def _one_array(self, column: pa.ChunkedArray) -> pa.Array:
        # The values of all parts are concatenated, and one pick of them puts them into key order. A
        # value that a later part replaces is simply not picked.
        positions = np.full(self.count, NO_ROW, dtype=np.int64)
        arrays = []
        length = 0
        for segments, merged in self._parts:
            values = values_of(merged, column)
            where = slice(None) if segments is None else segments
            positions[where] = np.arange(length, length + len(values))
            length += len(values)
            arrays.append(values)
        return Pick(rows=positions).take(pa.concat_arrays(arrays))
