from braid.lake.format.system_columns import RowKind
from braid.lake.merge.engines.deduplicate import Deduplicate
from braid.lake.merge.engines.merge_function import MergedRow
from braid.lake.merge.records import records_of
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records

SPEC = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",))


def test_the_last_record_replaces_all_before_it_nulls_included() -> None:
    function = Deduplicate(
        records_of(given_records("k v", "+I 1 1", "-U 1 _"), SPEC), ignore_delete=False
    )
    function.add(0)
    function.add(1)

    assert function.result() == MergedRow(
        cells=(1, None), sequence_number=1, kind=RowKind.UPDATE_BEFORE
    )


def test_nothing_comes_of_ignored_records_only() -> None:
    function = Deduplicate(records_of(given_records("k", "-D 1"), SPEC), ignore_delete=True)
    function.add(0)

    assert function.result() is None
    function.reset()
    assert function.result() is None
