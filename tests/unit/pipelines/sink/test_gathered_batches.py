"""Small batches are gathered up to a number of rows or bytes, in their order."""

import pyarrow as pa

from braid.pipelines.sink.gathered_batches import gather_batches


def batches_of(*sizes: int) -> list[pa.RecordBatch]:
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    return [
        pa.RecordBatch.from_pydict({"n": pa.array(range(start, start + size), pa.int64())})
        for start, size in zip(starts, sizes, strict=True)
    ]


def test_batches_are_gathered_up_to_a_number_of_rows() -> None:
    found = list(gather_batches(iter(batches_of(3, 0, 4, 5, 20, 1)), rows_min=10))

    assert [batch.num_rows for batch in found] == [12, 20, 1]
    assert [n for batch in found for n in batch.column("n").to_pylist()] == list(range(33))


def test_batches_are_gathered_up_to_a_number_of_bytes() -> None:
    found = list(gather_batches(iter(batches_of(3, 4, 5)), bytes_min=7 * 8))

    assert [batch.num_rows for batch in found] == [7, 5]


def test_nothing_is_gathered_of_empty_batches() -> None:
    assert list(gather_batches(iter(batches_of(0, 0)))) == []
