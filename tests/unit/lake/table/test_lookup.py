"""Rows by key, as the scan of the same snapshot gives them."""

import pickle
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    Condition,
    FileIO,
    LeaseLost,
    LookupSettings,
    MemoryFileIO,
    SetOption,
    Table,
)
from braid.lake.errors import CorruptData, InvalidRequest
from braid.lake.read.lookup.background import Job
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.key_hash import key_hashes


class CountingFileIO(MemoryFileIO):
    """Remembers which files were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.append(path)
        return super().open_input(path)


def given_table(
    options: Mapping[str, str] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    key: tuple[str, ...] = ("k",),
    partition: tuple[str, ...] = (),
    file_io: FileIO | None = None,
) -> Table:
    return Catalog("/wh", file_io=file_io or MemoryFileIO()).create_table(
        "db.t",
        columns=list((columns or {"k": "INT", "v": "INT"}).items()),
        primary_key=list(key),
        partition_keys=list(partition),
        options={"bucket": "2", **(options or {})},
    )


def write(table: Table, rows: Mapping[int, int | None], kind: int = 0) -> None:
    keys, values = pa.array(list(rows), pa.int32()), pa.array(list(rows.values()), pa.int32())
    kinds = pa.array([kind] * len(rows), pa.int8())
    table.write_and_commit(pa.table({"k": keys, "v": values}), kinds=kinds)


def lookup(table: Table, *keys: int | None, at: int | None = None) -> list[object]:
    wanted = pa.table({"k": pa.array(keys, pa.int32())})
    rows = table.lookup(wanted, at=at).to_pylist()
    return [(row["k"], row["v"]) for row in rows]


def test_rows_come_in_the_order_of_the_keys_and_once_for_each() -> None:
    table = given_table()
    write(table, {key: key * 10 for key in range(20)})
    write(table, {key: -key for key in (3, 5)})

    assert lookup(table, 5, 17, 99, 3, 5, None, 0) == [(5, -5), (17, 170), (3, -3), (5, -5), (0, 0)]
    assert lookup(table, 99) == []
    assert lookup(table) == []
    assert lookup(table, None) == []


def test_a_table_without_a_snapshot_has_no_rows() -> None:
    assert lookup(given_table(), 1, 2) == []


def test_each_snapshot_answers_for_itself() -> None:
    table = given_table()
    write(table, {1: 1, 2: 2})
    write(table, {1: 10})
    write(table, {2: 2}, kind=3)
    table.compact()
    write(table, {3: 3})

    answers = [lookup(table, 1, 2, 3, at=number) for number in range(1, 6)]

    assert answers == [
        [(1, 1), (2, 2)],
        [(1, 10), (2, 2)],
        [(1, 10)],
        [(1, 10)],
        [(1, 10), (3, 3)],
    ]
    assert lookup(table, 1, 2, 3) == answers[-1]


def test_a_lookup_stays_at_its_snapshot_and_reads_storage_once() -> None:
    table = given_table()
    write(table, {1: 1})
    at = table.lookup_at()
    write(table, {1: 2})
    keys = pa.table({"k": pa.array([1], pa.int32())})

    assert at.snapshot is not None
    assert at.snapshot.id == 1
    assert not at.is_cached()
    assert at.copied_columns() == ()
    at.load(["k"])
    assert at.copied_columns() == ("k",)
    assert at.rows(keys).to_pylist() == [{"k": 1, "v": 1}]
    assert table.lookup(keys).to_pylist() == [{"k": 1, "v": 2}]
    at.load()
    assert at.is_cached()
    assert at.copied_columns() == ("k", "v")
    table.file_io.delete_tree(table.path)
    assert at.rows(keys).to_pylist() == [{"k": 1, "v": 1}]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"merge-engine": "deduplicate"}, [(1, 5), (2, 7)]),
        ({"merge-engine": "partial-update"}, [(1, 5), (2, 7)]),
        ({"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, [(1, 9), (2, 7)]),
        ({"merge-engine": "first-row"}, [(1, 4), (2, 7)]),
        ({"changelog-producer": "lookup"}, [(1, 5), (2, 7)]),
        ({"deletion-vectors.enabled": "true"}, [(1, 5), (2, 7)]),
        (
            {
                "merge-engine": "aggregation",
                "fields.v.aggregate-function": "sum",
                "force-lookup": "true",
            },
            [(1, 9), (2, 7)],
        ),
    ],
)
def test_records_of_a_key_merge_by_the_table_s_engine(
    options: Mapping[str, str], expected: list[object]
) -> None:
    table = given_table(options)
    write(table, {1: 4, 3: None})
    table.compact()
    write(table, {1: 5, 2: 7})
    table.compact(full=False)

    assert lookup(table, 1, 2, 4) == expected
    write(table, {1: 1})
    assert_as_scanned(table)


def test_rows_that_scans_do_not_see_yet_are_not_found() -> None:
    table = given_table({"deletion-vectors.enabled": "true"})
    write(table, {1: 1, 2: 2})
    table.compact()
    write(table, {1: 10, 3: 30})

    assert lookup(table, 1, 2, 3) == [(1, 1), (2, 2)]


def test_rows_marked_as_deleted_are_not_found() -> None:
    table = given_table(
        {
            "deletion-vectors.enabled": "true",
            "bucket": "1",
            "compaction.max-size-amplification-percent": "100000",
        }
    )
    write(table, {key: key for key in range(100)})
    table.compact()
    assert lookup(table, 1, 2) == [(1, 1), (2, 2)]
    write(table, {1: 0}, kind=3)
    write(table, {2: 20})
    table.compact(full=False)

    assert lookup(table, 1, 2, 3) == [(2, 20), (3, 3)]
    assert_as_scanned(table)


def test_keys_find_their_partition() -> None:
    columns = {"k": "INT", "p": "STRING", "v": "INT"}
    table = given_table(columns=columns, key=("k", "p"), partition=("p",))
    table.write_and_commit(
        pa.table({"k": pa.array([1, 1, 2], pa.int32()), "p": ["a", "b", "b"], "v": [1, 2, 3]})
    )
    keys = pa.table({"p": ["b", "a", "b", "c", "a"], "k": pa.array([2, 1, 1, 1, 2], pa.int32())})

    rows = table.lookup(keys, columns=["v", "p"])

    assert rows.to_pylist() == [{"v": 3, "p": "b"}, {"v": 1, "p": "a"}, {"v": 2, "p": "b"}]


def test_keys_of_a_table_that_assigns_buckets_itself_are_found_in_any() -> None:
    table = given_table({"bucket": "-1", "dynamic-bucket.target-row-num": "10"})
    write(table, {key: key for key in range(50)})

    assert lookup(table, 7, 49, 50, 0) == [(7, 7), (49, 49), (0, 0)]


def test_keys_may_come_in_types_that_hold_the_same_values() -> None:
    table = given_table()
    write(table, {1: 1, 2: 2})

    rows = table.lookup(pa.record_batch({"k": pa.array([2, 1], pa.int64())}))

    assert rows.column("v").to_pylist() == [2, 1]


@pytest.mark.parametrize(
    "keys",
    [
        pa.table({"v": [1]}),
        pa.table({"k": [1], "v": [1]}),
        pa.table({}),
        pa.table({"k": [1 << 40]}),
        pa.table({"k": ["one"]}),
        pa.table({"k": [1.5]}),
    ],
    ids=lambda keys: str(keys.schema.names),
)
def test_keys_of_other_columns_or_types_are_refused(keys: pa.Table) -> None:
    table = given_table()
    write(table, {1: 1})

    with pytest.raises(InvalidRequest, match="keys"):
        table.lookup(keys)


def test_unknown_columns_are_refused() -> None:
    table = given_table()

    with pytest.raises(InvalidRequest, match="nothing"):
        table.lookup(pa.table({"k": pa.array([1], pa.int32())}), columns=["nothing"])
    with pytest.raises(InvalidRequest, match="keys"):
        table.lookup([1])


def test_files_are_read_once_for_all_snapshots() -> None:
    file_io = CountingFileIO()
    table = given_table({"bucket": "1"}, file_io=file_io)
    write(table, {key: key for key in range(100)})
    table.compact()
    opened: Counter[str] = Counter()
    for value in range(5):
        write(table, {value: -value})
        file_io.opened.clear()
        assert lookup(table, value, 50) == [(value, -value), (50, 50)]
        opened += Counter(path for path in file_io.opened if "/bucket-" in path)

    assert len(opened) == 6
    assert set(opened.values()) == {2}, "keys and values of each"


def test_a_pickled_table_looks_up_with_copies_of_its_own(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.t", columns=[("k", "INT"), ("v", "INT")], primary_key=["k"], options={"bucket": "1"}
    )
    write(table, {1: 1})
    assert lookup(table, 1) == [(1, 1)]

    assert lookup(pickle.loads(pickle.dumps(table)), 1) == [(1, 1)]


def assert_as_scanned(table: Table) -> None:
    """Check each key that the table may have against a scan for it."""
    for key in range(10):
        where = [Condition(column="k", op="=", value=key)]
        scanned = [(row["k"], row["v"]) for row in table.scan(where=where).to_arrow().to_pylist()]
        assert lookup(table, key) == scanned


def test_other_keys_with_the_hash_of_a_key_are_not_found_on_any_level() -> None:
    table = given_table({"bucket": "1"}, columns={"k": "BIGINT", "v": "INT"})
    there = list(range(40))
    strangers = [_same_hash_as(key) for key in there]

    def write_longs(keys: list[int], value: int) -> None:
        values = pa.array([value] * len(keys), pa.int32())
        table.write_and_commit(pa.table({"k": pa.array(keys, pa.int64()), "v": values}))

    write_longs(there, 1)
    table.compact()
    write_longs([*there[:5], *strangers[:2]], 2)
    wanted = [*strangers, *there]
    expected = [(key, 2) for key in strangers[:2]]
    expected += [(key, 2 if key < 5 else 1) for key in there]

    for first in (0, 2):
        keys = pa.table({"k": pa.array(wanted[first:], pa.int64())})
        rows = table.lookup(keys).to_pylist()
        assert [(row["k"], row["v"]) for row in rows] == expected[first:]
    assert table.lookup(pa.table({"k": pa.array(strangers[2:], pa.int64())})).num_rows == 0
    only_values = table.lookup(pa.table({"k": pa.array(wanted, pa.int64())}), columns=["v"])
    assert only_values.column("v").to_pylist() == [value for _, value in expected]


def _same_hash_as(key: int) -> int:
    """Return a number whose hash differs in the lowest bit alone, which files do not keep."""
    odd, first, second, mask = (
        0x9E3779B97F4A7C15,
        0xBF58476D1CE4E5B9,
        0x94D049BB133111EB,
        (1 << 64) - 1,
    )
    value = int(key_hashes([pa.array([key], pa.int64())])[0]) ^ 1
    for shift, factor in ((31, second), (27, first), (30, 1)):
        value ^= value >> shift ^ value >> 2 * shift
        value = value * pow(factor, -1, 1 << 64) & mask
    value = value - odd & mask
    return value - (1 << 64) if value >> 63 else value


def given_table_of_bytes(options: Mapping[str, str], *, rows: int) -> tuple[Table, list[Job]]:
    """Return a table of one file, and the jobs that its lookups have done in the background."""
    file_io = CountingFileIO()
    created = Catalog("/wh", file_io=file_io).create_table(
        "db.t", columns=[("k", "INT"), ("v", "BYTES")], primary_key=["k"], options=options
    )
    keys = pa.array(range(rows), pa.int32())
    created.write_and_commit(pa.table({"k": keys, "v": pa.array(VALUES[:rows], pa.binary())}))
    jobs: list[Job] = []
    table = Table.open(created.path, file_io=file_io, copies=CopyStore(submit=jobs.append))
    return table, jobs


NOISE = np.random.default_rng(1).bytes(3_000_000)
VALUES = [NOISE[first : first + 1_000] for first in range(0, len(NOISE), 1_000)]


def test_single_rows_have_large_files_copied_in_the_background() -> None:
    table, jobs = given_table_of_bytes({"bucket": "1"}, rows=3_000)

    assert table.get({"k": 7}) == {"k": 7, "v": VALUES[7]}
    assert not table.lookup_at().is_cached()
    assert table.get({"k": -1}) is None

    [job] = jobs
    job()
    assert table.lookup_at().is_cached()
    table.file_io.delete_tree(f"{table.path}/bucket-0")
    assert table.get({"k": 8}) == {"k": 8, "v": VALUES[8]}
    assert table.get({"k": 8}, columns=["k"]) == {"k": 8}
    assert table.get({"k": 3_001}) is None


def test_single_rows_have_small_files_copied_at_once() -> None:
    table, jobs = given_table_of_bytes({"bucket": "1"}, rows=10)

    assert table.get({"k": 7}) == {"k": 7, "v": VALUES[7]}

    assert jobs == []
    assert 0 < table.lookup_at().cache.memory_bytes < 15_000
    table.file_io.delete_tree(f"{table.path}/bucket-0")
    assert table.get({"k": 8}) == {"k": 8, "v": VALUES[8]}


@pytest.mark.parametrize("ask", ["get", "lookup"])
def test_a_table_that_is_larger_than_its_memory_bound_is_read_from_storage_once(ask: str) -> None:
    """Its files are smaller than the bound on storage, and larger together once decoded."""
    file_io = CountingFileIO()
    table = Catalog("/wh", file_io=file_io).create_table(
        "db.t",
        columns=[("k", "INT"), *((f"v{number}", "BIGINT") for number in range(10))],
        primary_key=["k"],
        options={"bucket": "4", "lookup.cache-max-memory-size": "300 kb"},
    )
    rows = 8_000
    values = {f"v{number}": pa.array(np.full(rows, number)) for number in range(10)}
    table.write_and_commit(pa.table({"k": pa.array(range(rows), pa.int32()), **values}))
    table.compact()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert all(entry.file.file_size < 50_000 for entry in table.live_files(snapshot))

    def ask_for(keys: range) -> None:
        if ask == "get":
            assert all(table.get({"k": key}) for key in keys)
        else:
            wanted = pa.table({"k": pa.array(keys, pa.int32())})
            assert table.lookup(wanted).num_rows == len(keys)

    ask_for(range(0, 8_000, 400))
    file_io.opened.clear()
    for first in range(5):
        ask_for(range(first, 8_000, 400))

    assert [path for path in file_io.opened if "/bucket-" in path] == []
    cache = table.lookup_at().cache
    assert 0 < cache.memory_bytes <= 300 * 1024 < cache.memory_bytes + cache.disk_bytes


def test_a_copy_stays_valid_when_options_change() -> None:
    file_io = CountingFileIO()
    table = given_table({"bucket": "1"}, file_io=file_io)
    write(table, {1: 1})
    assert lookup(table, 1) == [(1, 1)]
    table.alter(SetOption(key="snapshot.num-retained.max", value="70"))
    file_io.opened.clear()

    assert lookup(table, 1) == [(1, 1)]

    assert [path for path in file_io.opened if "/bucket-" in path] == []


def test_an_expired_snapshot_is_distinguished_from_damage() -> None:
    table = given_table({"bucket": "1"})
    write(table, {1: 1})
    old = table.lookup_at()
    warm = table.lookup_at()
    table.write_and_commit(
        pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([2], pa.int32())})
    )
    table.compact()
    table.expire(retain_min=1, retain_max=1)

    with pytest.raises(LeaseLost, match="snapshot 1 has expired"):
        old.rows(pa.table({"k": pa.array([1], pa.int32())}))
    with pytest.raises(LeaseLost, match="snapshot 1 has expired"):
        warm.load()

    cold = table.lookup_at()
    table.file_io.delete_tree(f"{table.path}/bucket-0")
    with pytest.raises(CorruptData, match="does not exist, although a manifest lists it"):
        cold.rows(pa.table({"k": pa.array([1], pa.int32())}))


def test_copies_on_disk_take_half_of_what_is_free_at_most() -> None:
    unbounded = given_table().lookup_at().cache.max_disk_bytes
    bounded = given_table({"lookup.cache-max-disk-size": "5 b"}).lookup_at().cache.max_disk_bytes

    assert 0 < unbounded < shutil.disk_usage(tempfile.gettempdir()).total // 2
    assert bounded == 5


def test_tables_of_a_catalog_share_the_bounds_of_copies() -> None:
    settings = LookupSettings(max_disk_bytes=5, max_memory_bytes=7)
    catalog = Catalog("/w", file_io=MemoryFileIO(), lookups=settings)
    one, other = (
        catalog.create_table(f"db.{name}", columns=[("k", "INT")], primary_key=["k"])
        for name in ("one", "other")
    )

    assert one._opened.copies is other._opened.copies
    cache = one.lookup_at().cache
    assert (cache.max_disk_bytes, cache.max_memory_bytes) == (5, 7)
    assert one._opened.copies is not given_table()._opened.copies


def test_copies_are_in_the_directory_of_the_catalog_s_settings(tmp_path: Path) -> None:
    settings = LookupSettings(directory=str(tmp_path / "copies"), max_memory_bytes=0)
    table = Catalog(str(tmp_path / "wh"), lookups=settings).create_table(
        "db.t", columns=[("k", "INT"), ("v", "INT")], primary_key=["k"], options={"bucket": "1"}
    )
    write(table, {1: 1})

    assert lookup(table, 1) == [(1, 1)]

    assert len(list((tmp_path / "copies").rglob("*.arrow"))) == 2


def test_copies_are_kept_for_the_table_s_retention_time() -> None:
    table = given_table({"lookup.cache-file-retention": "10 min"})

    assert table.lookup_at().cache.idle_seconds == 600
    assert given_table().lookup_at().cache.idle_seconds == 3_600
