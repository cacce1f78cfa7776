"""Buckets are committed as they are done, so an interrupted compaction has compacted some of them."""

import random

import pyarrow as pa
import pytest

from braid.lake import MemoryFileIO, SchemaMismatch, StorageUnavailable, Table
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment
from tests.unit.lake.maintenance.given_compactions import (
    given_table,
    live,
    read,
    reopened,
    stored_data_files,
    write,
)

PARTITIONS = ("a", "b", "c", "d")
LARGE = {"target-file-size": "1 kb"}
"""All the buckets below have more than that."""
PARTIAL = {"merge-engine": "partial-update", **LARGE}


def given_buckets(options: dict[str, str]) -> MemoryFileIO:
    """Return storage with a table of a bucket per partition, each with two files of all its keys."""
    file_io = MemoryFileIO()
    table = given_table(options, file_io=file_io, partition=["p"])
    numbers = random.Random(3)
    for number in range(2):
        for p in PARTITIONS:
            write(table, *((k, number, numbers.randbytes(20).hex()) for k in range(100)), p=p)
    return file_io


def compacted(table: Table) -> int:
    """Return the number of compacted buckets."""
    return len({(entry.partition, entry.bucket) for entry in live(table) if entry.file.level == 5})


@pytest.mark.parametrize(
    ("options", "snapshots", "expected"),
    [(LARGE, 4, [1, 2, 3, 4]), ({}, 1, [4]), ({"target-file-size": "12 kb"}, 2, [2, 4])],
    ids=["large", "small", "in between"],
)
def test_buckets_share_a_snapshot_as_long_as_little_is_rewritten(
    options: dict[str, str], snapshots: int, expected: list[int]
) -> None:
    inner = given_buckets(options)
    table = reopened(inner)
    before = read(table)

    result = table.compact()

    assert (result.buckets, result.snapshot_id) == (4, 8 + snapshots)
    assert (result.rows_in, result.rows_out) == (800, 400)
    done = [
        len({(e.partition, e.bucket) for e in table.live_files(snapshot) if e.file.level == 5})
        for snapshot in map(table.snapshot, range(9, 9 + snapshots))
    ]
    assert done == expected
    assert read(table) == before


def test_no_more_than_a_hundred_buckets_share_a_snapshot() -> None:
    table = given_table(partition=["p"])
    names = [f"p{number}" for number in range(201)]
    rows = {
        "p": pa.array(names, pa.string()),
        "k": pa.array(range(201), pa.int32()),
        "v": pa.array(range(201), pa.int32()),
        "w": pa.array(names, pa.string()),
    }
    table.write_and_commit(pa.table(rows))

    result = table.compact()

    assert (result.buckets, result.files_moved, result.snapshot_id) == (201, 201, 1 + 3)


@pytest.mark.parametrize("is_killed", [False, True], ids=["an error", "a killed process"])
def test_committed_buckets_stay_and_the_rest_is_compacted_next_time(is_killed: bool) -> None:
    inner = given_buckets(LARGE)
    before, stored = read(reopened(inner)), len(stored_data_files(inner))
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)

    def fail(number: int, method: str, path: str) -> None:
        if method == "open_output" and compacted(reopened(inner)) == 2:
            if is_killed:
                file_io.die_at(number + 1, Moment.BEFORE)
            else:
                message = "it fails on purpose"
                raise StorageUnavailable(message)

    file_io.before = fail
    with pytest.raises(Died if is_killed else StorageUnavailable):
        table.compact()

    again = reopened(inner)
    assert compacted(again) == 2
    assert read(again) == before
    if not is_killed:
        new = len(stored_data_files(inner)) - stored
        assert new == sum(entry.file.level == 5 for entry in live(again))
    assert again.compact().buckets == 2
    assert compacted(again) == 4
    assert read(again) == before


def test_a_bucket_that_cannot_be_merged_leaves_those_before_it_compacted() -> None:
    inner = given_buckets(PARTIAL)
    table = reopened(inner)
    *_, last = list(dict.fromkeys(entry.partition for entry in live(table)))
    (p,) = {p for p in PARTITIONS if p.encode() in last}
    write(table, (1,), kinds="-D", p=p)

    with pytest.raises(SchemaMismatch):
        table.compact()

    assert compacted(table) == 3
