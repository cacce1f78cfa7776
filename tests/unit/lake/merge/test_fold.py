import numpy as np
import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.system_columns import SEQUENCE_NUMBER
from braid.lake.merge.fold import FoldCounters, Machine, drop_retracts, fold
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.spec import ColumnFunction, MergeSpec, SequenceGroup
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records, written

DEDUPLICATE = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",))
PARTIAL = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",))
GROUPED = MergeSpec(
    engine=MergeEngine.PARTIAL_UPDATE,
    key_columns=("k",),
    groups=(
        SequenceGroup(ordering=("g",), protected=("a",)),
        SequenceGroup(ordering=("h", "i"), protected=("b",)),
    ),
)
both_machines = pytest.mark.parametrize("machine", Machine)


@both_machines
def test_deduplicate_keeps_the_last_record_and_its_kind(machine: Machine) -> None:
    records = given_records("k v", "+I 2 1", "+I 1 1", "+U 2 _", "+I 3 1", "-D 3 1")

    folded = fold(records, DEDUPLICATE, machine=machine)

    assert written(folded) == ["+I 1 1", "+U 2 _", "-D 3 1"]
    assert folded.column(SEQUENCE_NUMBER).to_pylist() == [1, 2, 4]


@both_machines
def test_deduplicate_can_ignore_deletes_but_keeps_a_single_one(machine: Machine) -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), ignore_delete=True)
    records = given_records(
        "k v", "+I 1 1", "-D 1 2", "-U 1 3", "-D 2 1", "-D 3 1", "-U 3 2", "-D 4 1", "+I 4 2"
    )

    assert written(fold(records, spec, machine=machine)) == ["+I 1 1", "-D 2 1", "+I 4 2"]


@both_machines
@pytest.mark.parametrize(
    ("descending", "winner"), [(False, "+I 1 7 2"), (True, "+I 1 3 4")], ids=["up", "down"]
)
def test_sequence_fields_order_before_sequence_numbers_and_null_is_smallest(
    machine: Machine, descending: bool, winner: str
) -> None:
    spec = MergeSpec(
        engine=MergeEngine.DEDUPLICATE,
        key_columns=("k",),
        sequence_fields=("s",),
        sequence_descending=descending,
    )
    records = given_records("k s v", "+I 1 7 1", "+I 1 7 2", "+I 1 3 3", "+I 1 3 4", "+I 1 _ 5")

    assert written(fold(records, spec, machine=machine)) == [winner]


@both_machines
def test_partial_update_never_overwrites_with_null(machine: Machine) -> None:
    records = given_records("k a b", "+I 1 1 1", "+U 1 _ 2", "+U 2 5 _", "+I 1 3 _")

    folded = fold(records, PARTIAL, machine=machine)

    assert written(folded) == ["+I 1 3 2", "+U 2 5 _"]
    assert folded.column(SEQUENCE_NUMBER).to_pylist() == [3, 2]


@both_machines
def test_a_newer_or_equal_group_overwrites_with_null_and_an_older_one_does_not(
    machine: Machine,
) -> None:
    records = given_records(
        "k a g b h i",
        "+I 1 1 5 1 1 1",
        "+I 1 2 4 2 1 _",  # both older: null is smaller than 1
        "+I 1 _ 5 _ 2 _",  # equal, and newer: both overwrite, nulls too
        "+I 1 9 _ 9 _ _",  # no ordering value: takes no part
    )

    assert written(fold(records, GROUPED, machine=machine)) == ["+I 1 _ 5 _ 2 _"]


@both_machines
def test_a_group_without_ordering_values_counts_only_in_a_single_record(machine: Machine) -> None:
    records = given_records("k a g b h i", "+I 1 7 _ 7 _ _", "+I 2 7 _ 7 _ _", "+I 2 8 _ 8 _ _")

    assert written(fold(records, GROUPED, machine=machine)) == ["+I 1 7 _ 7 _ _", "+I 2 _ _ _ _ _"]


@both_machines
def test_last_non_null_value_in_a_group_is_filled_by_the_first_late_value(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a",)),),
        functions=(ColumnFunction(column="a", name="last_non_null_value"),),
    )
    late = given_records("k a g", "+I 1 _ 9", "+I 1 _ 3", "+I 1 4 4", "+I 1 5 5", "+I 2 1 1")
    accepted = given_records("k a g", "+I 1 _ 2", "+I 1 7 1", "+I 1 8 3", "+I 1 _ 4")

    assert written(fold(late, spec, machine=machine)) == ["+I 1 4 9", "+I 2 1 1"]
    assert written(fold(accepted, spec, machine=machine)) == ["+I 1 8 4"]


@both_machines
def test_ordering_values_have_javas_total_order(machine: Machine) -> None:
    types = {"g": pa.float64(), "a": pa.string()}
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a",)),),
    )
    records = given_records(
        "k a g", "+I 1 nan nan", "+I 1 inf inf", "+I 2 zero 0.0", "+I 2 minus -0.0", types=types
    )

    assert written(fold(records, spec, machine=machine)) == ["+I 1 nan nan", "+I 2 zero 0.0"]


@both_machines
def test_a_null_where_a_value_is_needed_is_an_error_naming_the_column(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        not_null_columns=frozenset({"k", "a"}),
    )
    single = given_records("k a", "+I 1 _", "+I 2 1")
    met = given_records("k a", "+I 1 _", "+I 1 1")

    assert written(fold(single, spec, machine=machine)) == ["+I 1 _", "+I 2 1"]
    with pytest.raises(SchemaMismatch, match="a: the column is NOT NULL"):
        fold(met, spec, machine=machine)


@both_machines
def test_a_retract_that_no_option_allows_is_an_error_unless_single(machine: Machine) -> None:
    assert written(fold(given_records("k a", "-D 1 1"), PARTIAL, machine=machine)) == ["-D 1 1"]
    with pytest.raises(SchemaMismatch, match="ignore-delete"):
        fold(given_records("k a", "+I 1 1", "-D 1 1"), PARTIAL, machine=machine)


def test_keys_with_retracts_are_folded_without_the_row_machine() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",), remove_record_on_delete=True
    )
    records = given_records(
        "k a", "+I 1 1", "+I 1 2", "+I 2 1", "-D 2 1", "+I 2 5", "-D 3 1", "+I 4 1", "-U 4 1"
    )
    counters = FoldCounters()

    folded = fold(records, spec, counters=counters)

    assert written(folded) == ["+I 1 2", "+I 2 5", "-D 3 1", "+I 4 1"]
    assert (counters.rows_in, counters.rows_out) == (8, 4)
    assert counters.row_machine_segments == 0


def test_only_keys_that_several_records_might_remove_go_through_the_row_machine() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a",)),),
        removing_columns=frozenset({"g"}),
    )
    rows = ("+I 1 1 5", "-D 1 9 6", "+I 1 2 7", "+I 2 1 5", "-D 2 3 4", "-D 2 7 6", "+I 2 8 6")
    counters = FoldCounters()

    folded = fold(given_records("k a g", *rows), spec, counters=counters)

    assert written(folded) == ["+I 1 2 7", "+I 2 8 6"]
    assert (counters.row_machine_segments, counters.row_machine_rows) == (1, 4)


@both_machines
def test_no_rows_fold_to_no_rows(machine: Machine) -> None:
    empty = given_records("k a", "+I 1 1").slice(0, 0)

    assert fold(empty, PARTIAL, machine=machine).equals(empty)


def test_rows_of_distinct_ascending_keys_are_not_copied() -> None:
    records = given_records("k a", "+I 1 1", "-D 2 1")

    assert fold(records, PARTIAL) is records


def test_codes_that_the_caller_has_are_used() -> None:
    records = given_records("k a", "+I 2 1", "+I 1 1", "+I 2 2")
    codes = key_codes([records.column("k")])

    assert fold(records, PARTIAL, codes=codes).equals(fold(records, PARTIAL))


@both_machines
def test_a_long_history_of_one_key_folds_like_a_short_one(machine: Machine) -> None:
    rows = [f"+I 1 {i if i == 3 else '_'} {i % 50} {i} _ _" for i in range(200)]
    records = given_records("k v g a h i", *rows)
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a",)),),
    )

    assert written(fold(records, spec, machine=machine)) == ["+I 1 3 49 199 _ _"]


def test_a_missing_ordering_column_fails_an_assertion() -> None:
    with pytest.raises(AssertionError, match="merging needs"):
        fold(given_records("k a g b", "+I 1 1 1 1", "+I 1 1 1 1"), GROUPED)


def test_several_chunks_and_offsets_are_read_like_one_array() -> None:
    records = given_records("k a", *[f"+I {i % 3} {i}" for i in range(30)])
    pieces = pa.concat_tables([records.slice(5, 9), records.slice(14, 10)])

    assert fold(pieces, PARTIAL).equals(fold(records.take(np.arange(5, 24)), PARTIAL))


def test_dropping_retracts_keeps_order() -> None:
    records = given_records("k", "+I 1", "-U 2", "+U 3", "-D 4")

    assert written(drop_retracts(records)) == ["+I 1", "+U 3"]
    assert drop_retracts(records.slice(0, 1)).num_rows == 1


@both_machines
def test_an_ignored_retract_orders_nothing(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a",)),),
        ignore_delete=True,
    )
    records = given_records(
        "k a g", "+I 1 1 1", "-U 1 2 9", "+I 1 3 2", "-D 2 1 5", "-U 2 2 9", "+I 2 3 6"
    )

    assert written(fold(records, spec, machine=machine)) == ["+I 1 3 2", "+I 2 3 6"]


@both_machines
def test_a_failing_retract_before_a_removal_fails_the_merge(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.AGGREGATION,
        key_columns=("k",),
        remove_record_on_delete=True,
        functions=(ColumnFunction(column="a", name="max"),),
    )

    with pytest.raises(SchemaMismatch, match="has no retract"):
        fold(given_records("k a", "+I 1 1", "-U 1 1", "-D 1 1"), spec, machine=machine)


@both_machines
def test_later_records_aggregate_onto_what_the_last_removal_left(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.AGGREGATION,
        key_columns=("k",),
        remove_record_on_delete=True,
        functions=(ColumnFunction(column="a", name="sum"),),
    )
    records = given_records(
        "k a",
        "+I 1 1",
        "-D 1 7",
        "+I 1 2",
        "-D 1 5",
        "+I 1 2",
        "+I 2 1",
        "-D 2 4",
        "-U 3 1",
        "-U 3 2",
    )

    assert written(fold(records, spec, machine=machine)) == ["+I 1 7", "-D 2 4", "+I 3 -3"]


@both_machines
def test_an_error_names_the_smallest_key_that_cannot_be_merged(machine: Machine) -> None:
    spec = MergeSpec(
        engine=MergeEngine.AGGREGATION,
        key_columns=("k", "d"),
        functions=(
            ColumnFunction(column="a", name="max"),
            ColumnFunction(column="b", name="min"),
        ),
    )
    calm = [f"+I {key} 0 1 1" for key in range(50)] * 2
    records = given_records("k d a b", *calm, "-U 41 0 1 1", "-U 17 0 1 1", "-U 17 3 1 1")

    with pytest.raises(SchemaMismatch, match="key k = 17, d = 0 cannot be merged") as error:
        fold(records, spec, machine=machine)

    assert [problem.field for problem in error.value.problems] == ["a"]


def test_an_error_of_single_records_names_the_key_too() -> None:
    spec = MergeSpec(engine=MergeEngine.FIRST_ROW, key_columns=("k",))

    with pytest.raises(SchemaMismatch, match="key k = 2 cannot"):
        fold(given_records("k", "+I 1", "-D 2", "+I 3"), spec, single_untouched=False)


def test_a_key_of_nanoseconds_is_named_as_a_time() -> None:
    spec = MergeSpec(engine=MergeEngine.FIRST_ROW, key_columns=("k",))
    records = given_records("k", "-D 7", types={"k": pa.int64()})
    times = records.set_column(2, "k", records.column("k").cast(pa.timestamp("ns")))

    with pytest.raises(SchemaMismatch, match=r"key k = 1970-01-01 00:00:00.000000007 cannot"):
        fold(times, spec, single_untouched=False)
