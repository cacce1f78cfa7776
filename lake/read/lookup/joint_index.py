"""Several small files asked as one: a bucket that is written every second has many of them.

To ask a file for a key costs the same few microseconds however small it is. So the keys of small
files are put together once for all that ask the same snapshot.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from lake.read.lookup.file_lookup import FEW_KEYS, FileLookup
from lake.read.lookup.hash_index import build_index
from lake.read.lookup.key_hash import key_hashes
from lake.read.lookup.key_matches import Hits
from lake.read.lookup.wanted_keys import KeyColumns, Rows, WantedKeys

JOINT_ROWS_MAX: Final = 1 << 16
"""Rows of files that are asked as one: their keys are in memory twice, and an index is made of
them in a few milliseconds."""


class JointIndex:
    """Finds keys in several files; never changes."""

    def __init__(self, files: Sequence[FileLookup]) -> None:
        """Take files, newest first; with some rows, at most `JOINT_ROWS_MAX` together."""
        parts = [file.key_columns for file in files]
        columns = [
            pa.chunked_array([chunk for part in column for chunk in part.chunks]).combine_chunks()
            for column in zip(*parts, strict=True)
        ]
        counts = np.array([len(part[0]) for part in parts])
        self._index = build_index(key_hashes(columns))
        self._keys = KeyColumns([pa.chunked_array([column]) for column in columns])
        self._ends = counts.cumsum()
        self._begins = self._ends - counts

    def find_all(self, keys: WantedKeys, wanted: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the records of some of the keys.

        Returns:
            Which of `keys`, ascending; the number of the file, those of one key newest first;
            and the row in it.
        """
        numbers, rows = self._rows_of(keys, wanted)
        if not len(numbers):
            return numbers, numbers, rows
        files = self._ends.searchsorted(rows, side="right")
        return wanted[numbers], files, rows - self._begins[files]

    def hits(self, keys: WantedKeys, wanted: Rows) -> list[Hits]:
        """Return the same file by file, newest first; only files that have some."""
        found, files, positions = self.find_all(keys, wanted)
        hits: list[Hits] = []
        for number in np.unique(files).tolist() if len(files) else ():
            here = files == number
            hits.append((found[here], number, positions[here]))
        return hits

    def _rows_of(self, keys: WantedKeys, wanted: Rows) -> tuple[Rows, Rows]:
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
