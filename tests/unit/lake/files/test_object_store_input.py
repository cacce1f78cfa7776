"""What is read is right, and asked for in few requests."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake.files.object_store_input import (
    BLOCK_BYTES,
    BLOCKS_AHEAD_MAX,
    BLOCKS_KEPT,
    TAIL_BYTES,
    RangedInput,
)


class Ranges:
    """A file in memory that remembers what was asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def open(self) -> RangedInput:
        tail = self.data[-TAIL_BYTES:]
        return RangedInput(self._read, size=len(self.data), tail=tail)

    def _read(self, offset: int, length: int) -> bytes:
        assert length > 0
        assert offset + length <= len(self.data)
        self.asked.append((offset, length))
        return self.data[offset : offset + length]


def test_a_small_file_takes_no_second_request() -> None:
    ranges = Ranges(random.Random(1).randbytes(TAIL_BYTES))
    source = ranges.open()

    assert source.read() == ranges.data
    assert source.seek(-5, io.SEEK_END) == len(ranges.data) - 5
    assert source.read() == ranges.data[-5:]
    assert ranges.asked == []


@pytest.mark.parametrize("size", [TAIL_BYTES + 1, BLOCK_BYTES, 7 * BLOCK_BYTES + 13])
def test_any_reads_anywhere_bring_the_bytes_of_the_file(size: int) -> None:
    drawn = random.Random(size)
    ranges = Ranges(drawn.randbytes(size))
    source = ranges.open()

    for _ in range(300):
        start, length = drawn.randrange(size + 10), drawn.choice([1, 100, BLOCK_BYTES, size])
        source.seek(start)
        assert source.read(length) == ranges.data[start : start + length]
        assert source.tell() == max(start, min(start + length, size))
        assert len(source._blocks) <= BLOCKS_KEPT


def test_reading_on_asks_for_more_every_time() -> None:
    ranges = Ranges(bytes(16 * BLOCK_BYTES))
    source = ranges.open()

    while source.read(50_000):
        pass

    lengths = [length for _, length in ranges.asked]
    assert lengths[0] == BLOCK_BYTES
    assert max(lengths) == (1 + BLOCKS_AHEAD_MAX) * BLOCK_BYTES
    assert len(lengths) == 6
    assert sum(lengths) == len(ranges.data) - TAIL_BYTES


def test_column_chunks_that_lie_together_share_requests() -> None:
    sink = pa.BufferOutputStream()
    drawn = random.Random(3)
    columns = {f"c{n}": [drawn.random() for _ in range(40_000)] for n in range(12)}
    with pq.ParquetWriter(sink, pa.table(columns).schema, compression="none") as writer:
        writer.write_table(pa.table(columns), row_group_size=10_000)
    ranges = Ranges(sink.getvalue().to_pybytes())

    with pq.ParquetFile(pa.PythonFile(ranges.open(), mode="r"), pre_buffer=False) as file:
        assert file.read() == pa.table(columns)

    chunks = 4 * 12
    assert len(ranges.data) > 3 * BLOCK_BYTES
    assert len(ranges.asked) <= chunks / 6
