"""Tables ordered by snapshot: the record that was committed later wins, whenever it was written."""

import dataclasses
import random
from collections.abc import Mapping

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CorruptData,
    Machine,
    ManualClock,
    MemoryFileIO,
    Table,
    WriteResult,
    ineffective_options,
)
from braid.lake.format.data_file import DataFileMeta
from braid.lake.format.snapshot import MAX_SEQUENCE_NUMBER_PROPERTY, CommitKind
from tests.support.foreign_engine import commit_foreign

DELETE = 3


def given_table(options: Mapping[str, str] | None = None) -> Table:
    """Return an empty table (k, a, b) of one bucket in memory, ordered by snapshot."""
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock(), random=random.Random(1))
    return catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("a", "INT"), ("b", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "write-only": "true",
            "sequence.snapshot-ordering": "true",
            **(options or {}),
        },
    )


def written(
    table: Table, *rows: tuple[int | None, ...], kinds: list[int] | None = None
) -> WriteResult:
    """Return what a fresh writer made of rows (k, a, b), not yet committed."""
    columns = list(zip(*rows, strict=True))
    batch = pa.table(
        {name: pa.array(list(v), pa.int32()) for name, v in zip("kab", columns, strict=True)}
    )
    writer = table.writer()
    writer.write(batch, kinds=None if kinds is None else pa.array(kinds, pa.int8()))
    return writer.prepare_commit()


def commit(table: Table, *results: WriteResult, kind: CommitKind = CommitKind.APPEND) -> int:
    """Commit what writers made as one snapshot; return its id."""
    messages = [message for result in results for message in result.messages]
    return table.committer().commit(messages, commit_user="u", kind=kind).snapshot_id


def rows_of(
    table: Table, *, columns: list[str] | None = None, at: int | None = None
) -> list[tuple[object, ...]]:
    """Return the rows of a scan, by key; both machines agree."""

    def found(machine: Machine) -> list[tuple[object, ...]]:
        scan = table.scan(columns=columns, at=at, machine=machine)
        return sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())

    assert found(Machine.COLUMN) == found(Machine.ROW)
    return found(Machine.COLUMN)


def files_of(table: Table) -> list[DataFileMeta]:
    """Return the live files, oldest snapshot first."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sorted(
        (entry.file for entry in table.live_files(snapshot)),
        key=lambda file: file.min_sequence_number,
    )


def test_files_carry_the_id_of_their_snapshot() -> None:
    table = given_table()
    commit(table, written(table, *[(1, n, n) for n in range(20)], (2, 0, 0)))
    commit(table, written(table, (1, 0, 0)), written(table, (3, 0, 0)))

    numbers = [(file.min_sequence_number, file.max_sequence_number) for file in files_of(table)]
    assert numbers == [(1, 1), (2, 2), (2, 2)]


def test_the_later_commit_wins_even_if_it_was_written_earlier() -> None:
    table = given_table()
    slow = written(table, (1, 10, 10))
    fast = written(table, *[(1, n, n) for n in range(20)])
    commit(table, fast)
    commit(table, slow)

    assert rows_of(table) == [(1, 10, 10)]
    assert rows_of(table, at=1) == [(1, 19, 19)]


def test_columns_merge_in_the_order_of_commits() -> None:
    table = given_table({"merge-engine": "partial-update"})
    slow = written(table, (1, 10, None))
    commit(table, written(table, (1, 5, 7)))
    commit(table, slow)

    assert rows_of(table) == [(1, 10, 7)]
    assert rows_of(table, columns=["b"]) == [(7,)]


def test_a_delete_of_a_later_snapshot_removes_the_row() -> None:
    table = given_table()
    removal = written(table, (1, 0, 0), kinds=[DELETE])
    commit(table, written(table, (1, 1, 1), (2, 2, 2)))
    commit(table, removal)

    assert rows_of(table) == [(2, 2, 2)]
    assert table.get({"k": 1}) is None


@pytest.mark.parametrize("is_delete_first", [True, False])
def test_within_one_snapshot_an_add_wins_over_a_delete(*, is_delete_first: bool) -> None:
    table = given_table()
    add = written(table, (1, 1, 1))
    removal = written(table, (1, 0, 0), kinds=[DELETE])
    commit(table, *([removal, add] if is_delete_first else [add, removal]))

    assert rows_of(table) == [(1, 1, 1)]


def test_the_order_of_one_writers_rows_decides_inside_its_file() -> None:
    table = given_table()
    commit(table, written(table, (1, 1, 1), (1, 999, 999)))

    assert rows_of(table) == [(1, 999, 999)]


def test_an_attempt_after_a_lost_race_carries_the_id_it_was_published_under() -> None:
    table = given_table()
    late = written(table, (1, 1, 1))
    early = written(table, (1, 2, 2))
    steps: list[str] = []

    def overtake(step: str) -> None:
        steps.append(step)
        if steps.count("before create-snapshot") == 1 and step == "before create-snapshot":
            commit(table, early)

    committer = table.committer()
    committer._on_step = overtake
    result = committer.commit(late.messages, commit_user="late")

    assert (result.snapshot_id, result.attempts) == (2, 2)
    assert [file.min_sequence_number for file in files_of(table)] == [1, 2]
    assert rows_of(table) == [(1, 1, 1)]


def test_the_next_sequence_number_is_above_every_number_in_a_file() -> None:
    table = given_table()
    result = written(table, *[(n, 0, 0) for n in range(20)])
    table.committer().commit(result.messages, commit_user="u", next_sequence_number=20)
    first = table.snapshot(1).properties[MAX_SEQUENCE_NUMBER_PROPERTY]
    commit(table, written(table, (1, 1, 1)))
    second = table.snapshot(2).properties[MAX_SEQUENCE_NUMBER_PROPERTY]

    # Engines that do not know the option order by the numbers in the files.
    assert (first, second) == ("19", "19")


def test_snapshot_ids_count_as_sequence_numbers_where_they_are_higher() -> None:
    table = given_table()
    for _ in range(3):
        commit(table, written(table, (1, 1, 1)))

    assert table.snapshot(3).properties[MAX_SEQUENCE_NUMBER_PROPERTY] == "3"


def test_a_file_of_unknown_source_cannot_be_ordered() -> None:
    table = given_table()
    commit(table, written(table, (1, 1, 1)))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.live_files(snapshot)
    old = dataclasses.replace(entry.file, file_source=None, file_name="old.parquet")
    commit_foreign(table.file_io, table.paths, [dataclasses.replace(entry, file=old)])

    with pytest.raises(CorruptData, match="has no file source"):
        table.scan().to_arrow()


def test_compacted_rows_keep_the_order_of_their_snapshots() -> None:
    table = given_table()
    late = written(table, (1, 9, 9))
    commit(table, written(table, *[(1, n, n) for n in range(20)]))
    commit(table, written(table, (2, 2, 2)))
    table.compact()

    (file,) = files_of(table)
    assert (file.min_sequence_number, file.max_sequence_number) == (1, 2)
    assert rows_of(table) == [(1, 19, 19), (2, 2, 2)]
    commit(table, late)
    assert rows_of(table) == [(1, 9, 9), (2, 2, 2)]
    table.compact()
    assert rows_of(table) == [(1, 9, 9), (2, 2, 2)]
    assert [file.min_sequence_number for file in files_of(table)] == [2]


def test_a_file_that_compaction_only_moves_keeps_its_snapshot() -> None:
    table = given_table()
    commit(table, written(table, *[(k, k, k) for k in range(20)]))
    moved = table.compact()
    commit(table, written(table, (1, 0, 0)))

    assert moved.files_moved == 1
    assert rows_of(table)[1] == (1, 0, 0)
    assert [file.min_sequence_number for file in files_of(table)] == [1, 3]


@pytest.mark.parametrize("machine", Machine)
def test_flushes_of_one_commit_are_merged_in_the_order_they_were_written(machine: Machine) -> None:
    table = given_table({"merge-engine": "partial-update"})
    writer = table.writer(machine=machine)
    for value in range(12):  # more than nine files: their names do not sort as their numbers do
        keys = [0, value, 50 + value]
        writer.write(
            pa.table({"k": keys, "a": [value] * 3, "b": [value if value < 5 else None] * 3})
        )
        writer.flush()
    apart = [900, 901]
    writer.write(pa.table({"k": apart, "a": [7, 7]}))
    result = writer.prepare_commit()
    commit(table, result)

    assert rows_of(table)[0] == (0, 11, 4)
    assert len(rows_of(table)) == 12 + 12 + 2
    assert (result.rows_accepted, result.rows_folded) == (26, 12)
    assert sum(file.row_count for file in files_of(table)) == 26
    names = {status.name for status in table.file_io.list(f"{table.path}/bucket-0")}
    assert names == {file.file_name for file in files_of(table)}


def test_merged_flushes_fill_files_of_the_target_size() -> None:
    """Rows that shrink on disk are not cut by what they are in memory."""
    table = given_table({"target-file-size": "100 kb"})
    writer = table.writer()
    for value in range(2):
        keys = list(range(value, 200_000, 2 - value))
        writer.write(pa.table({"k": pa.array(keys, pa.int32()), "a": [value] * len(keys)}))
        writer.flush()
    commit(table, writer.prepare_commit())

    counts = [file.row_count for file in files_of(table)]
    assert sum(counts) == 200_000
    assert len(counts) <= 5, "cut by the size in memory there would be dozens"


@pytest.mark.parametrize("ordering", ["true", "false"])
def test_the_first_row_is_that_of_the_first_snapshot(ordering: str) -> None:
    options = {"merge-engine": "first-row", "sequence.snapshot-ordering": ordering}
    table = given_table(options)
    written_first = written(table, (1, 10, None))
    # Key 1 has a larger sequence number here.
    committed_first = written(table, (2, 0, None), (1, 20, None))
    commit(table, committed_first)
    commit(table, written_first)

    table.compact()

    first = 20 if ordering == "true" else 10
    assert rows_of(table) == [(1, first, None), (2, 0, None)]
    assert [problem.field for problem in ineffective_options(table.schema)] == []
