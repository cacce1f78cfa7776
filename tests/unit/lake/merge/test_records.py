from braid.lake.merge.records import records_of
from braid.lake.merge.spec import ColumnFunction, MergeSpec
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records


def test_only_columns_that_order_are_read_as_values() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), sequence_fields=("s",))
    records = records_of(given_records("k s v", "+I 1 2 _"), spec)

    assert set(records.order_values) == {"k", "s"}
    assert records.cells == {"k": [0], "s": [0], "v": [None]}


def test_columns_with_a_function_are_read_as_values_too() -> None:
    spec = MergeSpec(
        engine=MergeEngine.AGGREGATION,
        key_columns=("k",),
        functions=(ColumnFunction(column="v", name="sum"),),
    )

    assert records_of(given_records("k v", "+I 1 7"), spec).cells == {"k": [0], "v": [7]}
