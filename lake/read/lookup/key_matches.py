"""Where keys were found in the files of a bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from pyroaring import AbstractBitMap, BitMap

from lake.format.data_file import DataFileMeta
from lake.read.lookup.file_column import Places
from lake.read.lookup.wanted_keys import Rows

Hits = tuple[Rows, int, Rows]
"""Which keys, ascending, the number of a file, and their rows in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where keys are; one entry per record.

    Attributes:
        keys: int64; which of the wanted keys, ascending.
        files: What `file_numbers` counts: files that have some of them, newest run first.
        file_numbers: int32; the file of each record.
        positions: int64; the physical row of each record in its file.
        is_sure: Whether keys were compared, not their hashes alone.
    """

    keys: Rows
    files: tuple[DataFileMeta, ...]
    file_numbers: npt.NDArray[np.int32]
    positions: Rows
    is_sure: bool

    def __len__(self) -> int:
        return len(self.keys)

    def by_file(self) -> tuple[list[Places], Rows]:
        """Return for each file the rows in it and which of the records they are, and the other side.

        The other side says for each record which it is when they are counted file by file.
        """
        if len(self.files) == 1:
            every = np.arange(len(self))
            return [(self.positions, every)], every
        by_file = self.file_numbers.argsort(kind="stable")
        ends = np.bincount(self.file_numbers, minlength=len(self.files)).cumsum().tolist()
        positions = self.positions[by_file]
        spans = [slice(begin, end) for begin, end in pairwise([0, *ends])]
        order = np.empty(len(self), dtype=np.int64)
        order[by_file] = np.arange(len(self))
        return [(positions[span], by_file[span]) for span in spans], order


_NOTHING: Final = Found(
    keys=np.zeros(0, dtype=np.int64),
    files=(),
    file_numbers=np.zeros(0, dtype=np.int32),
    positions=np.zeros(0, dtype=np.int64),
    is_sure=True,
)


def found_in(files: Sequence[DataFileMeta], hits: Sequence[Hits], *, is_sure: bool) -> Found:
    """Return what several files have, by key; the records of one key in the order of `hits`.

    Args:
        files: Of the bucket, by their numbers.
        hits: What was found in each file.
        is_sure: Whether keys were compared, not their hashes alone.
    """
    if not hits:
        return _NOTHING
    of_hits = tuple(files[number] for _, number, _ in hits)
    if len(hits) == 1:
        [(keys, _, positions)] = hits
        return Found(
            keys=keys,
            files=of_hits,
            file_numbers=np.zeros(len(keys), dtype=np.int32),
            positions=positions,
            is_sure=is_sure,
        )
    keys = np.concatenate([found for found, _, _ in hits])
    positions = np.concatenate([places for _, _, places in hits])
    counts = [len(found) for found, _, _ in hits]
    numbers = np.repeat(np.arange(len(hits), dtype=np.int32), counts)
    order = np.argsort(keys, kind="stable")
    return Found(
        keys=keys[order],
        files=of_hits,
        file_numbers=numbers[order],
        positions=positions[order],
        is_sure=is_sure,
    )


def are_marked(positions: Rows, vector: AbstractBitMap) -> npt.NDArray[np.bool_]:
    """Return for each position whether a deletion vector has it."""
    marked = BitMap(positions.astype(np.uint32)) & vector
    if not marked:
        return np.zeros(len(positions), dtype=bool)
    return np.isin(positions, np.frombuffer(marked.to_array(), dtype=np.uint32))
