"""Records are the same behind a shuffle in chunks, and in the order of their offsets where that is wanted."""

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
from hypothesis import given

from braid.pipelines.sink.record_chunks import (
    FIRST_OFFSET,
    FIRST_PARTITION,
    RECORDS,
    TASK,
    pack_chunks,
    unpack_chunks,
    unpack_in_order,
)
from braid.records.record_columns import HEADERS, OFFSET, PARTITION, VALUE
from tests.unit.records.given_streams import given_records

TASKS = 3
# Offsets and task of each record, by partition: gaps as transactions leave them, and ranges that overlap or do not.
PARTITIONS = st.lists(
    st.dictionaries(st.integers(0, 60), st.integers(0, TASKS - 1), max_size=25), max_size=4
)


def records_of(partition: int, offsets: list[int]) -> pa.RecordBatch:
    values = [None if offset % 5 == 0 else b"%d/%d" % (partition, offset) for offset in offsets]
    headers = [("of", b"%d" % partition)] if partition % 2 else None
    batch = given_records(values, partition=partition, headers=headers)
    at = batch.schema.get_field_index(OFFSET)
    return batch.set_column(at, OFFSET, pa.array(offsets, pa.int64()))


def shuffled(partitions: list[dict[int, int]], *, batch_rows: int) -> list[pa.Table]:
    """Return the chunks of each task as Spark shuffles and sorts them."""
    chunks = [
        pack_chunks(
            records_of(number, offsets[at : at + batch_rows]),
            np.array([tasks[offset] for offset in offsets[at : at + batch_rows]], np.int32),
        )
        for number, tasks in enumerate(partitions)
        for offsets in [sorted(tasks)]
        for at in range(0, len(offsets), batch_rows)
    ]
    if not chunks:
        return []
    table = pa.Table.from_batches(chunks)
    rows = table.sort_by([(FIRST_OFFSET, "ascending"), (FIRST_PARTITION, "ascending")])
    numbers = rows.column(TASK).to_numpy()
    return [rows.filter(pa.array(numbers == task)) for task in range(TASKS)]


@given(PARTITIONS, st.integers(1, 9), st.integers(1, 5))
def test_each_task_gets_its_records_by_offset_then_partition(
    partitions: list[dict[int, int]], batch_rows: int, received_rows: int
) -> None:
    for task, chunks in enumerate(shuffled(partitions, batch_rows=batch_rows)):
        found = list(unpack_in_order(iter(chunks.to_batches(received_rows))))

        expected = sorted(
            (offset, number)
            for number, tasks in enumerate(partitions)
            for offset, of_task in tasks.items()
            if of_task == task
        )
        places = [
            place
            for batch in found
            for place in zip(
                batch.column(OFFSET).to_pylist(), batch.column(PARTITION).to_pylist(), strict=True
            )
        ]
        assert places == expected


@given(PARTITIONS, st.integers(1, 9))
def test_records_are_unpacked_as_they_were_packed(
    partitions: list[dict[int, int]], batch_rows: int
) -> None:
    for task, chunks in enumerate(shuffled(partitions, batch_rows=batch_rows)):
        found = [
            row for batch in unpack_chunks(iter(chunks.to_batches())) for row in batch.to_pylist()
        ]

        expected = [
            row
            for number, tasks in enumerate(partitions)
            for row in records_of(number, sorted(tasks)).to_pylist()
            if tasks[row[OFFSET]] == task
        ]

        def place(row: dict[str, object]) -> tuple[object, object]:
            return row[OFFSET], row[PARTITION]

        assert sorted(found, key=place) == sorted(expected, key=place)
        assert {HEADERS, VALUE} <= set(found[0]) if found else True


def test_a_chunk_has_the_bytes_of_its_records_alone() -> None:
    """A slice shares the buffers of its batch; they would cross the shuffle once for each task."""
    records = records_of(0, list(range(1, 4000)))

    one = pack_chunks(records.slice(10, 1), np.zeros(1, np.int32))

    assert len(one.column(RECORDS)[0].as_buffer()) < 3_000
