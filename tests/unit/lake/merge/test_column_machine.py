from braid.lake.merge.column_machine import select_by_columns
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.order.merge_order import find_segments
from braid.lake.merge.spec import MergeSpec, SequenceGroup
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records


def test_columns_share_a_pick_when_the_same_rows_give_their_values() -> None:
    spec = MergeSpec(
        engine=MergeEngine.PARTIAL_UPDATE,
        key_columns=("k",),
        groups=(SequenceGroup(ordering=("g",), protected=("p", "q")),),
    )
    table = given_records("k full void a b c g p q", "+I 1 1 _ 1 1 _ 1 1 1", "+I 1 2 _ _ _ 1 2 2 2")
    segments = find_segments(table, spec, key_codes([table.column("k")]))

    picks = select_by_columns(table, spec, segments).selection.columns

    assert picks["full"] is picks["k"]
    assert picks["void"] is picks["k"]
    assert picks["a"] is picks["b"]
    assert picks["a"] is not picks["c"]
    assert picks["p"] is picks["q"]
    assert picks["p"] is picks["g"]
