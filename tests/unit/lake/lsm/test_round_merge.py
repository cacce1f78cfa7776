"""Merges of the records of a range of keys (merge-semantics 1.6, 1.7)."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from braid.lake.format.system_columns import LEVEL, SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.lsm.round_merge import LookupMerge, PlainMerge, lowest_levels
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.fold import FoldCounters, Machine
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine

SUM = MergeSpec(
    engine=MergeEngine.AGGREGATION,
    key_columns=("k",),
    functions=(ColumnFunction(column="v", name="sum"),),
)
FIRST_ROW = MergeSpec(engine=MergeEngine.FIRST_ROW, key_columns=("k",))
Record = tuple[int, int, int, int, int]  # key, value, sequence number, kind, level


def records(*rows: Record) -> pa.Table:
    keys, values, numbers, kinds, levels = zip(*rows, strict=True)
    return pa.table(
        {
            SEQUENCE_NUMBER: pa.array(numbers, pa.int64()),
            VALUE_KIND: pa.array(kinds, pa.int8()),
            "k": pa.array(keys, pa.int32()),
            "v": pa.array(values, pa.int32()),
            LEVEL: pa.array(levels, pa.int32()),
        }
    )


def rows(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table["k"].to_pylist(), table["v"].to_pylist(), strict=True))


@pytest.mark.parametrize("machine", Machine)
def test_of_compacted_records_only_the_lowest_level_counts(machine: Machine) -> None:
    merge = LookupMerge(spec=SUM, machine=machine)
    given = records(
        (1, 100, 0, 0, 5), (1, 10, 1, 0, 3), (1, 1, 2, 0, 0), (1, 2, 3, 0, 0), (2, 7, 0, 0, 5)
    )

    merged = merge.merge(given, None)

    assert rows(merged) == [(1, 13), (2, 7)]
    assert LEVEL not in merged.column_names


def test_records_of_level_0_all_count() -> None:
    given = records((1, 1, 0, 0, 0), (1, 2, 1, 0, 0), (1, 4, 2, 0, 0))

    assert rows(LookupMerge(spec=SUM).merge(given, None)) == [(1, 7)]


def test_a_single_record_is_merged_too() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), ignore_delete=True)
    given = records((1, 1, 0, 3, 0), (2, 2, 0, 0, 0))

    assert not LookupMerge(spec=spec).passes_singletons
    assert rows(LookupMerge(spec=spec).merge(given, None)) == [(2, 2)]
    assert rows(LookupMerge(spec=spec).pass_singletons(given)) == [(2, 2)]


def test_the_first_row_is_that_of_the_lowest_level_compacted() -> None:
    given = records((1, 1, 0, 0, 4), (1, 2, 5, 0, 0))

    assert rows(LookupMerge(spec=FIRST_ROW).merge(given, None)) == [(1, 1)]


def test_a_plain_merge_adds_up_every_level() -> None:
    counters = FoldCounters()
    merge = PlainMerge(spec=SUM, counters=counters)
    given = records((1, 100, 0, 0, 5), (1, 10, 1, 0, 3)).drop_columns([LEVEL])

    assert rows(merge.merge(given, None)) == [(1, 110)]
    assert merge.pass_singletons(given) is given
    assert (counters.rows_in, counters.rows_out) == (4, 3)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30, unique=True))
def test_lowest_levels_against_a_model(pairs: list[tuple[int, int]]) -> None:
    codes = np.array([code for code, _ in pairs], dtype=np.uint64)
    levels = np.array([level for _, level in pairs], dtype=np.int32)

    kept = lowest_levels(levels, codes)

    lowest = {
        code: min(level for other, level in pairs if other == code and level > 0)
        for code, level in pairs
        if level > 0
    }
    expected = [level == 0 or level == lowest[code] for code, level in pairs]
    assert (kept is None and all(expected)) or (kept is not None and kept.tolist() == expected)
