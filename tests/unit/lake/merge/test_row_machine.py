from braid.lake.merge.records import records_of
from braid.lake.merge.row_machine import merge_segments, select_by_rows
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records, written

FIRST_ROW = MergeSpec(engine=MergeEngine.FIRST_ROW, key_columns=("k",), ignore_delete=True)
PARTIAL = MergeSpec(engine=MergeEngine.PARTIAL_UPDATE, key_columns=("k",), ignore_delete=True)


def test_keys_come_out_in_order_whatever_order_they_came_in() -> None:
    records = given_records("k v", "+I 3 1", "+I 1 1", "+I 2 1", "+I 1 _")

    assert written(select_by_rows(records, PARTIAL).copy_from(records)) == [
        "+I 1 1",
        "+I 2 1",
        "+I 3 1",
    ]


def test_a_segment_of_one_record_is_not_merged() -> None:
    records = records_of(given_records("k v", "-U 1 5", "-D 1 6"), PARTIAL)

    (row,) = merge_segments(records, PARTIAL, [[0]])

    assert row is not None
    assert (row.cells, row.sequence_number, row.kind) == ((0, 0), 0, 1)


def test_the_engine_can_merge_a_single_record_too() -> None:
    records = given_records("k v", "-D 1 1", "+I 2 1")

    merged = select_by_rows(records, FIRST_ROW, single_untouched=False)

    assert written(merged.copy_from(records)) == ["+I 2 1"]
