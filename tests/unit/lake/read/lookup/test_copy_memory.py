"""Memory that is taken while a large file is copied: that of a few batches, not of the file."""

import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from braid.lake.files.storage.scratch import ScratchDirectory
from braid.lake.format.system_columns import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_FIELD,
    VALUE_KIND,
    VALUE_KIND_FIELD,
)
from braid.lake.read.lookup.copy_space import CopySpace
from braid.lake.read.lookup.file_lookup import FileLookup
from braid.lake.read.lookup.wanted_keys import WantedKeys

ROWS = 1_500_000
BATCH_ROWS = 1 << 16
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("t", pa.string())])
ALLOWED_BYTES = 16 << 20
"""The bits of one byte per row, the batches of two columns, and arrays for their hashes."""


class LargeFile:
    """A file with the keys 0, 2, 4, … and a text, of which every 10th is null; about 90 MB decoded."""

    file_size = 64 << 20

    def __init__(self, row_count: int) -> None:
        self.row_count = row_count
        self.allocated = 0

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        every = pa.schema([*SCHEMA, SEQUENCE_NUMBER_FIELD, VALUE_KIND_FIELD])
        for first in range(0, self.row_count, BATCH_ROWS):
            numbers = np.arange(first, min(first + BATCH_ROWS, self.row_count))
            values = {
                "k": lambda numbers=numbers: pa.array(2 * numbers),
                "t": lambda numbers=numbers: texts(numbers),
                SEQUENCE_NUMBER: lambda numbers=numbers: pa.array(numbers),
                VALUE_KIND: lambda numbers=numbers: pa.array(np.zeros(len(numbers), np.int8)),
            }
            yield (
                first,
                pa.record_batch(
                    [values[name]() for name in columns],
                    schema=pa.schema([every.field(name) for name in columns]),
                ),
            )
            self.allocated = max(self.allocated, pa.total_allocated_bytes())


def texts(numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Array:
    told = pa.array(numbers).cast(pa.string())
    return pa.compute.if_else(
        pa.array(numbers % 10 > 0),
        pa.compute.binary_join_element_wise(told, "a text of some length", " "),
        None,
    )


def copied(file: LargeFile, space: CopySpace) -> FileLookup:
    copy = FileLookup(file, key_columns=["k"], schema=SCHEMA, space=space)
    copy.load(["k", "t"])
    return copy


class Unbounded:
    """A quota without a bound, which counts."""

    def __init__(self) -> None:
        self.disk = 0

    def reserve(self, *, disk: int = 0, memory: int = 0) -> bool:
        self.disk += disk
        return memory == 0

    def release(self, *, disk: int, memory: int) -> None:
        self.disk -= disk


def test_copying_a_large_file_takes_the_memory_of_a_few_batches(tmp_path: Path) -> None:
    quota, scratch, file = Unbounded(), ScratchDirectory(str(tmp_path)), LargeFile(ROWS)
    space = CopySpace(quota, lambda: scratch)
    copied(LargeFile(1_000), CopySpace(Unbounded(), lambda: scratch))  # imports take memory, too
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        copy = copied(file, space)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < ALLOWED_BYTES
    assert file.allocated - before < ALLOWED_BYTES
    assert space.disk_bytes > 5 * ALLOWED_BYTES
    assert quota.disk == space.disk_bytes
    keys = WantedKeys(columns=(pa.array([0, 1, 2, 24, 2 * ROWS - 2, 2 * ROWS], pa.int64()),))
    found = copy.find(keys, np.arange(len(keys)))
    assert found.tolist() == [0, -1, 1, 12, ROWS - 1, -1]
    assert copy.take(found[found >= 0], ["k", "t"]).to_pylist() == [
        {"k": 0, "t": None},
        {"k": 2, "t": "1 a text of some length"},
        {"k": 24, "t": "12 a text of some length"},
        {"k": 2 * ROWS - 2, "t": f"{ROWS - 1} a text of some length"},
    ]
    space.close()
    assert quota.disk == 0
