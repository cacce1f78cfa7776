"""Record by record, without the single-record shortcut; cases of merge-cases 1 and its DX ones."""

import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.engines.partial_update import PartialUpdate
from braid.lake.merge.records import records_of
from braid.lake.merge.row_machine import selection_of
from braid.lake.merge.spec import ColumnFunction, MergeSpec, SequenceGroup
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records, written

PLAIN = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("f0",))
TWO_GROUPS = MergeSpec(
    engine=MergeEngine.PARTIAL_UPDATE,
    key_columns=("f0",),
    groups=(
        SequenceGroup(ordering=("f3",), protected=("f1", "f2")),
        SequenceGroup(ordering=("f6",), protected=("f4", "f5")),
    ),
)
SEVEN = "f0 f1 f2 f3 f4 f5 f6"


def replayed(spec: MergeSpec, header: str, *rows: str) -> list[str]:
    """Return the merged row after each record."""
    table = given_records(header, *rows)
    function = PartialUpdate(records_of(table, spec), spec)
    found = []
    for record in range(len(rows)):
        function.add(record)
        found.append(as_text(function.result(), table, spec))
    return found


def as_text(row: MergedRow, table: pa.Table, spec: MergeSpec) -> str:
    return written(selection_of([row], records_of(table, spec), spec).copy_from(table))[0]


def test_p01_null_never_overwrites() -> None:
    found = replayed(PLAIN, SEVEN, "+I 1 1 1 1 1 1 1", "+I 1 2 2 2 2 2 _")

    assert found[-1] == "+I 1 2 2 2 2 2 1"


def test_p02_groups_move_apart_and_a_delete_nulls_a_group() -> None:
    assert replayed(
        TWO_GROUPS,
        SEVEN,
        "+I 1 1 1 1 1 1 1",
        "+I 1 2 2 2 2 2 _",
        "+I 1 3 3 1 3 3 3",
        "-D 1 1 1 3 1 1 _",
        "-D 1 1 1 3 1 1 4",
        "+I 1 4 4 4 5 5 5",
        "-D 1 1 1 6 1 1 6",
    ) == [
        "+I 1 1 1 1 1 1 1",
        "+I 1 2 2 2 1 1 1",
        "+I 1 2 2 2 3 3 3",
        "+I 1 _ _ 3 3 3 3",
        "+I 1 _ _ 3 _ _ 4",
        "+I 1 4 4 4 5 5 5",
        "+I 1 _ _ 6 _ _ 6",
    ]


def test_p04_a_delete_of_a_removing_group_is_the_row_and_values_return_on_top_of_it() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("f0",),
        groups=TWO_GROUPS.groups,
        removing_columns=frozenset({"f6"}),
    )

    assert replayed(
        spec,
        SEVEN,
        "+I 1 2 2 2 3 3 3",
        "-D 1 1 1 3 1 1 _",
        "-U 1 1 1 3 1 1 3",
        "-D 1 1 1 3 1 1 4",
        "+I 1 4 4 4 5 5 5",
        "-D 1 9 9 6 9 9 4",
    ) == [
        "+I 1 2 2 2 3 3 3",
        "+I 1 _ _ 3 3 3 3",
        "+I 1 _ _ 3 _ _ 3",  # -U never removes, and an equal value counts as newer
        "-D 1 1 1 3 1 1 4",
        "+I 1 4 4 4 5 5 5",
        "+I 1 _ _ 6 5 5 5",  # older in the removing group: only the other one is retracted
    ]


def test_p06_composite_ordering_compares_null_as_smallest() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g", "h"), protected=("a",)),),
    )

    assert replayed(
        spec, "k a g h", "+I 1 1 1 1", "+I 1 2 1 _", "+I 1 3 2 _", "+I 1 4 2 _", "-D 1 5 2 0"
    ) == ["+I 1 1 1 1", "+I 1 1 1 1", "+I 1 3 2 _", "+I 1 4 2 _", "+I 1 _ 2 0"]


def test_p20_the_sequence_number_is_the_deletes() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",), remove_record_on_delete=True
    )
    table = given_records("k a", "+I 1 1", "-D 1 1")
    function = PartialUpdate(records_of(table, spec), spec)
    function.add(0)
    function.add(1)

    assert function.result() == MergedRow(cells=(1, 1), sequence_number=1, kind=RowKind.DELETE)


def test_values_of_a_removed_row_show_through_a_later_add() -> None:
    # merge-semantics 2.3, consequence 1: kept because every reader of the format shows the same.
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",), remove_record_on_delete=True
    )

    assert replayed(spec, "k a b", "+I 1 1 2", "-D 1 1 2", "-U 1 8 8", "+I 1 9 _") == [
        "+I 1 1 2",
        "-D 1 1 2",
        "+I 1 1 2",
        "+I 1 9 2",
    ]


def test_an_ignored_first_retract_seeds_the_row_but_not_the_sequence_number() -> None:
    spec = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",), ignore_delete=True)
    table = given_records("k a b", "-D 1 1 2", "+I 1 9 _", first_sequence=7)
    function = PartialUpdate(records_of(table, spec), spec)
    function.add(0)
    ignored = function.result()
    function.add(1)

    assert ignored == MergedRow(cells=(0, 0, 0), sequence_number=0, kind=RowKind.DELETE)
    assert as_text(function.result(), table, spec) == "+I 1 9 2"
    assert function.result().sequence_number == 8


def test_a_retract_takes_a_last_non_null_value_away_even_when_late() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("a", "b")),),
        functions=(
            ColumnFunction(column="a", name="last_non_null_value"),
            ColumnFunction(column="b", name="last_non_null_value", ignore_retract=True),
        ),
    )

    assert replayed(spec, "k a b g", "+I 1 1 1 5", "-U 1 _ 1 6", "-D 1 7 7 2") == [
        "+I 1 1 1 5",
        "+I 1 1 1 6",
        "+I 1 _ 1 6",
    ]


def test_a_seed_that_lacks_a_needed_value_is_an_error() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        not_null_columns=frozenset({"a"}),
        remove_record_on_delete=True,
    )

    with pytest.raises(SchemaMismatch, match="NOT NULL"):
        replayed(spec, "k a", "-D 1 _")
    with pytest.raises(SchemaMismatch, match="NOT NULL"):
        replayed(spec, "k a", "+I 1 _")


def test_a_retract_without_an_option_is_an_error() -> None:
    with pytest.raises(SchemaMismatch, match="remove-record-on-delete"):
        replayed(PLAIN, "f0", "-U 1")


def test_reset_forgets_everything() -> None:
    table = given_records("f0 a", "+I 1 1", "+I 2 _")
    function = PartialUpdate(records_of(table, PLAIN), PLAIN)
    function.add(0)
    function.reset()
    function.add(1)

    assert as_text(function.result(), table, PLAIN) == "+I 2 _"
