"""Bloom filters of data files: written with them, checked before them, deleted with them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.lake import (
    AddColumn,
    Catalog,
    Condition,
    CorruptData,
    DropColumn,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    RemoveOption,
    RenameColumn,
    SetOption,
    Table,
    UpdateColumnType,
    parse_type,
)
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.indexes.bloom_filter import decode_bloom_filter
from braid.lake.format.indexes.file_index import BLOOM_FILTER, decode_file_index, encode_file_index
from braid.lake.format.indexes.value_hash import value_hashes
from tests.support.foreign_engine import commit_foreign
from tests.support.table_files import assert_orphans_found, missing_files, unneeded_files

BLOOM = "file-index.bloom-filter"
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
WITHIN = {"file-index.in-manifest-threshold": "1 mb"}
PLACES = pytest.mark.parametrize("place", [BESIDE, WITHIN], ids=["beside", "in manifest"])
LATER_MS = 1 << 42


def given_table(
    options: Mapping[str, str] | None = None,
    *,
    columns: str = "k",
    partition: Sequence[str] = (),
) -> Table:
    """Return an empty table (k INT, v INT, s STRING, p STRING, m MAP<STRING, INT>)."""
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(start_ms=LATER_MS))
    return catalog.create_table(
        "db.t",
        columns=[
            ("k", "INT"),
            ("v", "INT"),
            ("s", "STRING"),
            ("p", "STRING"),
            ("m", "MAP<STRING, INT>"),
        ],
        primary_key=["k", *partition],
        partition_keys=partition,
        options={"bucket": "1", f"{BLOOM}.columns": columns, **BESIDE, **(options or {})},
    )


def write(table: Table, **columns: Sequence[Any]) -> None:
    """Commit rows; columns that are not named are null."""
    types = table.schema.arrow_schema
    arrays = {name: pa.array(values, types.field(name).type) for name, values in columns.items()}
    table.write_and_commit(pa.table(arrays))


def even_and_odd(table: Table) -> None:
    """Commit two files whose ranges overlap: of the even numbers below 2000, and of the odd ones."""
    for first in (0, 1):
        keys = list(range(first, 2_000, 2))
        write(table, k=keys, v=[10 * key for key in keys], s=[f"text {key}" for key in keys])


def files(table: Table) -> list[DataFileMeta]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [entry.file for entry in table.live_files(snapshot)]


def index_of(table: Table, file: DataFileMeta) -> dict[str, dict[str, memoryview | None]]:
    if file.embedded_file_index is not None:
        return decode_file_index(file.embedded_file_index)
    (name,) = file.extra_files
    return decode_file_index(table.file_io.read_bytes(f"{table.path}/bucket-0/{name}"))


def may_have(table: Table, file: DataFileMeta, column: str, value: object, kind: str) -> bool:
    body = index_of(table, file)[column][BLOOM_FILTER]
    assert body is not None
    data_type = parse_type(kind)
    array = pa.array([value], pa.string() if kind == "STRING" else pa.int32())
    return bool(decode_bloom_filter(body).may_have(value_hashes(array, data_type))[0])


def read(table: Table, column: str, value: object, op: str = "=") -> tuple[list[int], int]:
    """Return the keys of the rows that a scan finds, and how many files it opened."""
    scan = table.scan(columns=["k"], where=[Condition(column=column, op=op, value=value)])
    keys = sorted(scan.to_arrow().column("k").to_pylist())
    return keys, scan.counters.files


def absent_value(table: Table, column: str, values: Sequence[object], kind: str) -> Any:
    """Return a value that no file may have, by any index."""
    for value in values:
        if not any(may_have(table, file, column, value, kind) for file in files(table)):
            return value
    pytest.fail("a filter has everything")


@PLACES
def test_small_indexes_go_into_the_manifest_and_others_beside_their_files(
    place: dict[str, str],
) -> None:
    table = given_table(place, columns="k,s,m[x]")
    write(table, k=[1, 2], s=["a", None], m=[[("x", 7), ("y", 8)], None])

    (file,) = files(table)

    assert (file.embedded_file_index is None) == (place == BESIDE)
    expected = (f"{file.file_name}.index",) if place == BESIDE else ()
    assert file.extra_files == expected
    assert list(index_of(table, file)) == ["k", "s", "m[x]"]
    assert may_have(table, file, "k", 2, "INT")
    assert may_have(table, file, "s", "a", "STRING")
    assert may_have(table, file, "m[x]", 7, "INT")
    assert not all(may_have(table, file, "m[x]", value, "INT") for value in (8, 9, 10, 11))


def test_an_index_of_the_threshold_s_size_is_in_the_manifest() -> None:
    table = given_table(WITHIN)
    write(table, k=[1])
    (file,) = files(table)
    assert file.embedded_file_index is not None
    size = len(file.embedded_file_index)

    for threshold, is_beside in ((size, False), (size - 1, True)):
        other = given_table({"file-index.in-manifest-threshold": f"{threshold} b"})
        write(other, k=[1])
        assert bool(files(other)[0].extra_files) == is_beside


def test_a_table_without_columns_to_index_has_no_index() -> None:
    catalog = Catalog("/wh", file_io=MemoryFileIO())
    table = catalog.create_table("db.t", columns=[("k", "INT")], primary_key=["k"])
    write(table, k=[1])

    assert [(file.extra_files, file.embedded_file_index) for file in files(table)] == [((), None)]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_files_of_every_format_have_an_index(kind: str) -> None:
    table = given_table({"file.format": kind})
    even_and_odd(table)

    assert read(table, "k", 501)[0] == [501]
    assert [file.extra_files for file in files(table)] == [
        (f"{file.file_name}.index",) for file in files(table)
    ]


def test_compacted_files_have_an_index_and_moved_ones_keep_theirs() -> None:
    table = given_table({"write-only": "true"})
    even_and_odd(table)
    table.compact()
    (compacted,) = files(table)
    assert compacted.level > 0
    assert may_have(table, compacted, "k", 3, "INT")
    assert may_have(table, compacted, "k", 4, "INT")

    moved = given_table()
    write(moved, k=[1])
    (before,) = files(moved)
    moved.compact()
    (after,) = files(moved)

    assert (before.file_name, before.level) != (after.file_name, after.level)
    assert before.file_name == after.file_name
    assert before.extra_files == after.extra_files != ()


def test_changelog_files_have_no_index() -> None:
    table = given_table({"changelog-producer": "input"})
    write(table, k=[1])

    names = [status.name for status in table.file_io.list(f"{table.path}/bucket-0")]
    assert sorted(name.split("-")[0] for name in names) == ["changelog", "data", "data"]


@PLACES
def test_scans_open_no_file_that_lacks_the_key(place: dict[str, str]) -> None:
    table = given_table(place)
    even_and_odd(table)

    opened = [read(table, "k", key) for key in range(0, 100, 2)]

    assert [keys for keys, _ in opened] == [[key] for key in range(0, 100, 2)]
    # A tenth of the other file's answers is wrong, by the share that is declared.
    assert 50 <= sum(count for _, count in opened) < 70
    both, count = read(table, "k", [4, 7], op="in")
    assert (both, count) == ([4, 7], 2)
    assert read(table, "k", 2_001)[1] == 0


@PLACES
def test_scans_for_other_columns_open_no_file_that_lacks_the_value(place: dict[str, str]) -> None:
    table = given_table(place, columns="s")
    even_and_odd(table)
    absent = absent_value(table, "s", [f"text {key}x" for key in range(500)], "STRING")

    # Both files are merged, but each row is one of their records.
    assert read(table, "s", absent) == ([], 0)
    assert read(table, "s", "text 8") == ([8], 2)
    table.compact()
    absent = absent_value(table, "s", [f"text {key}x" for key in range(500)], "STRING")
    assert read(table, "s", absent) == ([], 0)
    assert read(table, "s", "text 8") == ([8], 1)


@PLACES
def test_a_filter_of_the_winning_record_does_not_reveal_the_losing_one(
    place: dict[str, str],
) -> None:
    table = given_table(place, columns="v")
    write(table, k=[1, 2], v=[10, 20])
    write(table, k=[1, 3], v=[11, 30])

    assert read(table, "v", 10) == ([], 2)
    assert read(table, "v", 11) == ([1], 2)


@PLACES
@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_values_that_only_a_merge_produces_are_found(place: dict[str, str], engine: str) -> None:
    function = {"fields.v.aggregate-function": "sum"} if engine == "aggregation" else {}
    table = given_table({"merge-engine": engine, **function, **place}, columns="k,v,s")
    write(table, k=[1, 2], v=[10, 5], s=[None, "a"])
    write(table, k=[1, 2], v=[11, 6], s=["b", None])

    value = 21 if engine == "aggregation" else 11
    assert read(table, "v", value)[0] == [1]
    assert read(table, "s", "a")[0] == [2]
    scan = table.scan(
        columns=["k"],
        where=[
            Condition(column="v", op="=", value=value),
            Condition(column="s", op="=", value="b"),
        ],
    )
    assert scan.to_arrow().column("k").to_pylist() == [1]


@PLACES
def test_indexes_are_not_used_for_other_conditions(place: dict[str, str]) -> None:
    table = given_table(place, columns="v,s")
    write(table, k=[1, 2, 3], v=[1, None, 3], s=["a", "b", None])

    assert read(table, "v", 2, op=">=")[0] == [3]
    assert read(table, "v", 2, op="!=")[0] == [1, 3]
    assert read(table, "v", None, op="is_null")[0] == [2]
    assert read(table, "s", None, op="not_null")[0] == [1, 2]


def test_indexes_are_not_read_where_an_option_disables_them() -> None:
    table = given_table({"file-index.read.enabled": "false"})
    even_and_odd(table)
    for file in files(table):
        table.file_io.delete(f"{table.path}/bucket-0/{file.extra_files[0]}")

    assert read(table, "k", 7) == ([7], 2)
    assert table.lookup(pa.table({"k": pa.array([7], pa.int32())})).num_rows == 1


@pytest.mark.parametrize("damage", [b"", b"no index", None], ids=["empty", "other", "absent"])
def test_a_damaged_index_is_reported_with_its_path_and_a_hint(damage: bytes | None) -> None:
    table = given_table()
    even_and_odd(table)
    path = f"{table.path}/bucket-0/{files(table)[0].extra_files[0]}"
    table.file_io.delete(path)
    if damage is not None:
        table.file_io.write_new(path, damage)

    for look in (
        lambda: read(table, "k", 7),
        lambda: table.lookup(pa.table({"k": pa.array([7], pa.int32())})),
    ):
        with pytest.raises(CorruptData, match=r"(?s)\.index.*file-index\.read\.enabled") as caught:
            look()
        assert path in str(caught.value)
    table.alter(SetOption(key="file-index.read.enabled", value="false"))
    assert read(table, "k", 7) == ([7], 2)


def test_a_damaged_index_in_a_manifest_is_reported() -> None:
    table = given_table(WITHIN)
    write(table, k=[1])
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.live_files(snapshot)
    damaged = dataclasses.replace(entry.file, embedded_file_index=b"no index")
    commit_foreign(table.file_io, table.paths, [dataclasses.replace(entry, file=damaged)])

    with pytest.raises(CorruptData, match=f"the index of data file {entry.file.file_name}"):
        read(table, "k", 1)


def test_indexes_of_other_kinds_are_ignored() -> None:
    table = given_table(WITHIN)
    write(table, k=[1])
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.live_files(snapshot)
    index = encode_file_index({"k": {"bitmap": b"bits"}, "v": {"bsi": b"bits", "token": None}})
    other = dataclasses.replace(
        entry.file, embedded_file_index=index, extra_files=("x.lookup", "y.index")
    )
    commit_foreign(table.file_io, table.paths, [dataclasses.replace(entry, file=other)])

    # Both entries are of the one file, and nothing excludes the second.
    assert read(table, "k", 1) == ([1], 2)
    assert table.get({"k": 1}) is not None


def keys_table(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int32())})


@PLACES
def test_lookups_of_absent_keys_copy_no_file(place: dict[str, str]) -> None:
    table = given_table(place)
    keys = list(range(0, 4_000, 2))
    write(table, k=keys)
    absent = [k for k in range(1, 4_000, 2) if not may_have(table, files(table)[0], "k", k, "INT")]
    assert len(absent) > 1_600

    lookup = table.lookup_at()
    assert lookup.rows(keys_table(*absent)).num_rows == 0
    assert not lookup.is_cached()
    assert lookup.get_many([{"k": absent[0]}]) == [None]
    assert table.get({"k": absent[1]}) is None
    assert lookup.cache.memory_bytes == 0
    assert lookup.rows(keys_table(absent[0], 8)).column("k").to_pylist() == [8]
    assert lookup.cache.memory_bytes > 0


def test_lookups_use_the_index_of_every_key_column() -> None:
    both = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.u",
        columns=[("k", "INT"), ("s", "STRING")],
        primary_key=["k", "s"],
        options={"bucket": "1", f"{BLOOM}.columns": "s", **WITHIN},
    )
    write(both, k=list(range(100)), s=[f"text {k}" for k in range(100)])
    (file,) = files(both)
    absent = [
        text
        for text in (f"text {k}x" for k in range(50))
        if not may_have(both, file, "s", text, "STRING")
    ]

    lookup = both.lookup_at()
    keys = pa.table({"k": pa.array([5] * len(absent), pa.int32()), "s": absent})
    assert lookup.rows(keys).num_rows == 0
    assert lookup.cache.memory_bytes == 0
    assert lookup.rows(pa.table({"k": pa.array([5], pa.int32()), "s": ["text 5"]})).num_rows == 1


@PLACES
def test_indexes_of_older_files_are_matched_by_column_id(
    place: dict[str, str],
) -> None:
    table = given_table(place, columns="v,s")
    write(table, k=[1, 2], v=[10, 20], s=["a", "b"])
    write(table, k=[3, 4], v=[30, 40], s=["c", "d"])
    named = f"{BLOOM}.columns"
    table.alter(
        RemoveOption(key=named),
        RenameColumn(path=("v",), name="w"),
        RenameColumn(path=("s",), name="v"),
        UpdateColumnType(path=("w",), type=parse_type("BIGINT")),
        SetOption(key=named, value="w,v"),
    )
    write(table, k=[5], w=[50], v=["e"])

    assert read(table, "w", 30) == ([3], 1)
    assert read(table, "v", "c") == ([3], 1)
    assert read(table, "w", 50) == ([5], 1)
    # Between the bounds of the first two files, whose filters are of five values each.
    assert read(table, "w", 2**40)[0] == []
    assert [list(index_of(table, file)) for file in files(table)] == [
        ["v", "s"],
        ["v", "s"],
        ["w", "v"],
    ]


@PLACES
def test_old_indexes_are_not_used_after_a_change_of_type_that_changes_values(
    place: dict[str, str],
) -> None:
    table = given_table(place, columns="v,s")
    write(table, k=[1, 2], v=[10, 20], s=["10", "abcdef"])
    table.alter(UpdateColumnType(path=("v",), type=parse_type("STRING")))
    table.alter(UpdateColumnType(path=("s",), type=parse_type("VARCHAR(3)")))

    assert read(table, "v", "20")[0] == [2]
    assert read(table, "s", "abc")[0] == [2]


def test_a_column_of_an_old_name_is_not_the_old_column() -> None:
    table = given_table(WITHIN, columns="v")
    write(table, k=[1], v=[10])
    table.alter(RemoveOption(key=f"{BLOOM}.columns"), DropColumn(path=("v",)))
    table.alter(
        AddColumn(path=("v",), type=parse_type("INT")), SetOption(key=f"{BLOOM}.columns", value="v")
    )
    write(table, k=[2], v=[11])

    assert read(table, "v", 11)[0] == [2]
    assert read(table, "v", None, op="is_null")[0] == [1]
    assert read(table, "v", 10)[0] == []


@pytest.mark.parametrize(
    "change", [DropColumn(path=("v",)), RenameColumn(path=("v",), name="w")], ids=["drop", "rename"]
)
def test_a_column_stays_while_an_index_names_it(change: Any) -> None:
    table = given_table(columns="v")

    with pytest.raises(InvalidRequest, match=rf"{BLOOM}\.columns: the table has no such column"):
        table.alter(change)


def assert_exact(table: Table) -> None:
    """Check that every file that is needed is there, and no other."""
    assert missing_files(table.file_io, table) == set()
    assert unneeded_files(table.file_io, table) == set()


def test_index_files_expire_with_their_files() -> None:
    table = given_table()
    for number in range(3):
        write(table, k=[number, 100])
    table.compact()
    write(table, k=[7])
    assert_exact(table)

    table.expire(retain_max=1, retain_min=1, older_than_ms=1 << 60)

    assert_exact(table)
    names = [status.name for status in table.file_io.list(f"{table.path}/bucket-0")]
    assert len(names) == 4


def test_index_files_are_deleted_with_their_tag() -> None:
    table = given_table()
    write(table, k=[1])
    table.create_tag("a")
    write(table, k=[1])
    table.compact()
    table.expire(retain_max=1, retain_min=1, older_than_ms=1 << 60)
    assert_exact(table)

    table.delete_tag("a")

    assert_exact(table)


def test_index_files_of_what_is_rolled_back_are_orphans() -> None:
    table = given_table()
    write(table, k=[1])
    write(table, k=[2])
    table.compact()

    table.rollback(snapshot_id=1)

    assert_orphans_found(table.file_io, table)
    assert_exact(table)
    assert read(table, "k", 1) == ([1], 1)


def test_rescaled_files_have_an_index() -> None:
    table = given_table({"write-only": "true"})
    write(table, k=list(range(50)))
    table.rescale(2)

    assert all(len(file.extra_files) == 1 for file in files(table))
    assert_exact(table)
    assert read(table, "k", 9)[0] == [9]


def test_unreferenced_index_files_are_orphans() -> None:
    table = given_table()
    write(table, k=[1])
    writer = table.writer()
    writer.write(keys_table(5))
    messages = writer.prepare_commit().messages
    assert len(messages[0].new_files[0].extra_files) == 1

    assert_orphans_found(table.file_io, table)
    assert read(table, "k", 1) == ([1], 1)


def test_index_files_are_deleted_when_a_writer_aborts() -> None:
    table = given_table()
    write(table, k=[1])
    writer = table.writer()
    writer.write(keys_table(5))
    messages = writer.prepare_commit().messages
    table.delete_uncommitted(messages)
    assert_exact(table)

    writer = table.writer(buffer_bytes=1)
    writer.write(keys_table(5, 6))
    writer.abort()
    assert_exact(table)


def test_flushes_that_are_merged_leave_no_index() -> None:
    table = given_table({"merge-engine": "partial-update", "write-buffer-size": "1 b"})
    writer = table.writer(buffer_bytes=1)
    for number in range(3):
        writer.write(keys_table(1, 2 + number))
    messages = writer.prepare_commit().messages
    table.committer().commit(messages, commit_user="u", commit_identifier=1)

    assert_exact(table)


def test_the_size_of_a_filter_follows_the_number_of_its_values() -> None:
    table = given_table({**WITHIN, f"{BLOOM}.k.fpp": "0.01"}, columns="k,p")
    keys = np.arange(10_000, dtype=np.int32)
    table.write_and_commit(pa.table({"k": keys, "p": ["one"] * len(keys)}))

    index = index_of(table, files(table)[0])

    bodies = {column: kinds[BLOOM_FILTER] for column, kinds in index.items()}
    assert {column: len(body or b"") for column, body in bodies.items()} == {"k": 11_986, "p": 14}
