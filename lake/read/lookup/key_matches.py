"""Positions of keys in the files of a bucket: the matches of a search, merged over the files.

`are_marked` tells which positions a deletion vector contains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from pyroaring import AbstractBitMap, BitMap

from braid.lake.format.data_file import DataFileMeta
from braid.lake.read.lookup.file_column import Placement
from braid.lake.read.lookup.wanted_keys import Rows

FileHits = tuple[Rows, int, Rows]
"""Numbers of keys, ascending; the number of a file; the rows of these keys in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatches:
    """Records that match keys; one entry per record.

    Attributes:
        keys: int64; the number of the record's key among those searched for, ascending.
        files: The files that have records, newest run first; `file_numbers` indexes them.
        file_numbers: int32; the file of each record.
        positions: int64; the physical row of each record in its file.
        is_verified: Whether keys were compared; else only their hashes were, and a few entries may
            be records of other keys.
    """

    keys: Rows
    files: tuple[DataFileMeta, ...]
    file_numbers: npt.NDArray[np.int32]
    positions: Rows
    is_verified: bool

    def __len__(self) -> int:
        return len(self.keys)

    def by_file(self) -> tuple[list[Placement], Rows]:
        """Return the entries grouped by file, in both directions.

        Returns:
            For each file the rows in it and the numbers of their entries. And for each entry its
            number when the entries are counted file by file.
        """
        if len(self.files) == 1:
            entries = np.arange(len(self))
            return [(self.positions, entries)], entries
        # Stable, so that the rows of a file stay in the order of the entries.
        by_file = self.file_numbers.argsort(kind="stable")
        ends = np.bincount(self.file_numbers, minlength=len(self.files)).cumsum().tolist()
        positions = self.positions[by_file]
        spans = [slice(begin, end) for begin, end in pairwise([0, *ends])]
        order = np.empty(len(self), dtype=np.int64)
        order[by_file] = np.arange(len(self))
        return [(positions[span], by_file[span]) for span in spans], order


_NOTHING: Final = KeyMatches(
    keys=np.zeros(0, dtype=np.int64),
    files=(),
    file_numbers=np.zeros(0, dtype=np.int32),
    positions=np.zeros(0, dtype=np.int64),
    is_verified=True,
)


def merge_hits(
    files: Sequence[DataFileMeta], hits: Sequence[FileHits], *, is_verified: bool
) -> KeyMatches:
    """Return the hits of several files ordered by key; records of one key in the order of `hits`.

    Args:
        files: The bucket's files, by number.
        hits: What was found in each file.
        is_verified: Whether keys were compared, not only their hashes.
    """
    if not hits:
        return _NOTHING
    with_hits = tuple(files[number] for _, number, _ in hits)
    if len(hits) == 1:
        [(keys, _, positions)] = hits
        return KeyMatches(
            keys=keys,
            files=with_hits,
            file_numbers=np.zeros(len(keys), dtype=np.int32),
            positions=positions,
            is_verified=is_verified,
        )
    keys = np.concatenate([keys for keys, _, _ in hits])
    positions = np.concatenate([rows for _, _, rows in hits])
    counts = [len(keys) for keys, _, _ in hits]
    numbers = np.repeat(np.arange(len(hits), dtype=np.int32), counts)
    # Stable: `hits` are newest run first, which is the order that records of a key must keep.
    order = np.argsort(keys, kind="stable")
    assert len(positions) == len(keys), "a row for each key"
    return KeyMatches(
        keys=keys[order],
        files=with_hits,
        file_numbers=numbers[order],
        positions=positions[order],
        is_verified=is_verified,
    )


def are_marked(positions: Rows, vector: AbstractBitMap) -> npt.NDArray[np.bool_]:
    """Return for each position whether a deletion vector contains it."""
    # The intersection comes first: with few positions it is small, whatever the size of the vector.
    marked = BitMap(positions.astype(np.uint32)) & vector
    if not marked:
        return np.zeros(len(positions), dtype=bool)
    return np.isin(positions, np.frombuffer(marked.to_array(), dtype=np.uint32))
