from lake.merge.records import records_of
from lake.merge.spec import MergeSpec
from lake.options import MergeEngine
from tests.unit.lake.merge.given_records import given_records


def test_only_columns_that_order_are_read_as_values() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), sequence_fields=("s",))
    records = records_of(given_records("k s v", "+I 1 2 _"), spec)

    assert set(records.order_values) == {"k", "s"}
    assert records.cell("v", 0) == -1
    assert records.cell("s", 0) == 0
