from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import CorruptData
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.lsm.merge_runs import (
    BUFFERED_BYTES,
    BUFFERED_ROWS,
    bytes_per_run,
    merge_runs,
    rows_per_run,
)
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.merge.fold import FoldCounters, Machine, fold
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine

SPEC = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",))
PLAIN = PlainMerge(spec=SPEC)


def run(keys: list[int], *, number: int) -> pa.Table:
    """Return a run whose values only this run has: column `v<number>` holds the key."""
    rows = len(keys)
    return pa.table(
        {
            SEQUENCE_NUMBER: pa.array(np.arange(rows) + number * 1_000_000),
            VALUE_KIND: pa.array(np.zeros(rows, dtype=np.int8)),
            "k": pa.array(keys, pa.int64()),
            **{
                f"v{i}": pa.array(keys, pa.int64()) if i == number else pa.nulls(rows, pa.int64())
                for i in range(3)
            },
        }
    )


def merged(runs: list[pa.Table], *, batch_rows: int = 2, rows_at_a_time: int = 2) -> list[pa.Table]:
    batches = [iter(table.to_batches(max_chunksize=rows_at_a_time)) for table in runs]
    return list(merge_runs(batches, PLAIN, batch_rows=batch_rows))


def test_rows_come_out_once_in_order_with_every_runs_values() -> None:
    runs = [run([1, 3, 5, 7], number=0), run([2, 3, 9], number=1), run([3, 7, 8], number=2)]

    whole = pa.concat_tables(merged(runs))

    assert whole.column("k").to_pylist() == [1, 2, 3, 5, 7, 8, 9]
    assert whole.column("v1").to_pylist() == [None, 2, 3, None, None, None, 9]
    assert whole.combine_chunks().equals(fold(pa.concat_tables(runs), SPEC).combine_chunks())


def test_no_runs_and_empty_runs_give_nothing() -> None:
    assert merged([]) == []
    assert merged([run([], number=0), run([], number=1)]) == []


def test_a_single_run_is_handed_on_batch_by_batch() -> None:
    tables = merged([run([1, 2, 3, 4, 5], number=0)])

    assert [table.num_rows for table in tables] == [2, 2, 1]


def test_runs_are_read_no_further_than_needed() -> None:
    pulled = [0, 0]

    def counted(index: int, keys: range) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(keys), 10):
            pulled[index] += 1
            yield from run(list(keys[start : start + 10]), number=index).to_batches()

    tables = merge_runs([counted(0, range(100)), counted(1, range(100))], PLAIN, batch_rows=10)

    assert pulled == [0, 0]
    assert next(tables).num_rows == 10
    assert pulled == [1, 1]
    next(tables)
    assert pulled == [2, 2]


def test_rows_at_hand_are_bounded_however_the_runs_interleave() -> None:
    runs = [
        run(list(range(0, 3000, 3)), number=0),
        run(list(range(2500, 4000)), number=1),
        run([0, 3999], number=2),
    ]

    tables = merged(runs, batch_rows=50, rows_at_a_time=25)

    assert max(table.num_rows for table in tables) <= 3 * 75
    assert sum(table.num_rows for table in tables) == len({*range(0, 3000, 3), *range(2500, 4000)})


def test_a_large_run_beside_many_small_ones_takes_few_rounds() -> None:
    small = [run(list(range(number, 10_000, 1_000)), number=number) for number in range(1, 20)]

    tables = merged([run(list(range(10_000)), number=0), *small], batch_rows=100)

    # One round for each batch of the large run would make a hundred.
    assert len(tables) < 15
    assert [key for table in tables for key in table.column("k").to_pylist()] == [*range(10_000)]


@pytest.mark.parametrize("seed", range(10))
def test_rows_at_hand_are_bounded_wherever_the_runs_are_dense(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at_hand, most = 0, 0

    def counted(keys: list[int], number: int) -> Iterator[pa.RecordBatch]:
        nonlocal at_hand, most
        for batch in run(keys, number=number).to_batches(max_chunksize=10):
            at_hand += batch.num_rows
            most = max(most, at_hand)
            yield batch

    # Each run is dense somewhere else.
    keys = [sorted({*(rng.normal(i * 2_000, 600, 4_000).astype(int))}) for i in range(6)]
    runs = [counted([int(key) for key in own], number) for number, own in enumerate(keys)]
    counters = FoldCounters()
    taken = 0
    for _ in merge_runs(runs, PlainMerge(spec=SPEC, counters=counters), batch_rows=100):
        at_hand -= counters.rows_in - taken
        taken = counters.rows_in

    assert taken == sum(map(len, keys))
    assert most <= 2 * 6 * 100 + 6 * 10


def test_rows_at_hand_are_bounded_in_bytes_too() -> None:
    text = "x" * 1_000
    runs = [run(list(range(500)), number=i).append_column("t", [[text] * 500]) for i in range(4)]

    tables = merge_runs([iter(r.to_batches()) for r in runs], PLAIN, batch_bytes=10_000)

    sizes = [table.num_rows for table in tables]
    assert sum(sizes) == 500
    assert max(sizes) <= 20


def test_a_row_larger_than_the_bytes_at_hand_is_merged() -> None:
    runs = [run([1, 2, 3], number=i).append_column("t", [["x" * 1_000] * 3]) for i in range(2)]

    tables = merge_runs([iter(r.to_batches()) for r in runs], PLAIN, batch_bytes=10)

    assert [table.column("k").to_pylist() for table in tables] == [[1], [2], [3]]


@pytest.mark.parametrize("runs", [1, 4, 200, 5_000])
def test_runs_share_what_is_held(runs: int) -> None:
    assert rows_per_run(runs) * runs <= max(BUFFERED_ROWS, 1_024 * runs)
    assert bytes_per_run(runs) * runs <= max(BUFFERED_BYTES, 1_048_576 * runs)
    assert rows_per_run(1) == 65_536


def test_counters_count_merged_and_handed_on_rows() -> None:
    counters = FoldCounters()
    runs = [iter(run(keys, number=i).to_batches()) for i, keys in enumerate([[1, 2], [2, 3, 4]])]

    list(merge_runs(runs, PlainMerge(spec=SPEC, counters=counters), batch_rows=1))

    assert (counters.rows_in, counters.rows_out) == (5, 4)


@pytest.mark.parametrize("machine", Machine)
def test_both_machines_merge(machine: Machine) -> None:
    runs = [iter(run([1, 2], number=i).to_batches()) for i in range(2)]

    (table,) = merge_runs(runs, PlainMerge(spec=SPEC, machine=machine))

    assert table.column("v0").to_pylist() == table.column("v1").to_pylist() == [1, 2]


@pytest.mark.parametrize("keys", [[1, 3, 2, 9], [1, 2, 2, 9], [1, 4, 3, 9], [5, 6, 1, 9]], ids=str)
def test_a_run_out_of_order_is_corrupt(keys: list[int]) -> None:
    with pytest.raises(CorruptData, match="out of order"):
        merged([run(keys, number=0), run(list(range(10)), number=1)])


def test_single_records_are_merged_where_the_merge_requires_it() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), ignore_delete=True)
    retract = run([5], number=0).set_column(1, VALUE_KIND, pa.array([3], pa.int8()))
    runs = [pa.concat_tables([run([1, 4], number=0), retract]), run([1, 2], number=1)]

    def keys(*, single_untouched: bool) -> list[int]:
        batches = [iter(table.to_batches()) for table in runs]
        tables = list(merge_runs(batches, PlainMerge(spec=spec, single_untouched=single_untouched)))
        assert all(table.num_rows for table in tables)
        return [key for table in tables for key in table.column("k").to_pylist()]

    assert keys(single_untouched=True) == [1, 2, 4, 5]
    assert keys(single_untouched=False) == [1, 2, 4]
    runs.pop()
    assert keys(single_untouched=False) == [1, 4]
