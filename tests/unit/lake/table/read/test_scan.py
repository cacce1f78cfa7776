"""Scans: the schema of the result, counting, and files that are not opened."""

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, MemoryFileIO, ReadCounters, Table


@pytest.fixture
def table() -> Table:
    """A deduplicate table (k, v) with ten rows in one file."""
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1"},
    )
    table.write_and_commit(given(range(10)))
    return table


def given(keys: range) -> pa.Table:
    """Return rows whose value is the key's text."""
    return pa.table({"k": pa.array(keys, pa.int32()), "v": [str(key) for key in keys]})


def deletes(keys: list[int]) -> dict[str, pa.Table | pa.Array]:
    """Return arguments of `write_and_commit` that delete keys."""
    return {
        "rows": pa.table({"k": pa.array(keys, pa.int32())}),
        "kinds": pa.array([3] * len(keys), pa.int8()),
    }


def test_the_result_has_the_declared_schema_even_without_rows(table: Table) -> None:
    scan = table.scan(columns=["v", "k"], where=[Condition(column="k", op=">", value=99)])

    expected = pa.schema([pa.field("v", pa.string()), pa.field("k", pa.int32(), nullable=False)])
    assert scan.arrow_schema.equals(expected)
    assert scan.to_arrow().schema.equals(expected)


def test_counting_a_single_file_opens_nothing(table: Table) -> None:
    counters = ReadCounters()

    assert table.scan(counters=counters).count() == 10
    assert counters.files == 0


def test_counting_overlapping_files_merges_their_keys(table: Table) -> None:
    table.write_and_commit(given(range(5, 15)))
    counters = ReadCounters()

    assert table.scan(counters=counters).count() == 15
    assert {name for _, name in counters.columns} == {"_SEQUENCE_NUMBER", "_VALUE_KIND", "k"}


def test_counting_leaves_deleted_rows_out(table: Table) -> None:
    table.write_and_commit(**deletes([3, 4]))
    table.write_and_commit(**deletes([77]))

    assert table.scan().count() == 8


def test_counting_with_a_condition_reads_rows(table: Table) -> None:
    assert table.scan(where=[Condition(column="v", op=">=", value="8")]).count() == 2


def test_a_scan_can_be_read_again(table: Table) -> None:
    scan = table.scan()

    assert scan.to_arrow().equals(scan.to_arrow())
    assert scan.plan() is scan.plan()


def test_batches_are_bounded(table: Table) -> None:
    sizes = [batch.num_rows for batch in table.scan(batch_rows=4).to_batches()]

    assert sizes == [4, 4, 2]


def test_a_scan_counts_the_work_of_merging(table: Table) -> None:
    table.write_and_commit(given(range(5, 15)))
    scan = table.scan()
    scan.to_arrow()

    assert (scan.merge_counters.rows_in, scan.merge_counters.rows_out) == (20, 15)
    assert scan.merge_counters.row_machine_segments == 0


def test_a_scan_of_one_run_merges_nothing(table: Table) -> None:
    scan = table.scan()
    scan.to_arrow()

    assert scan.merge_counters.rows_in == 0
