"""Search for keys in the files of a bucket: the file, the row, and no file opened without need."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from braid.lake.errors import CorruptData
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.files.storage.positioned_input import InputFile, PositionedInput
from braid.lake.read.lookup.background import Job, Submit
from braid.lake.read.lookup.bucket_lookup import BucketLookup
from braid.lake.read.lookup.copy_store import CopyStore
from braid.lake.read.lookup.lookup_cache import LookupCache
from braid.lake.read.lookup.wanted_keys import wanted_keys
from tests.given_tables import GivenTable, given_schema


class CountingFileIO(MemoryFileIO):
    """Remembers which files were opened, and how much of them was read."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.bytes_read = 0

    def open_input(self, path: str) -> InputFile:
        self.opened.append(path)
        return CountedInput(self, self.read_bytes(path))


class CountedInput(PositionedInput):
    """A file whose storage counts what is read."""

    def __init__(self, storage: CountingFileIO, data: bytes) -> None:
        super().__init__(len(data))
        self._storage, self._data = storage, data

    def _at(self, start: int, end: int) -> bytes:
        self._storage.bytes_read += end - start
        return self._data[start:end]


def given_table(
    columns: Mapping[str, object] | None = None, key: Sequence[str] = ("k",)
) -> GivenTable:
    schema = given_schema(columns or {"k": "INT", "v": "STRING"}, key=key)
    return GivenTable(schema=schema, file_io=CountingFileIO())


def given_lookup(
    table: GivenTable, *, keeps: str = "memory", submit: Submit | None = None
) -> BucketLookup:
    """Return a lookup that keeps files in `memory`, on `disk`, or `nothing`."""
    return BucketLookup(
        LookupCache(
            CopyStore(submit=submit),
            table.paths.root,
            max_disk_bytes=0 if keeps == "nothing" else 1 << 40,
            max_memory_bytes=1 << 30 if keeps == "memory" else 0,
        ),
        file_io=table.file_io,
        paths=table.paths,
        schema=table.schema,
        partition=table.entries[0].partition,
        bucket=0,
        files=[entry.file for entry in table.entries],
    )


def keys(*values: int) -> pa.Table:
    return pa.table({"k": pa.array(values, pa.int32())})


def given_levels() -> GivenTable:
    """Return keys 0..9 on level 5 (two files), 0, 2, 4 on level 3, and 0, 1 on level 0."""
    table = given_table()
    table.write(*[[key, f"top {key}"] for key in range(5)])
    table.write(*[[key, f"top {key}"] for key in range(5, 10)])
    table.write(*[[key, f"middle {key}"] for key in (0, 2, 4)])
    table.write(*[[key, f"old {key}"] for key in (0, 1)])
    table.write(*[[key, f"new {key}"] for key in (0,)])
    for number, level in enumerate([5, 5, 3]):
        table.move(number, level)
    return table


@pytest.mark.parametrize("keeps", ["memory", "disk", "nothing"])
@pytest.mark.parametrize(
    ("above_level", "expected"),
    [
        (0, {0: "middle 0", 1: "top 1", 2: "middle 2", 3: "top 3", 9: "top 9"}),
        (3, {0: "top 0", 1: "top 1", 2: "top 2", 3: "top 3", 9: "top 9"}),
        (5, {}),
        (-1, {0: "new 0", 1: "old 1", 2: "middle 2", 3: "top 3", 9: "top 9"}),
    ],
)
def test_the_newest_level_that_has_a_key_gives_its_record(
    above_level: int, expected: dict[int, str], keeps: str
) -> None:
    lookup = given_lookup(given_levels(), keeps=keeps)
    wanted = keys(9, 77, 0, 3, -5, 1, 2)

    found = lookup.find(wanted, above_level=above_level)
    records = lookup.records(found, ["k", "v"])

    assert found.keys.tolist() == sorted(found.keys.tolist())
    assert records.column("k").to_pylist() == wanted.column("k").take(found.keys).to_pylist()
    assert dict(zip(*(records.column(name).to_pylist() for name in "kv"), strict=True)) == expected
    levels = [found.files[number].level for number in found.file_numbers]
    assert records.column("_LEVEL").to_pylist() == levels
    assert all(level > above_level for level in levels)


def test_positions_are_physical_rows() -> None:
    lookup = given_lookup(given_levels())

    found = lookup.find(keys(7, 3, 2), above_level=3)

    assert found.positions.tolist() == [2, 3, 2]
    assert [found.files[number].min_sequence_number for number in found.file_numbers] == [5, 0, 0]


def test_marked_rows_are_skipped_and_older_records_found() -> None:
    table = given_levels()
    lookup = given_lookup(table)
    middle, top = table.entries[2].file.file_name, table.entries[0].file.file_name

    found = lookup.find(
        keys(0, 1, 2, 3, 4),
        above_level=0,
        vectors={middle: BitMap([0, 2]), top: BitMap([0, 1]), "another": BitMap([0])},
    )

    records = lookup.records(found, ["k", "v"])
    assert records.column("v").to_pylist() == ["middle 2", "top 3", "top 4"]


def test_a_file_whose_key_range_has_no_wanted_key_is_not_opened() -> None:
    table = given_levels()
    lookup = given_lookup(table)

    found = lookup.find(keys(7, 42), above_level=3)

    assert len(found) == 1
    assert isinstance(table.file_io, CountingFileIO)
    assert len(table.file_io.opened) == 1


def test_columns_are_decoded_at_their_first_use() -> None:
    table = given_levels()
    lookup = given_lookup(table)
    found = lookup.find(keys(7), above_level=3)

    assert not lookup.is_cached(["v"])
    lookup.records(found, ["v"])
    for load in lookup.load_tasks(["v"]):
        load()

    assert lookup.is_cached(["k", "v"])
    assert isinstance(table.file_io, CountingFileIO)
    opened = list(table.file_io.opened)
    lookup.records(lookup.find(keys(*range(10)), above_level=-1), ["k", "v"])
    assert table.file_io.opened == opened, "what is ready is not read again"


def old(key: int) -> str:
    """Return a value that compresses badly."""
    return f"old {key} {sha256(str(key).encode()).hexdigest()}"


@pytest.fixture(scope="module")
def large_table() -> GivenTable:
    """Return keys 0..69999 on level 5, in three row groups, and two of them on level 0."""
    table = given_table()
    table.write(*[[key, old(key)] for key in range(70_000)])
    table.write(*[[key, f"new {key}"] for key in (5, 40_000)])
    table.move(0, 5)
    return table


def find_values(lookup: BucketLookup, table: GivenTable, *wanted: int) -> dict[int, list[str]]:
    asked = wanted_keys(keys(*wanted), table.schema)
    rows = lookup.records(lookup.find_all(asked, np.arange(len(wanted))), ["v", "k"])
    assert rows.schema.names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "v", "k", "_LEVEL"]
    values: dict[int, list[str]] = {}
    for row in rows.to_pylist():
        values.setdefault(row["k"], []).append(row["v"])
    return values


def test_a_large_file_is_copied_once_a_quarter_of_it_was_read_by_row_group(
    large_table: GivenTable,
) -> None:
    table = large_table
    jobs: list[Job] = []
    lookup = given_lookup(table, keeps="disk", submit=jobs.append)

    assert find_values(lookup, table, 40_000) == {40_000: ["new 40000", old(40_000)]}

    assert not lookup.is_cached(["v"])
    [job] = jobs
    job()
    assert lookup.is_cached(["v"])
    assert isinstance(table.file_io, CountingFileIO)
    opened = list(table.file_io.opened)
    assert find_values(lookup, table, 69_999, 40_000, 70_000) == {
        69_999: [old(69_999)],
        40_000: ["new 40000", old(40_000)],
    }
    assert table.file_io.opened == opened


def test_a_file_without_room_for_a_copy_is_never_decoded_whole_for_one_key(
    large_table: GivenTable,
) -> None:
    table = large_table
    lookup = given_lookup(table, keeps="nothing")
    assert isinstance(table.file_io, CountingFileIO)
    find_values(lookup, table, 3)
    before = table.file_io.bytes_read
    [large, _] = table.entries

    for key in (3, 69_999, 35_000):
        assert find_values(lookup, table, key) == {key: [old(key)]}

    assert table.file_io.bytes_read - before < 3 * 0.6 * large.file.file_size
    assert find_values(lookup, table, 80_000, -1) == {}
    assert find_values(lookup, table, *range(6, 70_000, 7)) == {
        key: [old(key)] for key in range(6, 70_000, 7)
    }


@pytest.mark.parametrize("count", [1, 3, 50])
def test_keys_of_several_columns_and_odd_values_are_found(count: int) -> None:
    """One key is looked for in another way than many."""
    columns = {"d": "DOUBLE", "s": "STRING", "n": "DECIMAL(20, 2)", "f": "FLOAT", "v": "INT"}
    table = given_table(columns, key=["d", "s", "n", "f"])
    doubles = [float("nan"), 0.0, -0.0, 1.5, float("-inf")]
    rows = [
        [d, s, n, f, 0] for d in doubles for s in ("", "é" * 9) for n in (1, -2) for f in doubles
    ]
    rows = [[*row[:4], number] for number, row in enumerate(rows)]
    table.write(*rows)
    table.move(0, 5)
    lookup = given_lookup(table)
    whole = pa.table(
        {
            "d": pa.array([row[0] for row in rows], pa.float64()),
            "s": pa.array([row[1] for row in rows]),
            "n": pa.array([row[2] for row in rows], pa.decimal128(20, 2)),
            "f": pa.array([row[3] for row in rows], pa.float32()),
        }
    )

    for first in range(0, len(rows), count):
        wanted = whole.slice(first, count)
        found = lookup.find(wanted, above_level=0)
        values = lookup.records(found, ["v"]).column("v").to_pylist()
        assert values == list(range(first, first + wanted.num_rows))

    absent = whole.set_column(1, "s", pa.array(["other"] * len(rows)))
    assert len(lookup.find(absent.slice(0, count), above_level=0)) == 0


def test_keys_and_files_of_any_size_agree_with_a_dictionary() -> None:
    random = np.random.default_rng(8)
    table = given_table({"k": "BIGINT", "s": "STRING"}, key=["k", "s"])
    held = random.choice(100_000, 30_000, replace=False)
    table.write(*[[int(k), f"text {k % 7} of {k}"] for k in held])
    table.move(0, 4)
    lookup = given_lookup(table, keeps="disk")
    for size in (1, 5, 100, 5_000):
        asked = random.choice(100_000, size, replace=False)
        wanted = pa.table({"k": asked, "s": [f"text {k % 7} of {k}" for k in asked]})

        found = lookup.find(wanted, above_level=0)

        is_held = np.isin(asked, held)
        assert found.keys.tolist() == np.flatnonzero(is_held).tolist()
        assert lookup.records(found, ["k"]).column("k").to_pylist() == asked[is_held].tolist()


def test_values_that_nest_deeper_than_arrow_files_allow_are_found() -> None:
    value = "INT"
    for _ in range(35):
        value = f"MAP<INT, {value}>"
    table = given_table({"k": "INT", "v": value})
    nested: object = 7
    for _ in range(35):
        nested = [(1, nested)]
    table.write([1, nested], [2, None])
    lookup = given_lookup(table, keeps="disk")

    found = lookup.find(keys(2, 1), above_level=-1)

    assert lookup.records(found, ["v"]).column("v").to_pylist() == [None, nested]


def test_an_absent_file_is_an_error_and_the_next_search_tries_again() -> None:
    table = given_levels()
    lookup = given_lookup(table)
    entry = table.entries[1]
    path = live_file_path(table.paths, table.schema, entry.partition, 0, entry.file)
    content = table.file_io.read_bytes(path)
    table.file_io.delete(path)

    with pytest.raises(CorruptData, match="does not exist"):
        lookup.find(keys(7), above_level=3)
    table.file_io.write_new(path, content)

    assert len(lookup.find(keys(7), above_level=3)) == 1


def test_no_keys_or_no_files_give_no_matches() -> None:
    table = given_levels()
    lookup = given_lookup(table)

    found = lookup.find(keys(), above_level=-1)

    assert len(found) == 0
    records = lookup.records(found, ["v"])
    assert records.num_rows == 0
    assert records.column_names == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "v", "_LEVEL"]
