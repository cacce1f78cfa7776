"""A bulk writer leaves the rows that an ordinary writer leaves, as one sorted run per bucket."""

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CommitConflict,
    ManualClock,
    MemoryFileIO,
    SchemaMismatch,
    Table,
    TableWriter,
    UnsupportedFeature,
    WriteResult,
)
from braid.lake.format.data_file import DataFileMeta

COLUMNS = [
    ("id", "BIGINT"),
    ("name", "STRING"),
    ("n", "INT"),
    ("g", "INT"),
    ("empty", "INT"),
    ("at", "TIMESTAMP(3)"),
]
OPTIONS = {
    "deduplicate": {},
    "partial-update": {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "name",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "fields.g.aggregate-function": "max",
    },
    "first-row": {"merge-engine": "first-row"},
}


@pytest.mark.parametrize("engine", OPTIONS)
@pytest.mark.parametrize("buffer_bytes", [1, 3_000, 1 << 20])
def test_the_rows_are_those_of_an_ordinary_writer(engine: str, buffer_bytes: int) -> None:
    plain, bulk = given_table(OPTIONS[engine]), given_table(OPTIONS[engine])
    chance = random.Random(buffer_bytes)
    batches = [given_rows(chance, 60) for _ in range(5)]

    fill(plain, plain.writer(), batches)
    result = fill(bulk, bulk.bulk_writer(buffer_bytes=buffer_bytes), batches)
    plain.compact(full=True)

    assert rows_of(bulk) == rows_of(plain)
    assert len(rows_of(bulk)) == result["accepted"]
    assert result["accepted"] + result["folded"] == 300
    assert result["levels"] == {5}
    # Sorted runs need no compaction.
    assert not bulk.buckets_to_compact()


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
@pytest.mark.parametrize("buffer_bytes", [1, 1 << 20])
def test_retracts_merge_and_none_is_left(engine: str, buffer_bytes: int) -> None:
    options = {"bucket": "1", **OPTIONS[engine]}
    if engine == "aggregation":
        options["fields.g.ignore-retract"] = "true"
    plain, bulk = given_table(options), given_table(options)
    rows = pa.table(
        {
            "id": [1, 2, 3, 1, 3],
            "name": ["a", "b", "c", "d", "e"],
            "n": int32(1, 2, 3, 4, 5),
            "g": int32(1, 1, 1, 2, 2),
        }
    )
    kinds = pa.array([0, 3, 3, 3, 0], pa.int8())

    for table, writer in (
        (plain, plain.writer()),
        (bulk, bulk.bulk_writer(buffer_bytes=buffer_bytes)),
    ):
        for start in range(rows.num_rows):
            writer.write(rows.slice(start, 1), kinds=kinds.slice(start, 1))
        result = writer.prepare_commit()
        table.committer().commit(result.messages, commit_user="u")
    plain.compact(full=True)

    assert rows_of(bulk) == rows_of(plain)
    assert [file.delete_row_count for file in files_of(result)] == [0]
    assert result.rows_accepted == len(rows_of(bulk))
    assert result.rows_accepted + result.rows_folded == 5


def test_a_bucket_of_retracts_alone_has_no_file() -> None:
    table = given_table({})
    writer = table.bulk_writer()
    writer.write(pa.table({"id": [1]}), kinds=pa.array([3], pa.int8()))

    result = writer.prepare_commit()

    assert (result.messages, result.rows_accepted, result.rows_folded) == ((), 0, 1)


def test_young_retracts_stay_where_the_table_keeps_them() -> None:
    table = given_table(
        {"braid.delete-retention": "1 h", "braid.delete-retention.time-fields": "at"}
    )
    writer = table.bulk_writer()
    writer.write(pa.table({"id": [1]}), kinds=pa.array([3], pa.int8()))

    result = writer.prepare_commit()

    assert [file.delete_row_count for file in files_of(result)] == [1]


def test_what_a_thread_raises_is_raised_and_nothing_stays_behind() -> None:
    """A retract that the table refuses is found when rows are sorted, beside the caller."""
    file_io = MemoryFileIO()
    table = given_table({"merge-engine": "partial-update"}, file_io=file_io)
    writer = table.bulk_writer(buffer_bytes=1_000)
    rows = pa.table({"id": [*range(50), *range(50)]})

    with pytest.raises(SchemaMismatch):  # noqa: PT012 - any later call
        writer.write(rows, kinds=pa.array([0] * 50 + [3] * 50, pa.int8()))
        writer.prepare_commit()
    writer.abort()

    assert not data_files(file_io)
    assert fill(table, writer, [rows])["accepted"] == 50


def test_rows_that_are_committed_later_merge_with_the_run() -> None:
    table = given_table(OPTIONS["partial-update"])
    fill(
        table,
        table.bulk_writer(),
        [pa.table({"id": [1, 2], "name": ["old"] * 2, "g": int32(5, 5)})],
    )

    table.write_and_commit(pa.table({"id": [1, 2], "name": ["new"] * 2, "g": int32(6, 4)}))

    assert [(row["id"], row["name"]) for row in rows_of(table)] == [(1, "new"), (2, "old")]


def test_a_run_that_came_meanwhile_is_a_conflict_and_nothing_stays_behind() -> None:
    file_io = MemoryFileIO()
    table = given_table({}, file_io=file_io)
    writer = table.bulk_writer()
    writer.write(pa.table({"id": [1]}))
    fill(table, table.bulk_writer(), [pa.table({"id": [1]})])
    result = writer.prepare_commit()

    with pytest.raises(CommitConflict):
        table.committer().commit(result.messages, commit_user="late")
    table.delete_uncommitted(result.messages)

    assert len(data_files(file_io)) == 1


def test_an_aborted_writer_leaves_no_file() -> None:
    file_io = MemoryFileIO()
    table = given_table({}, file_io=file_io)
    writer = table.bulk_writer(buffer_bytes=1)
    writer.write(pa.table({"id": [1, 2, 3]}))

    writer.abort()

    assert not data_files(file_io)
    assert writer.prepare_commit().messages == ()


@pytest.mark.parametrize(
    "options",
    [
        {"bucket": "-1"},
        {"changelog-producer": "input"},
        {"rowkind.field": "name"},
    ],
)
def test_tables_that_need_files_of_level_0_are_refused(options: Mapping[str, str]) -> None:
    table = given_table(options)

    with pytest.raises(UnsupportedFeature) as caught:
        table.bulk_writer()

    assert caught.value.problems[0].field == next(iter(options))


def given_table(options: Mapping[str, str], *, file_io: MemoryFileIO | None = None) -> Table:
    return Catalog("/w", file_io=file_io or MemoryFileIO(), clock=ManualClock()).create_table(
        "db.t", columns=COLUMNS, primary_key=["id"], options={"bucket": "2", **options}
    )


def files_of(result: WriteResult) -> list[DataFileMeta]:
    return [file for message in result.messages for file in message.new_files]


def data_files(file_io: MemoryFileIO) -> list[str]:
    folders = [f"/w/db.db/t/bucket-{number}" for number in range(2)]
    return [file.name for folder in folders for file in file_io.list(folder)]


def given_rows(chance: random.Random, count: int) -> pa.Table:
    return pa.table(
        {
            "id": [chance.randrange(100) for _ in range(count)],
            "name": [chance.choice(["a", "b", None]) for _ in range(count)],
            "n": int32(*(chance.randrange(10) for _ in range(count))),
            "g": int32(*(chance.choice([None, 1, 2, 3]) for _ in range(count))),
        }
    )


def int32(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def fill(table: Table, writer: TableWriter, batches: list[pa.Table]) -> dict[str, Any]:
    for batch in batches:
        writer.write(batch)
    result = writer.prepare_commit()
    table.committer().commit(
        result.messages,
        commit_user="filler",
        next_sequence_number=(result.max_sequence_number or 0) + 1,
    )
    return {
        "accepted": result.rows_accepted,
        "folded": result.rows_folded,
        "levels": {file.level for message in result.messages for file in message.new_files},
    }


def rows_of(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
