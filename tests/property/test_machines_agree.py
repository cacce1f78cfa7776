"""Laws of merging: two executions, any cut, one answer."""

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from lake.errors import SchemaMismatch
from lake.lsm.merge_runs import merge_runs
from lake.merge.fold import FoldCounters, Machine, fold
from lake.merge.spec import MergeSpec
from tests.property.strategies import ADDS, History, cuts, histories, plain

SETTINGS = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def outcome(records: pa.Table, spec: MergeSpec, machine: Machine) -> list[str] | str:
    try:
        return plain(fold(records, spec, machine=machine))
    except SchemaMismatch as error:
        # Which of several bad records is met first is the machine's business.
        return type(error).__name__


@SETTINGS
@given(histories())
def test_the_column_machine_gives_the_row_machines_answer(history: History) -> None:
    by_rows = outcome(history.records, history.spec, Machine.ROW)
    by_columns = outcome(history.records, history.spec, Machine.COLUMN)

    assert by_columns == by_rows


@SETTINGS
@given(histories(kinds=ADDS))
def test_only_retracts_reach_the_row_machine(history: History) -> None:
    counters = FoldCounters()
    try:
        fold(history.records, history.spec, counters=counters)
    except SchemaMismatch:
        return

    assert counters.row_machine_segments == 0


@SETTINGS
@given(histories(), st.data())
def test_merging_runs_in_batches_equals_folding_them_at_once(
    history: History, data: st.DataObject
) -> None:
    records, spec = history.records, history.spec
    try:
        runs = [
            fold(records.slice(start, stop - start), spec)
            for start, stop in pairwise(data.draw(cuts(len(records))))
        ]
        at_once = fold(pa.concat_tables(runs), spec)
    except SchemaMismatch:
        return
    batches = [
        [
            batch
            for start, stop in pairwise(data.draw(cuts(len(run))))
            for batch in run.slice(start, stop - start).combine_chunks().to_batches()
        ]
        for run in runs
    ]
    counters = FoldCounters()
    in_batches = list(
        merge_runs(
            [iter(run) for run in batches],
            spec,
            batch_rows=data.draw(st.integers(1, 8)),
            machine=data.draw(st.sampled_from(Machine)),
            counters=counters,
        )
    )

    assert [row for table in in_batches for row in plain(table)] == plain(at_once)
    assert all(table.num_rows for table in in_batches)
    assert counters.rows_in == sum(run.num_rows for run in runs)
    assert counters.rows_out == at_once.num_rows


@SETTINGS
@given(histories(kinds=ADDS, associative=True), st.data())
def test_folding_adds_in_parts_first_changes_nothing(history: History, data: st.DataObject) -> None:
    records, spec = history.records, history.spec
    try:
        whole = fold(records, spec)
        parts = [
            fold(records.slice(start, stop - start), spec)
            for start, stop in pairwise(data.draw(cuts(len(records))))
        ]
        in_parts = fold(pa.concat_tables(parts), spec)
    except SchemaMismatch:
        return

    assert plain(in_parts) == plain(whole)


@pytest.mark.parametrize("machine", Machine)
@SETTINGS
@given(history=histories())
def test_folding_twice_changes_nothing(machine: Machine, history: History) -> None:
    try:
        once = fold(history.records, history.spec, machine=machine)
    except SchemaMismatch:
        return

    assert plain(fold(once, history.spec, machine=machine)) == plain(once)
