"""One index over the keys of several small files, for a bucket that is written every second and so has many of them.

A probe of a file costs a few microseconds however small the file is. So the keys of the small files are
put into one index, which is made once for all lookups of the same snapshot; one probe searches them all.

    row of the joint index    0 … n0-1 │ n0 … n0+n1-1 │ …
    file                      0        │ 1            │ …   newest first

So a joint row gives the file, by binary search among the ends of the files, and the row in the file, by subtraction
of the file's begin. The joint rows of one key ascend from the newest file to the oldest.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from braid.lake.read.lookup.file_lookup import FEW_KEYS, FileLookup
from braid.lake.read.lookup.hash_index import build_index
from braid.lake.read.lookup.key_hash import key_hashes
from braid.lake.read.lookup.key_matches import FileHits
from braid.lake.read.lookup.point_key import PointValue
from braid.lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys

JOINT_ROWS_MAX: Final = 1 << 16
"""Upper bound of the rows of all files together: the index keeps their keys in memory a second
time, and is built in a few milliseconds, by the first lookup of a snapshot."""


class JointIndex:
    """Finds keys in several files; immutable."""

    def __init__(self, files: Sequence[FileLookup]) -> None:
        """Index the keys of the files.

        Args:
            files: Newest first. Requires: at least one row, at most `JOINT_ROWS_MAX` together.
        """
        parts = [file.key_columns for file in files]
        columns = [
            pa.chunked_array([chunk for part in column for chunk in part.chunks]).combine_chunks()
            for column in zip(*parts, strict=True)
        ]
        counts = np.array([len(part[0]) for part in parts])
        assert counts.sum() <= JOINT_ROWS_MAX, "the caller counts the rows"
        self._index = build_index(key_hashes(columns))
        self._keys = KeyColumns([pa.chunked_array([column]) for column in columns])
        self._ends = counts.cumsum()
        self._begins = self._ends - counts

    def find_all(self, keys: WantedKeys, wanted: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the records of some of the keys.

        Returns:
            Three arrays with one entry per record: the number of its key in `keys`, ascending; the
            number of its file, for each key newest first; and its row in that file.
        """
        numbers, rows = self._rows_of(keys, wanted)
        if not len(numbers):
            return numbers, numbers, rows
        files = self._ends.searchsorted(rows, side="right")
        return wanted[numbers], files, rows - self._begins[files]

    def find_point(self, key_hash: int, values: Sequence[PointValue]) -> Iterator[tuple[int, int]]:
        """Yield the file and the row of each record of one key (`point_key`), newest file first."""
        for row in self._index.candidates(key_hash):
            if self._keys.has_values(values, row):
                number = bisect_right(self._point_ends, row)
                yield number, row - (self._point_ends[number - 1] if number else 0)

    @cached_property
    def _point_ends(self) -> list[int]:
        ends: list[int] = self._ends.tolist()
        return ends

    def hits(self, keys: WantedKeys, wanted: Rows) -> list[FileHits]:
        """Return the records of some of the keys file by file, newest first; only files that have some."""
        found, files, positions = self.find_all(keys, wanted)
        hits: list[FileHits] = []
        for number in np.unique(files).tolist() if len(files) else ():
            here = files == number
            hits.append((found[here], number, positions[here]))
        return hits

    def _rows_of(self, keys: WantedKeys, wanted: Rows) -> tuple[Rows, Rows]:
        """Return indices in `wanted` and joint rows that have these keys; keys are compared."""
        if len(wanted) <= FEW_KEYS:
            pairs = [
                (number, row)
                for number, key in enumerate(wanted.tolist())
                for row in self._index.candidates(keys.hash_numbers[key])
                if self._keys.has(keys, key, row)
            ]
            found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            return found[:, 0], found[:, 1]
        hashes = keys.hashes if len(wanted) == len(keys) else keys.hashes[wanted]
        return self._index.find_all(
            hashes, lambda numbers, rows: self._keys.match(keys, wanted[numbers], rows)
        )
