"""The facade: rows that were written are read, at every snapshot, also by key."""

import dataclasses
import pickle
import random
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CommitConflict,
    Condition,
    InvalidRequest,
    LocalFileIO,
    ManualClock,
    MemoryFileIO,
    Outcome,
    SchemaMismatch,
    StorageUnavailable,
    Table,
    TableNotFound,
)
from braid.lake.format.schema import serialize_schema
from tests.support.faulty_file_io import FaultyFileIO


def given_table(
    file_io: MemoryFileIO | None = None, *, options: Mapping[str, str] | None = None
) -> Table:
    """Return an empty table (k, a, b) in memory."""
    catalog = Catalog(
        "/wh", file_io=file_io or MemoryFileIO(), clock=ManualClock(), random=random.Random(1)
    )
    return catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("a", "INT"), ("b", "STRING")],
        primary_key=["k"],
        options={"bucket": "2", "merge-engine": "partial-update", **(options or {})},
    )


def rows(**columns: list[object]) -> pa.Table:
    """Return rows by column."""
    return pa.table(columns)


def all_rows(table: Table, **arguments: object) -> list[dict[str, object]]:
    """Return the rows of a scan, by key."""
    found = table.scan(**arguments).to_arrow().to_pylist()  # type: ignore[arg-type]
    return sorted(found, key=repr)


def test_commits_merge_into_rows() -> None:
    table = given_table()
    first = table.write_and_commit(rows(k=[1, 2], a=[10, 20]))
    second = table.write_and_commit(rows(k=[1, 3], b=["x", "z"]))

    assert (first.snapshot_id, second.snapshot_id) == (1, 2)
    assert second.outcome is Outcome.COMMITTED
    assert all_rows(table) == [
        {"k": 1, "a": 10, "b": "x"},
        {"k": 2, "a": 20, "b": None},
        {"k": 3, "a": None, "b": "z"},
    ]


def test_every_snapshot_stays_readable() -> None:
    table = given_table()
    table.write_and_commit(rows(k=[1], a=[10]))
    table.write_and_commit(rows(k=[1], a=[11]))

    assert all_rows(table, at=1) == [{"k": 1, "a": 10, "b": None}]
    assert all_rows(table, at=2) == [{"k": 1, "a": 11, "b": None}]


def test_a_scan_stays_at_its_snapshot() -> None:
    table = given_table()
    table.write_and_commit(rows(k=[1], a=[10]))
    scan = table.scan()
    table.write_and_commit(rows(k=[1], a=[11]))

    assert scan.snapshot is not None
    assert scan.snapshot.id == 1
    assert scan.to_arrow().column("a").to_pylist() == [10]


def test_an_empty_table_has_no_rows() -> None:
    table = given_table()

    assert table.latest_snapshot() is None
    assert table.scan().to_arrow().num_rows == 0
    assert table.scan().count() == 0
    assert table.get({"k": 1}) is None


def test_committing_no_rows_makes_no_snapshot() -> None:
    table = given_table()

    assert table.write_and_commit(rows(k=[])).outcome is Outcome.EMPTY
    assert table.latest_snapshot() is None


def test_an_unknown_snapshot_is_refused_with_the_kept_ones() -> None:
    table = given_table()
    table.write_and_commit(rows(k=[1]))

    with pytest.raises(InvalidRequest, match="has no snapshot 9; snapshots 1 to 1 are kept"):
        table.scan(at=9)


def test_sequence_numbers_continue_after_a_commit() -> None:
    table = given_table(options={"merge-engine": "deduplicate"})
    table.write_and_commit(rows(k=[1, 1, 1], a=[1, 2, 3]))
    table.write_and_commit(rows(k=[1], a=[4]))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    numbers = sorted(entry.file.max_sequence_number for entry in table.live_files(snapshot))

    assert numbers == [2, 3]
    assert table.get({"k": 1}) == {"k": 1, "a": 4, "b": None}


def test_get_returns_the_merged_row_of_a_key() -> None:
    table = given_table()
    table.write_and_commit(rows(k=[1, 2], a=[10, 20]))
    table.write_and_commit(rows(k=[1], b=["x"]))

    assert table.get({"k": 1}) == {"k": 1, "a": 10, "b": "x"}
    assert table.get({"k": 1}, columns=["b"]) == {"b": "x"}
    assert table.get({"k": 1}, at=1) == {"k": 1, "a": 10, "b": None}
    assert table.get({"k": 9}) is None


@pytest.mark.parametrize("key", [{}, {"a": 1}, {"k": 1, "a": 1}])
def test_get_needs_exactly_the_primary_key(key: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match="expected a key with exactly the columns k"):
        given_table().get(key)


def test_get_refuses_a_key_of_another_type() -> None:
    with pytest.raises(InvalidRequest, match="k: the value is not of type INT"):
        given_table().get({"k": "one"})


def test_unknown_repeated_and_no_columns_are_refused() -> None:
    table = given_table()
    with pytest.raises(InvalidRequest, match="no column `nope`"):
        table.scan(columns=["nope"])
    for columns in ([], ["k", "k"]):
        with pytest.raises(InvalidRequest, match="at least one column, each once"):
            table.scan(columns=columns)


def test_rows_that_do_not_fit_leave_no_file() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)

    with pytest.raises(SchemaMismatch):
        table.write_and_commit(rows(k=[1], nope=[1]))
    with pytest.raises(SchemaMismatch):
        table.write_and_commit(rows(k=[1, 1]), kinds=pa.array([0, 3], pa.int8()))

    assert [status.name for status in file_io.list(table.path)] == ["schema"]


def test_a_conflicting_commit_leaves_no_file() -> None:
    inner = MemoryFileIO()
    given_table(inner, options={"bucket": "-1"}).write_and_commit(rows(k=[1]))
    other = Table.open("/wh/db.db/t", file_io=inner, clock=ManualClock())
    faulty = FaultyFileIO(inner)
    table = Table.open("/wh/db.db/t", file_io=faulty, clock=ManualClock())
    before: list[str] = []

    def let_another_route_keys(_number: int, method: str, path: str) -> None:
        if method == "open_output" and "/bucket-" in path and not before:
            other.write_and_commit(rows(k=[2]))
            before.extend(data_and_index_files(inner))

    faulty.before = let_another_route_keys
    with pytest.raises(CommitConflict, match="routed by a bucket index"):
        table.write_and_commit(rows(k=list(range(100))))

    assert before
    assert data_and_index_files(inner) == before


def test_a_batch_that_is_routed_again_leaves_the_files_of_one_attempt() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    faulty = FaultyFileIO(file_io)
    writing = Table.open(table.path, file_io=faulty, clock=ManualClock())

    def let_another_rescale(_number: int, method: str, path: str) -> None:
        if method == "open_output" and "/bucket-" in path and table.schema.id == 0:
            table.rescale(8)

    faulty.before = let_another_rescale
    writing.write_and_commit(rows(k=list(range(100))))

    assert writing.schema.table_options.bucket == 8
    assert len(data_and_index_files(file_io)) == 8
    assert len(all_rows(writing)) == 100


def data_and_index_files(file_io: MemoryFileIO) -> list[str]:
    """Return the paths of the table's data and index files."""
    return [
        status.path
        for directory in (*(f"bucket-{number}" for number in range(8)), "index")
        for status in file_io.list(f"/wh/db.db/t/{directory}")
    ]


def test_a_commit_that_storage_refuses_leaves_no_data_file() -> None:
    inner = MemoryFileIO()
    given_table(inner)
    faulty = FaultyFileIO(inner)
    table = Table.open("/wh/db.db/t", file_io=faulty, clock=ManualClock())

    def refuse_manifests(_number: int, method: str, path: str) -> None:
        if "/manifest/" in path and method != "list":
            raise StorageUnavailable(path)

    faulty.before = refuse_manifests
    with pytest.raises(StorageUnavailable):
        table.write_and_commit(rows(k=[1, 2, 3, 4]))

    assert [inner.list(f"{table.path}/bucket-{bucket}") for bucket in (0, 1)] == [[], []]


def test_files_of_a_batch_that_is_not_committed_can_be_deleted() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    writer = table.writer(first_sequence_number=0)
    writer.write(rows(k=[1, 2, 3, 4]))
    result = writer.prepare_commit()

    table.delete_uncommitted(result.messages)

    assert [file_io.list(f"{table.path}/bucket-{bucket}") for bucket in (0, 1)] == [[], []]


def test_opening_a_path_without_a_table_is_refused() -> None:
    with pytest.raises(TableNotFound, match="no table at /nope"):
        Table.open("/nope", file_io=MemoryFileIO())


@pytest.mark.parametrize(("path", "identifier"), [("/w/db.db/t", "db.t"), ("/elsewhere/t", "t")])
def test_the_identifier_comes_from_the_path(path: str, identifier: str) -> None:
    file_io = MemoryFileIO()
    file_io.write_new(f"{path}/schema/schema-0", serialize_schema(given_table().schema))

    assert Table.open(path, file_io=file_io).identifier == identifier


def test_a_table_can_be_pickled(tmp_path: Path) -> None:
    catalog = Catalog(str(tmp_path))
    table = catalog.create_table(
        "db.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"}
    )
    table.write_and_commit(rows(k=[1]))

    travelled = pickle.loads(pickle.dumps(table))
    travelled.write_and_commit(rows(k=[2]))

    assert isinstance(travelled.file_io, LocalFileIO)
    assert travelled.identifier == "db.t"
    assert table.scan().count() == 2


def evolve(table: Table, file_io: MemoryFileIO) -> None:
    """Write schema 1, with another comment."""
    schema = dataclasses.replace(table.schema, id=1, comment="new")
    file_io.write_new(table.paths.schema(1), serialize_schema(schema))


def test_refresh_reads_a_newer_schema() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    evolve(table, file_io)
    assert table.schema.id == 0

    table.refresh()

    assert (table.schema.id, table.schema.comment) == (1, "new")


def test_refresh_of_a_dropped_table_is_not_found() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    file_io.delete_tree(table.path)

    with pytest.raises(TableNotFound, match="is gone"):
        table.refresh()


def test_files_of_an_older_schema_are_read_while_the_columns_are_the_same() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io)
    table.write_and_commit(rows(k=[1], b=["x"]))
    evolve(table, file_io)
    table.refresh()
    table.write_and_commit(rows(k=[2], b=["y"]))

    assert table.scan(columns=["b"]).count() == 2
    assert all_rows(table, columns=["b"]) == [{"b": "x"}, {"b": "y"}]


def test_a_scan_notices_a_newer_schema_by_the_snapshot() -> None:
    file_io = MemoryFileIO()
    table, other = given_table(file_io), None
    evolve(table, file_io)
    other = Table.open(table.path, file_io=file_io)
    other.write_and_commit(rows(k=[1]))

    assert table.scan().count() == 1
    assert table.schema.id == 1


def test_conditions_reach_the_scan() -> None:
    table = given_table()
    table.write_and_commit(rows(k=[1, 2, 3], a=[1, 2, 3]))

    where = [Condition(column="a", op=">", value=1), Condition(column="k", op="<", value=3)]
    assert all_rows(table, where=where, columns=["k"]) == [{"k": 2}]
