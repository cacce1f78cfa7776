"""A rescale beside processes that write, compact, expire and rescale."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from braid.lake import (
    CommitConflict,
    CorruptData,
    InvalidRequest,
    MemoryFileIO,
    Table,
    UnsupportedFeature,
)
from braid.lake.format.snapshot import CommitKind
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.waiting import PATIENCE_S
from tests.unit.lake.maintenance.given_rescales import (
    given_table,
    named,
    names,
    newest,
    read,
    reopened,
    rows,
    stored,
    totals,
    write,
)

Act = Callable[[], object]


def rescale_while(inner: MemoryFileIO, *, at: Callable[[str, str], bool], act: Act) -> Table:
    """Rescale to 3 buckets; `act` runs before the first call that `at` chooses."""
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    acted: list[str] = []

    def interpose(number: int, method: str, path: str) -> None:
        del number
        if not acted and at(method, path):
            acted.append(path)
            act()

    file_io.before = interpose
    table.rescale(3)
    assert acted, "nothing came between"
    return reopened(inner)


def creates(what: str) -> Callable[[str, str], bool]:
    return lambda method, path: method == "create_exclusive" and f"/{what}/" in path


def writes_data(method: str, path: str) -> bool:
    return method == "open_output" and "/bucket-" in path


MOMENTS = {
    "while it rewrites": writes_data,
    "before the schema": creates("schema"),
    "before the commit": creates("snapshot"),
}


def given_storage(options: dict[str, str] | None = None) -> MemoryFileIO:
    inner = MemoryFileIO()
    table = given_table(inner, {"bucket": "2", **(options or {})})
    write(table, *((k, k) for k in range(30)))
    table.compact()
    write(table, *((k, -k) for k in range(10)))
    return inner


def raw_commit(inner: MemoryFileIO, *values: tuple[int, int], p: str = "x") -> Act:
    """Return the commit of rows that are written now, with the current bucket count."""
    table = reopened(inner)
    writer = table.writer()
    writer.write(rows(*values, p=p))
    messages = writer.prepare_commit().messages
    return lambda: table.committer().commit(messages, commit_user=f"user of {values}")


@pytest.mark.parametrize("moment", ["while it rewrites", "before the schema"])
def test_files_committed_meanwhile_are_rewritten_too(moment: str) -> None:
    inner = given_storage()
    commit = raw_commit(inner, (5, 500), (77, 7))

    table = rescale_while(inner, at=MOMENTS[moment], act=commit)

    found = {row[1]: row[2] for row in read(table)}
    assert (found[5], found[77], len(found)) == (500, 7, 31)
    assert totals(table) == {3}


def test_a_commit_planned_with_the_old_count_is_refused() -> None:
    inner = given_storage()
    commit = raw_commit(inner, (5, 500))

    def turned_back() -> None:
        with pytest.raises(CommitConflict):
            commit()

    table = rescale_while(inner, at=MOMENTS["before the commit"], act=turned_back)
    with pytest.raises(CommitConflict):
        commit()

    assert {row[1]: row[2] for row in read(table)}[5] == -5


@pytest.mark.parametrize("p", ["x", "y"], ids=["a partition of old", "a new partition"])
def test_a_commit_that_slips_in_behind_the_schema_is_taken_along(p: str) -> None:
    # It has read the schema before the count changed, and publishes afterwards.
    inner = MemoryFileIO()
    write(given_table(inner, {"bucket": "2"}, partition=["p"]), *((k, k) for k in range(30)))
    slow_io = FaultyFileIO(inner)
    slow = reopened(slow_io)
    writer = slow.writer()
    writer.write(rows((3, 333), p=p))
    messages = writer.prepare_commit().messages
    started, is_released = threading.Event(), threading.Event()

    def wait(number: int, method: str, path: str) -> None:
        del number
        if creates("snapshot")(method, path):
            slow_io.before = lambda *_: None
            started.set()
            assert is_released.wait(PATIENCE_S)

    slow_io.before = wait
    thread = threading.Thread(target=lambda: slow.committer().commit(messages, commit_user="slow"))
    thread.start()
    assert started.wait(PATIENCE_S)

    def let_go() -> None:
        is_released.set()
        thread.join()

    table = rescale_while(inner, at=creates("snapshot"), act=let_go)

    assert totals(table) == {3}
    assert (p, 3, 333) in read(table)
    assert len(read(table)) == (30 if p == "x" else 31)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}], ids=["", "vectors"])
def test_compactions_meanwhile_are_taken_along(moment: str, options: dict[str, str]) -> None:
    inner = given_storage(options)
    reopened(inner).compact(full=False)
    expected = None

    def compact() -> None:
        nonlocal expected
        other = reopened(inner)
        assert other.compact().snapshot_id
        other.expire(retain_min=1, retain_max=1, older_than_ms=1 << 50)
        expected = read(other)

    table = rescale_while(inner, at=MOMENTS[moment], act=compact)

    assert read(table) == expected
    assert totals(table) == {3}


def test_marks_that_come_meanwhile_are_kept() -> None:
    """The file of the marked row is the same as before, and so large that it is not merged."""
    inner = MemoryFileIO()
    table = given_table(inner, {"bucket": "2", "deletion-vectors.enabled": "true"})
    write(table, *((k, k * k * 7919 % 1_000_003) for k in range(2_000)))
    table.compact()
    write(table, (20, -20))

    def compact() -> None:
        other = reopened(inner)
        before = names_on_level(other, 5)
        assert other.compact(full=False).snapshot_id
        assert names_on_level(other, 5) == before

    table = rescale_while(inner, at=creates("snapshot"), act=compact)

    found = read(table)
    assert [row for row in found if row[1] == 20] == [("x", 20, -20)]
    assert len(found) == 2_000


def given_marked_row() -> MemoryFileIO:
    """Return storage with a table of 2 buckets, in one of which a row of a large file is marked."""
    inner = MemoryFileIO()
    table = given_table(inner, {"bucket": "2", "deletion-vectors.enabled": "true"})
    write(table, *((k, k * k * 7919 % 1_000_003) for k in range(2_000)))
    table.compact()
    write(table, (20, -20))
    assert table.compact(full=False).snapshot_id
    return inner


def reads_vectors(method: str, path: str) -> bool:
    return method == "read_bytes" and "/index/index-" in path


def test_vectors_that_expiry_removed_before_they_were_read_are_no_damage() -> None:
    inner = given_marked_row()

    def compact_and_expire() -> None:
        other = reopened(inner)
        other.compact()
        write(other, (30, -30))
        assert other.expire(retain_max=1, older_than_ms=2**62).snapshots
        assert not vector_files(other, inner)

    table = rescale_while(inner, at=reads_vectors, act=compact_and_expire)

    assert totals(table) == {3}
    assert len(read(table)) == 2_000


def test_live_vectors_that_are_absent_are_damage() -> None:
    inner = given_marked_row()
    (path,) = vector_files(reopened(inner), inner)
    inner.delete(path)

    with pytest.raises(CorruptData, match=path.rpartition("/")[2]):
        reopened(inner).rescale(3)


def vector_files(table: Table, inner: MemoryFileIO) -> list[str]:
    return [status.path for status in inner.list(f"{table.path}/index")]


def names_on_level(table: Table, level: int) -> set[str]:
    files = (entry.file for entry in table.live_files(newest(table)))
    return {file.file_name for file in files if file.level == level}


def test_a_batch_that_a_rescale_overtakes_is_written_again() -> None:
    inner = given_storage()
    file_io = FaultyFileIO(inner)
    writing = reopened(file_io)

    def overtake(number: int, method: str, path: str) -> None:
        del number
        if writes_data(method, path):
            file_io.before = lambda *_: None
            reopened(inner).rescale(5)

    file_io.before = overtake
    result = writing.write_and_commit(rows(*((k, 9) for k in range(12))))

    table = reopened(inner)
    assert result.snapshot_id == newest(table).id
    assert totals(table) == {5}
    assert [row[2] for row in read(table)] == [9] * 12 + list(range(12, 30))
    table.expire(retain_min=1, retain_max=1, older_than_ms=1 << 50)
    assert names(stored(inner)) == named(table)


def test_of_two_rescales_the_later_schema_wins() -> None:
    inner = given_storage()
    expected = read(reopened(inner))
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)

    def other(number: int, method: str, path: str) -> None:
        del number
        if creates("snapshot")(method, path):
            file_io.before = lambda *_: None
            reopened(inner).rescale(7)

    file_io.before = other
    with pytest.raises(CommitConflict):
        table.rescale(3)

    after = reopened(inner)
    assert (after.schema.table_options.bucket, totals(after)) == (7, {7})
    assert read(after) == expected
    after.expire(retain_min=1, retain_max=1, older_than_ms=1 << 50)
    assert names(stored(inner)) == named(after)


def test_an_empty_table_gets_the_count_and_a_second_time_nothing_is_done() -> None:
    inner = MemoryFileIO()
    table = given_table(inner, {"bucket": "2"})

    first = table.rescale(4)
    second = table.rescale(4)

    assert (first.files_in, first.schema_id, second.snapshot_id) == (0, 1, 0)
    assert newest(table).commit_kind is CommitKind.OVERWRITE
    write(table, *((k, k) for k in range(9)))
    assert totals(table) == {4}


@pytest.mark.parametrize("buckets", [0, True, "4", 1.0, None])
def test_a_wrong_bucket_count_is_refused(buckets: Any) -> None:
    table = given_table(MemoryFileIO(), {"bucket": "2"})

    with pytest.raises(InvalidRequest, match="buckets: expected a bucket count from 1"):
        table.rescale(buckets)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("2", -2, "this version does not support the postpone bucket"),
        ("2", -1, "the present and the new bucket count both have to be at least 1"),
        ("-1", 4, "the present and the new bucket count both have to be at least 1"),
    ],
)
def test_tables_without_a_fixed_count_are_refused(before: str, after: int, message: str) -> None:
    table = given_table(MemoryFileIO(), {"bucket": before})

    with pytest.raises(UnsupportedFeature, match=message):
        table.rescale(after)
    assert reopened(table.file_io).schema.id == 0
