"""`Table.compact(full=False)`: due compactions, and small new files merged among themselves."""

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa
import pytest

from braid.lake import Catalog, CommitKind, CompactionResult, ManualClock, MemoryFileIO
from braid.lake.format.data_file import FileSource
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from tests.given_tables import given_kinds
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.lake.maintenance.given_compactions import (
    files,
    given_table,
    levels,
    read,
    reopened,
    rows,
    write,
)

Values: TypeAlias = tuple[object, object]
TRIGGER = {"num-sorted-run.compaction-trigger": "1", "num-levels": "2"}
PARTIAL = {"merge-engine": "partial-update"}


def given_large_table(options: dict[str, str] | None = None) -> MemoryFileIO:
    """Return storage with a table of one large file on the highest level and two small new ones."""
    file_io = MemoryFileIO()
    table = given_table({**TRIGGER, **(options or {})}, file_io=file_io)
    numbers = random.Random(3)
    write(table, *((k, k, numbers.randbytes(40).hex()) for k in range(20_000)))
    table.compact()
    write(table, (1, -1), (2, -2))
    write(table, (2, -3), (3, -4))
    return file_io


def test_few_runs_are_left_alone() -> None:
    table = given_table()
    for number in range(4):
        write(table, (number, 0))

    assert table.compact(full=False) == CompactionResult()
    assert levels(table) == [0, 0, 0, 0]


def test_as_many_runs_as_the_trigger_are_compacted() -> None:
    table = given_table()
    for number in range(5):
        write(table, (number, 0))

    assert table.compact(full=False).files_in == 5
    assert levels(table) == [5]


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Shanghai"])
def _zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone of this machine."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_zone")
def test_the_interval_of_full_compactions_is_the_same_in_every_zone() -> None:
    """Creation times of files are local wall times."""
    clock = ManualClock()
    table = Catalog("/wh", file_io=MemoryFileIO(), clock=clock).create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT"), ("w", "STRING")],
        primary_key=["p", "k"],
        options={"bucket": "1", "compaction.optimization-interval": "1 h"},
    )
    write(table, (1, 1))
    table.compact()
    write(table, (1, 2))

    clock.advance(ms=3_600_000)
    assert table.compact(full=False).files_in == 0
    clock.advance(ms=1)
    assert table.compact(full=False).files_in == 2


@pytest.mark.parametrize("options", [{}, PARTIAL])
def test_small_new_files_are_merged_among_themselves(options: dict[str, str]) -> None:
    table = reopened(given_large_table(options))
    before = read(table)

    result = table.compact(full=False)

    assert (result.files_in, result.files_out, result.rows_in, result.rows_out) == (2, 1, 4, 3)
    assert levels(table) == [0, 1]
    assert read(table) == before
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.commit_kind is CommitKind.COMPACT
    (merged,) = [file for file in files(table) if file.level == 0]
    assert merged.file_source is FileSource.COMPACT
    assert (merged.min_sequence_number, merged.max_sequence_number) == (20_000, 20_003)


def test_a_merged_file_waits_for_more() -> None:
    table = reopened(given_large_table())
    table.compact(full=False)

    assert table.compact(full=False) == CompactionResult()
    write(table, (7, 7))
    assert table.compact(full=False).files_in == 2
    assert levels(table) == [0, 1]


def test_deletes_are_kept_for_the_rows_below() -> None:
    table = reopened(given_large_table())
    write(table, (1,), kinds="-D")

    table.compact(full=False)

    assert levels(table) == [0, 1]
    (merged,) = [file for file in files(table) if file.level == 0]
    assert merged.delete_row_count == 1
    assert 1 not in [row[1] for row in read(table)]


@pytest.mark.parametrize("options", [{"force-lookup": "true"}, {"merge-engine": "first-row"}])
def test_new_files_of_tables_that_need_lookup_go_up(options: dict[str, str]) -> None:
    table = reopened(given_large_table(options))

    table.compact(full=False)

    assert 0 not in levels(table)


def test_appends_that_land_meanwhile_stay_beside_a_merge() -> None:
    inner = given_large_table()
    file_io = FaultyFileIO(inner)
    acted: list[str] = []

    def intervene(_: int, method: str, path: str) -> None:
        if method == "create_exclusive" and not acted:
            acted.append(path)
            write(reopened(inner), (2, 99), (4, 99))

    file_io.before = intervene
    result = reopened(file_io).compact(full=False)

    table = reopened(inner)
    assert acted
    assert (result.files_in, result.dropped) == (2, ())
    assert levels(table) == [0, 0, 1]
    assert [row[2] for row in read(table) if row[1] in (1, 2, 3, 4)] == [-1, 99, -4, 99]


@pytest.mark.parametrize("trigger", ["1", "3"])
@pytest.mark.parametrize(
    ("options", "with_deletes", "apply"),
    [
        ({}, True, lambda old, new: new),
        (PARTIAL, False, lambda old, new: new if new[0] is not None else (old[0], new[1])),
    ],
    ids=["deduplicate", "partial-update"],
)
def test_many_small_commits_read_as_they_were_written(
    trigger: str,
    options: dict[str, str],
    with_deletes: bool,
    apply: Callable[[Values, Values], Values],
) -> None:
    chance = random.Random(11)
    file_io = given_large_table({**options, "num-sorted-run.compaction-trigger": trigger})
    table = reopened(file_io)
    expected: dict[object, Values] = {row[1]: (row[2], row[3]) for row in read(table)}
    memory = CompactionMemory()
    merges = 0
    for number in range(30):
        keys = chance.sample(range(25_000), 5)
        values = [(key, chance.choice([None, number]), f"w{number}") for key in keys]
        deletes = [with_deletes and chance.random() < 0.3 for _ in keys]
        batch: pa.Table = rows(*values)
        table.write_and_commit(
            batch, kinds=given_kinds(" ".join("-D" if gone else "+I" for gone in deletes))
        )
        for (k, v, w), gone in zip(values, deletes, strict=True):
            if gone:
                expected.pop(k, None)
            else:
                expected[k] = apply(expected.get(k, (None, "")), (v, w))
        result = table.compact(full=False, memory=memory)
        merges += result.snapshot_id is not None and 0 in levels(table)

        assert len(levels(table)) <= int(trigger) + 1
    found = {row[1]: (row[2], row[3]) for row in read(table)}
    assert found == expected
    assert merges > 5
