"""Where neighbours may be merged beforehand, nothing tells that they were."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from lake import Machine
from lake.errors import SchemaMismatch
from lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from lake.lsm.level_0_merge import merges_neighbours
from lake.merge.fold import drop_retracts, fold
from lake.options import MergeEngine
from tests.property.histories import History
from tests.property.same_values import comparable
from tests.property.strategies import histories

ENGINES = ("deduplicate", "partial-update", "aggregation")


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)
@given(histories(engines=ENGINES), st.sampled_from(Machine), st.data())
def test_neighbours_merged_beforehand_give_the_same_rows(
    history: History, machine: Machine, data: st.DataObject
) -> None:
    assume(merges_neighbours(history.spec))
    begin = data.draw(st.integers(0, len(history.rows) - 1), label="begin")
    end = data.draw(st.integers(begin + 1, len(history.rows)), label="end")
    minds_kinds = history.spec.engine is not MergeEngine.DEDUPLICATE
    history = with_adds(history, begin, end) if minds_kinds else history
    records = history.records.sort_by(SEQUENCE_NUMBER)
    try:
        whole = fold(records, history.spec, machine=machine)
        merged = fold(records.slice(begin, end - begin), history.spec, machine=machine)
    except SchemaMismatch:  # of the other order, too, only a sum of 64 bits
        assume(False)

    parts = [records.slice(0, begin), merged, records.slice(end)]
    found = fold(pa.concat_tables(parts), history.spec, machine=machine)

    assert visible(found, history) == visible(whole, history)


def with_adds(history: History, begin: int, end: int) -> History:
    """Return the history with numbers that ascend, and no retracts between two positions."""
    kinds = history.kinds.to_numpy().copy()
    kinds[begin:end] = RowKind.INSERT
    numbers = np.sort(history.sequence_numbers.to_numpy())
    return replace(history, kinds=pa.array(kinds), sequence_numbers=pa.array(numbers))


def visible(records: pa.Table, history: History) -> list[str]:
    """Return what readers see."""
    rows = drop_retracts(records)
    rows = rows.drop_columns([SEQUENCE_NUMBER, VALUE_KIND])
    return sorted(comparable(rows, history.table))
