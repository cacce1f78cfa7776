"""Reads return the right bytes, with few requests."""

import io
import random
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake.files.object_store.input import (
    BLOCK_BYTES,
    BLOCKS_AHEAD_MAX,
    BLOCKS_KEPT,
    TAIL_BYTES,
    RangedInput,
)
from braid.lake.files.object_store.prefetch import (
    AHEAD_BYTES,
    GAP_BYTES,
)
from braid.lake.files.parquet.reader import ParquetFormatReader
from braid.lake.files.storage.positioned_input import ByteRange


class Ranges:
    """A file in memory that records the requested ranges."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[ByteRange, ...]] = []

    def open(self) -> RangedInput:
        tail = self.data[-TAIL_BYTES:]
        return RangedInput(self._read, size=len(self.data), tail=tail)

    def _read(self, ranges: Sequence[ByteRange]) -> list[bytes]:
        for begin, end in ranges:
            assert 0 <= begin < end <= len(self.data)
        self.asked.append(tuple(ranges))
        return [self.data[begin:end] for begin, end in ranges]


def test_a_small_file_takes_no_second_request() -> None:
    ranges = Ranges(random.Random(1).randbytes(TAIL_BYTES))
    source = ranges.open()

    assert source.read() == ranges.data
    assert source.seek(-5, io.SEEK_END) == len(ranges.data) - 5
    assert source.read() == ranges.data[-5:]
    assert ranges.asked == []


@pytest.mark.parametrize("size", [TAIL_BYTES + 1, BLOCK_BYTES, 7 * BLOCK_BYTES + 13])
def test_any_reads_return_the_bytes_of_the_file(size: int) -> None:
    drawn = random.Random(size)
    ranges = Ranges(drawn.randbytes(size))
    source = ranges.open()

    for _ in range(300):
        start, length = drawn.randrange(size + 10), drawn.choice([1, 100, BLOCK_BYTES, size])
        source.seek(start)
        assert source.read(length) == ranges.data[start : start + length]
        assert source.tell() == max(start, min(start + length, size))
        assert len(source._blocks) <= BLOCKS_KEPT


def test_sequential_reads_fetch_more_each_time() -> None:
    ranges = Ranges(bytes(16 * BLOCK_BYTES))
    source = ranges.open()

    while source.read(50_000):
        pass

    lengths = [end - begin for ((begin, end),) in ranges.asked]
    assert lengths[0] == BLOCK_BYTES
    assert max(lengths) == (1 + BLOCKS_AHEAD_MAX) * BLOCK_BYTES
    assert len(lengths) == 6
    assert sum(lengths) == len(ranges.data) - TAIL_BYTES


def test_adjacent_column_chunks_share_requests() -> None:
    sink = pa.BufferOutputStream()
    drawn = random.Random(3)
    columns = {f"c{n}": [drawn.random() for _ in range(40_000)] for n in range(12)}
    with pq.ParquetWriter(sink, pa.table(columns).schema, compression="none") as writer:
        writer.write_table(pa.table(columns), row_group_size=10_000)
    ranges = Ranges(sink.getvalue().to_pybytes())

    with pq.ParquetFile(ranges.open(), pre_buffer=False) as file:
        assert file.read() == pa.table(columns)

    chunks = 4 * 12
    assert len(ranges.data) > 3 * BLOCK_BYTES
    assert len(ranges.asked) <= chunks / 6


def _announced_bytes(asked: list[tuple[ByteRange, ...]]) -> int:
    return sum(end - begin for ranges in asked for begin, end in ranges)


def test_announced_ranges_are_fetched_together_and_nothing_else_is() -> None:
    ranges = Ranges(random.Random(5).randbytes(16 * BLOCK_BYTES))
    source = ranges.open()
    far = 2 * GAP_BYTES
    parts = [(begin, begin + 10_000) for begin in range(0, 12 * BLOCK_BYTES, far)]

    source.prefetch(parts)

    for begin, end in parts:
        source.seek(begin)
        assert source.read(end - begin) == ranges.data[begin:end]
    assert ranges.asked == [tuple(parts)]
    assert len(source._prefetched._requests) == 0


def test_ranges_that_are_close_share_a_request() -> None:
    ranges = Ranges(random.Random(6).randbytes(4 * BLOCK_BYTES))
    source = ranges.open()

    source.prefetch([(200_000, 300_000), (0, 100_000), (300_000 + GAP_BYTES, 600_000)])
    for begin, end in [(0, 100_000), (200_000, 300_000), (300_000 + GAP_BYTES, 600_000)]:
        source.seek(begin)
        assert source.read(end - begin) == ranges.data[begin:end]

    assert ranges.asked == [((0, 600_000),)]


def test_prefetching_is_bounded() -> None:
    ranges = Ranges(bytes(16 * BLOCK_BYTES))
    source = ranges.open()
    parts = [(begin, begin + 500_000) for begin in range(0, 14 * BLOCK_BYTES, BLOCK_BYTES)]
    large = (14 * BLOCK_BYTES, 14 * BLOCK_BYTES + AHEAD_BYTES // 4)

    source.prefetch([*parts, large])
    for begin, end in [*parts, large]:
        source.seek(begin)
        source.read(end - begin)
        held = [request.data for request in source._prefetched._requests]
        assert sum(len(data) for data in held if data is not None) <= AHEAD_BYTES

    assert max(_announced_bytes([asked]) for asked in ranges.asked) <= AHEAD_BYTES
    assert len(ranges.asked) == 2


def test_a_range_larger_than_the_bound_is_fetched_alone() -> None:
    ranges = Ranges(random.Random(7).randbytes(16 * BLOCK_BYTES))
    source = ranges.open()
    large = (BLOCK_BYTES, BLOCK_BYTES + 2 * AHEAD_BYTES)

    source.prefetch([large, (12 * BLOCK_BYTES, 13 * BLOCK_BYTES)])
    source.seek(large[0])

    assert source.read(large[1] - large[0]) == ranges.data[large[0] : large[1]]
    assert ranges.asked == [(large,)]


def test_ranges_that_were_not_announced_are_read_by_blocks() -> None:
    drawn = random.Random(8)
    size = 6 * BLOCK_BYTES
    ranges = Ranges(drawn.randbytes(size))
    source = ranges.open()

    for _ in range(100):
        begins = sorted(drawn.sample(range(size), 6))
        source.prefetch(list(pairwise(begins))[:: drawn.choice([1, 2])])
        for _ in range(10):
            start, length = drawn.randrange(size), drawn.choice([1, 100, BLOCK_BYTES])
            source.seek(start)
            assert source.read(length) == ranges.data[start : start + length]


def test_only_the_requested_columns_of_a_parquet_file_are_fetched() -> None:
    sink = pa.BufferOutputStream()
    drawn = random.Random(9)
    columns = {f"c.{n}": [drawn.random() for _ in range(120_000)] for n in range(40)}
    table = pa.table(columns)
    with pq.ParquetWriter(sink, table.schema, compression="none", use_dictionary=False) as writer:
        writer.write_table(table, row_group_size=30_000)
    ranges = Ranges(sink.getvalue().to_pybytes())

    stored = ParquetFormatReader(ranges.open(), "file", reopen=_never)
    batches = stored.batches(
        [0, 1, 2],
        [table.schema.field("c.3"), table.schema.field("c.30")],
        batch_rows=20_000,
        batch_bytes=1 << 30,
    )

    assert pa.Table.from_batches(batches) == table.select(["c.3", "c.30"]).slice(0, 90_000)
    assert _announced_bytes(ranges.asked) < 3 * 2 * 30_000 * 8 * 1.01
    assert len(ranges.asked) == 1


def _never() -> pa.NativeFile:
    raise AssertionError
