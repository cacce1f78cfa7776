"""Rows as an Arrow stream: nothing is read before it is requested, and no more than that."""

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, CorruptData, InvalidRequest, MemoryFileIO, Table

ROWS = 1_000


@pytest.fixture
def table() -> Table:
    """Return a table (k, v) of two buckets, two versions of each row."""
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "2"},
    )
    for version in ("a", "b"):
        keys = pa.array(range(ROWS), pa.int32())
        table.write_and_commit(pa.table({"k": keys, "v": [version] * ROWS}))
    return table


def test_the_stream_has_the_rows_of_the_scan(table: Table) -> None:
    where = [Condition(column="k", op=">=", value=900)]

    reader = table.to_arrow_reader(columns=["v", "k"], where=where)

    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.names == ["v", "k"]
    found = reader.read_all()
    assert found == table.scan(columns=["v", "k"], where=where).to_arrow()
    assert set(found["v"].to_pylist()) == {"b"}


def test_batches_are_bounded_and_come_one_by_one(table: Table) -> None:
    scan = table.scan(batch_rows=100)

    with scan.to_arrow_reader() as reader:
        assert scan.counters.files == 0
        first = reader.read_next_batch()
        assert first.num_rows <= 100
        # The other bucket is not read before its first batch is requested.
        assert scan.counters.files == 2
    assert table.to_arrow_reader(batch_rows=100).read_all().num_rows == ROWS


def test_a_scan_can_be_streamed_any_number_of_times(table: Table) -> None:
    scan = table.scan(columns=["k"])

    assert pa.table(scan) == pa.table(scan) == scan.to_arrow()


def test_a_stream_without_rows_has_its_schema(table: Table) -> None:
    reader = table.to_arrow_reader(where=[Condition(column="k", op="<", value=0)])

    assert reader.read_all() == table.schema.arrow_schema.empty_table()


def test_errors_while_streaming_reach_the_reader_as_exceptions(table: Table) -> None:
    reader = table.to_arrow_reader()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    for entry in table.live_files(snapshot):
        table.file_io.delete(f"{table.path}/bucket-{entry.bucket}/{entry.file.file_name}")

    with pytest.raises(CorruptData, match=r"db\.t"):
        reader.read_all()


def test_an_invalid_request_is_refused_before_the_stream_begins(table: Table) -> None:
    with pytest.raises(InvalidRequest, match="no column"):
        table.to_arrow_reader(columns=["x"])
