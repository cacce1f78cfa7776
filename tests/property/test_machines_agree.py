"""Laws of merging: both executions and any division into parts give one result."""

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from braid.lake.declaration.validation import validate_schema
from braid.lake.errors import InvalidRequest, LakeError
from braid.lake.lsm.merge_runs import merge_runs
from braid.lake.lsm.round_merge import PlainMerge
from braid.lake.merge.fold import FoldCounters, Machine, fold
from braid.lake.merge.spec import MergeSpec, columns_needed
from tests.property.declarations import Declaration
from tests.property.strategies import ADDS, History, cuts, declarations, histories, plain

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
FEWER = settings(SETTINGS, max_examples=50)


@SETTINGS
@given(declarations())
def test_generated_tables_are_accepted(table: Declaration) -> None:
    """The generator and the validator read the same specification."""
    validate_schema(table.schema)


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
@SETTINGS
@given(data=st.data())
def test_the_column_machine_gives_the_row_machines_answer(engine: str, data: st.DataObject) -> None:
    history = data.draw(histories(engines=[engine]))
    # False is how the readers of first-row and lookup tables merge.
    untouched = data.draw(st.sampled_from([True, True, False]))

    assert_machines_agree(history, single_untouched=untouched)


@SETTINGS
@given(history=histories(kinds=ADDS))
def test_only_retracts_reach_the_row_machine(history: History) -> None:
    counters = FoldCounters()
    try:
        fold(history.records, history.spec, counters=counters)
    except LakeError:
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
    except LakeError:
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
            PlainMerge(spec=spec, machine=data.draw(st.sampled_from(Machine)), counters=counters),
            batch_rows=data.draw(st.integers(1, 8)),
        )
    )

    assert [row for table in in_batches for row in plain(table)] == plain(at_once)
    assert all(table.num_rows for table in in_batches)
    assert counters.rows_in == sum(run.num_rows for run in runs)
    assert counters.rows_out == at_once.num_rows


@pytest.mark.parametrize("machine", Machine)
@FEWER
@given(history=histories())
def test_folding_twice_changes_nothing(machine: Machine, history: History) -> None:
    try:
        once = fold(history.records, history.spec, machine=machine)
    except LakeError:
        return

    assert plain(fold(once, history.spec, machine=machine)) == plain(once)


def assert_machines_agree(history: History, *, single_untouched: bool) -> None:
    """Check that both machines give the same rows, or fail for a reason that holds in both."""
    records, spec = history.records, history.spec
    by_rows = outcome(records, spec, Machine.ROW, single_untouched=single_untouched)
    by_columns = outcome(records, spec, Machine.COLUMN, single_untouched=single_untouched)
    if not isinstance(by_rows, InvalidRequest) or not isinstance(by_columns, InvalidRequest):
        assert by_columns == by_rows
        return

    assert type(by_columns) is type(by_rows)
    named = {problem.field for problem in by_columns.problems}
    if named == {problem.field for problem in by_rows.problems}:
        return
    # Of several columns at fault a machine names the one that it comes to first. Whether the other
    # is at fault too, the row machine says when it sees no more than what that column needs.
    for name in named:
        needed = columns_needed(spec, [name])
        alone = records.select([*records.column_names[:2], *needed])
        again = outcome(alone, spec, Machine.ROW, single_untouched=single_untouched)
        assert isinstance(again, InvalidRequest), name
        assert name in {problem.field for problem in again.problems}


def outcome(
    records: pa.Table, spec: MergeSpec, machine: Machine, *, single_untouched: bool
) -> list[str] | InvalidRequest:
    """Return the rows as text, or what was raised."""
    try:
        return plain(fold(records, spec, machine=machine, single_untouched=single_untouched))
    except InvalidRequest as error:
        return error
