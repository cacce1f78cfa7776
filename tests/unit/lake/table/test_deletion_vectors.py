"""Tables with deletion vectors: rows become visible by compactions, and are read without a merge."""

import pickle
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, LocalFileIO, Machine, MemoryFileIO, ReadCounters, Table
from braid.lake.errors import CorruptData
from braid.lake.files.storage.file_io import FileIO
from braid.lake.format.indexes.index_manifest import IndexManifestEntry
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.support.faulty_file_io import FaultyFileIO


def given_table(
    options: Mapping[str, str] | None = None,
    *,
    file_io: FileIO | None = None,
    path: str = "/wh",
) -> Table:
    """Return an empty table (k, v) whose compactions leave what is on the highest level alone."""
    return Catalog(path, file_io=file_io or MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "deletion-vectors.enabled": "true",
            # One new file is compacted alone, however small the others are.
            "compaction.max-size-amplification-percent": "100000",
            **(options or {}),
        },
    )


def write(table: Table, rows: dict[int, int], *, removed: tuple[int, ...] = ()) -> None:
    """Commit rows and removals, and compact what is due: two snapshots."""
    keys = pa.array([*rows, *removed], pa.int32())
    values = pa.array([*rows.values(), *([0] * len(removed))], pa.int32())
    kinds = pa.array([0] * len(rows) + [3] * len(removed), pa.int8())
    table.write_and_commit(pa.table({"k": keys, "v": values}), kinds=kinds)
    table.compact(full=False)


def read(table: Table, *, at: int | None = None) -> dict[int, int]:
    """Return the rows as both machines give them."""
    found = [table.scan(at=at, machine=machine).to_arrow().to_pylist() for machine in Machine]
    assert found[0] == found[1]
    rows = {row["k"]: row["v"] for row in found[0]}
    assert len(rows) == len(found[0]), "a key came out twice"
    return rows


def vectors_of(table: Table) -> tuple[IndexManifestEntry, ...]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    if snapshot.index_manifest is None:
        return ()
    store = ManifestStore(table.file_io, table.paths)
    return store.read_index_manifest(snapshot.index_manifest)


@pytest.fixture
def table() -> Table:
    """A table whose thousand rows are on the highest level, 10 of them marked."""
    table = given_table()
    write(table, dict.fromkeys(range(1_000), 1))
    write(table, dict.fromkeys(range(5), 2), removed=(5, 6, 7, 8, 9))
    assert [place.cardinality for place in vectors_of(table)[0].deletion_vector_ranges or ()] == [
        10
    ]
    return table


EXPECTED = dict.fromkeys(range(5), 2) | dict.fromkeys(range(10, 1_000), 1)


def test_rows_become_visible_by_a_compaction() -> None:
    table = given_table()
    table.write_and_commit(pa.table({"k": [1], "v": [1]}))
    assert read(table) == {}
    assert table.scan().count() == 0
    assert table.get({"k": 1}) is None

    table.compact(full=False)

    assert read(table) == {1: 1}


def test_rows_are_visible_at_once_where_reads_merge_them() -> None:
    table = given_table({"deletion-vectors.merge-on-read": "true"})
    write(table, {1: 1, 2: 2})
    table.write_and_commit(pa.table({"k": [2], "v": [9]}))

    assert read(table) == {1: 1, 2: 9}


def test_replaced_and_removed_rows_are_not_read(table: Table) -> None:
    assert read(table) == EXPECTED


def test_every_snapshot_reads_with_its_own_vectors(table: Table) -> None:
    write(table, {10: 3})

    assert read(table, at=1) == {}
    for snapshot_id in (2, 3):
        assert read(table, at=snapshot_id) == dict.fromkeys(range(1_000), 1)
    for snapshot_id in (4, 5):
        assert read(table, at=snapshot_id) == EXPECTED
    assert read(table) == EXPECTED | {10: 3}


def test_counting_opens_no_file(table: Table) -> None:
    counters = ReadCounters()

    assert table.scan(counters=counters).count() == len(EXPECTED)
    assert counters.files == 0


def test_marked_rows_without_a_count_are_counted(table: Table) -> None:
    scan = table.scan()
    (entry,) = scan.source.indexes
    places = [replace(place, cardinality=None) for place in entry.deletion_vector_ranges or ()]
    uncounted = replace(entry, deletion_vector_ranges=tuple(places))

    source = replace(scan.source, indexes=[uncounted])
    assert replace(scan, source=source).count() == len(EXPECTED)


def test_counting_where_a_condition_holds_reads_live_rows(table: Table) -> None:
    first = [Condition(column="k", op="<", value=12)]

    assert table.scan(where=first).count() == 7


def test_a_row_is_found_by_key_unless_it_is_marked(table: Table) -> None:
    assert table.get({"k": 3}) == {"k": 3, "v": 2}
    assert table.get({"k": 7}) is None
    assert table.get({"k": 10}) == {"k": 10, "v": 1}


def test_conditions_on_values_reach_files_that_are_not_merged(table: Table) -> None:
    """Every row of the other file has the value 1."""
    twos = table.scan(where=[Condition(column="v", op="=", value=2)])

    assert twos.to_arrow().column("k").to_pylist() == list(range(5))
    assert twos.plan().files_read == 1


def test_nothing_is_merged(table: Table) -> None:
    scan = table.scan()
    scan.to_arrow()

    assert scan.merge_counters.rows_in == 0


def test_a_full_compaction_leaves_no_vectors(table: Table) -> None:
    table.compact()

    assert vectors_of(table) == ()
    assert read(table) == EXPECTED


def test_a_pickled_table_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = given_table(file_io=LocalFileIO(), path=str(tmp_path_factory.mktemp("wh")))
    write(table, dict.fromkeys(range(100), 1))
    write(table, {1: 2})
    read(table)

    assert read(pickle.loads(pickle.dumps(table))) == read(table)


def test_vectors_are_read_once(table: Table) -> None:
    file_io = FaultyFileIO(table.file_io)
    again = Table.open(table.path, file_io=file_io)

    for _ in range(3):
        again.scan().to_arrow()

    reads = [path for method, path in file_io.calls if method == "read_bytes"]
    assert len([path for path in reads if "/index/" in path]) == 1


def test_absent_vectors_are_no_empty_vectors(table: Table) -> None:
    (entry,) = vectors_of(table)
    table.file_io.delete(table.paths.index(entry.file_name))

    with pytest.raises(CorruptData, match="does not exist, although"):
        Table.open(table.path, file_io=table.file_io).scan().to_arrow()
