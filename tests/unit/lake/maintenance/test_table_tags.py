"""A tag keeps its files as long as it exists, and not longer."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from braid.lake import CorruptData, InvalidRequest, ManualClock, MemoryFileIO, ReadAt, Table
from braid.lake.snapshots.tag_store import TagStore
from tests.support.fault_sweep import moments
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import copied, missing_files, stored_files
from tests.unit.lake.maintenance.given_compactions import PATH, read
from tests.unit.lake.maintenance.given_histories import (
    LATE_MS,
    assert_cleaned_exact,
    assert_exact,
    expire_all_but,
    given_history,
    late,
    sweep,
)


def given_tagged(*numbers: int) -> MemoryFileIO:
    """Return a table of which only snapshot 5 and these tagged ones are left."""
    file_io = MemoryFileIO()
    table = given_history(file_io)
    for number in numbers:
        table.create_tag(f"t{number}", snapshot_id=number)
    expire_all_but(table, 1)
    assert_exact(file_io)
    return file_io


def given_branch(file_io: MemoryFileIO, tag: str) -> None:
    """Create a branch of a tag as the format's own engine does: by copying."""
    paths = late(file_io).paths
    branch = replace(paths, branch="b")
    snapshot = TagStore(file_io, paths).get(tag).snapshot
    data = file_io.read_bytes(paths.tag(tag))
    file_io.write_new(branch.snapshot(snapshot.id), data)
    file_io.write_new(branch.tag(tag), data)
    file_io.write_new(branch.schema(0), file_io.read_bytes(paths.schema(0)))


def tag_names(file_io: MemoryFileIO) -> list[str]:
    return [tag.name for tag in late(file_io).tags()]


def test_a_tag_is_read_when_its_snapshot_has_expired() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    before = read(table, 2)

    tag = table.create_tag("two", snapshot_id=2)
    expire_all_but(table, 1)

    assert (tag.snapshot.id, tag.created, tag.retained_ms) == (2, None, None)
    rows = late(file_io).scan(at=ReadAt(tag="two")).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == before


def test_the_newest_snapshot_is_tagged_by_default() -> None:
    table = given_history(MemoryFileIO())

    assert table.create_tag("now").snapshot == table.latest_snapshot()


def test_a_name_is_taken_once() -> None:
    table = given_history(MemoryFileIO())
    table.create_tag("a", snapshot_id=1)

    with pytest.raises(InvalidRequest, match="exists already"):
        table.create_tag("a", snapshot_id=2)
    assert [(tag.name, tag.snapshot.id) for tag in table.tags()] == [("a", 1)]


def test_a_snapshot_that_cannot_be_tagged_is_refused() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)

    with pytest.raises(InvalidRequest, match="no snapshot 9"):
        table.create_tag("a", snapshot_id=9)
    with pytest.raises(InvalidRequest, match="above 0"):
        table.create_tag("a", retained_ms=0)
    with pytest.raises(InvalidRequest, match="without `/`"):
        table.create_tag("a/b")
    assert table.tags() == []


def test_a_snapshot_and_a_tag_are_not_read_at_once() -> None:
    table = given_history(MemoryFileIO())
    table.create_tag("a")

    with pytest.raises(InvalidRequest, match="tag"):
        table.scan(at=ReadAt(snapshot_id=1, tag="a"))
    with pytest.raises(InvalidRequest, match="expected one of a"):
        table.scan(at=ReadAt(tag="b"))


def test_deleting_a_tag_of_an_existing_snapshot_deletes_no_file() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("two", snapshot_id=2)
    before = stored_files(file_io, PATH)

    done = table.delete_tag("two")

    assert (done.name, done.deleted_files, done.left_over) == ("two", 0, None)
    assert stored_files(file_io, PATH) == before - {"tag/tag-two"}


def tagged_by_another_engine(file_io: MemoryFileIO, name: str) -> None:
    """Write a tag again without the keys that the format's own engine does not have."""
    path = late(file_io).paths.tag(name)
    document = json.loads(file_io.read_bytes(path))
    del document["uuid"]
    file_io.overwrite(path, json.dumps(document).encode())


def test_a_tag_that_another_engine_made_of_our_snapshot_takes_no_file() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("two", snapshot_id=2)
    tagged_by_another_engine(file_io, "two")
    before = stored_files(file_io, PATH)

    assert late(file_io).delete_tag("two").deleted_files == 0

    assert stored_files(file_io, PATH) == before - {"tag/tag-two"}


def test_a_tag_that_another_engine_made_of_our_snapshot_is_rolled_back_to() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("two", snapshot_id=2)
    expected = read(table, 2)
    tagged_by_another_engine(file_io, "two")

    late(file_io).rollback(tag="two")

    assert read(late(file_io)) == expected


@pytest.mark.parametrize("order", [["t1", "t3", "t2"], ["t3", "t1", "t2"], ["t2", "t3", "t1"]])
def test_deleting_tags_deletes_the_files_that_only_they_need(order: list[str]) -> None:
    file_io = given_tagged(1, 2, 3)
    rows = {name: late(file_io).scan(at=ReadAt(tag=name)).to_arrow() for name in order}

    for at, name in enumerate(order):
        late(file_io).delete_tag(name)

        assert_exact(file_io)
        for left in order[at + 1 :]:
            assert late(file_io).scan(at=ReadAt(tag=left)).to_arrow() == rows[left]
    assert len(read(late(file_io))) == 4


def test_two_tags_of_one_snapshot_keep_it_together() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("a", snapshot_id=2)
    table.create_tag("b", snapshot_id=2)
    expire_all_but(table, 1)

    assert table.delete_tag("a").deleted_files == 0
    assert late(file_io).scan(at=ReadAt(tag="b")).count() == 2
    assert table.delete_tag("b").deleted_files > 0
    assert_exact(file_io)


def test_a_branch_keeps_the_files_of_the_tag_that_it_was_made_of() -> None:
    file_io = given_tagged(2)
    given_branch(file_io, "t2")

    assert late(file_io).delete_tag("t2").deleted_files == 0

    branch = late(file_io).branch("b")
    assert branch.scan().count() == 2
    assert branch.scan(at=ReadAt(tag="t2")).count() == 2
    assert late(file_io).branches() == ["b"]
    assert late(file_io).clean_orphans(min_age_ms=0).files == ()


def test_a_tag_whose_files_are_unknown_is_deleted() -> None:
    file_io = given_tagged(2)
    paths = late(file_io).paths
    file_io.delete(paths.manifest(TagStore(file_io, paths).get("t2").snapshot.base_manifest_list))

    done = late(file_io).delete_tag("t2")

    assert done.left_over is not None
    assert "is absent" in done.left_over
    assert_cleaned_exact(file_io)


def test_deleting_a_tag_of_removed_history_deletes_no_file_of_the_chain() -> None:
    """As after a rollback that died between deleting the snapshots and the tags above its target."""
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("five", snapshot_id=5)
    for number in (4, 5):
        file_io.delete(table.paths.snapshot(number))
    file_io.delete(table.paths.latest_hint)

    done = late(file_io).delete_tag("five")

    assert done.deleted_files > 0
    assert missing_files(file_io, late(file_io)) == set()
    assert len(read(late(file_io))) == 3


def test_tags_expire_when_their_time_is_over() -> None:
    file_io = MemoryFileIO()
    given_history(file_io, **{"tag.default-time-retained": "1 h"})
    clock = ManualClock(start_ms=LATE_MS)
    table = Table.open(PATH, file_io=file_io, clock=clock)
    table.create_tag("default", snapshot_id=1)
    table.create_tag("day", snapshot_id=2, retained_ms=86_400_000)
    assert [tag.retained_ms for tag in table.tags()] == [3_600_000, 86_400_000]

    clock.advance(ms=3_600_000)
    assert table.expire_tags() == []
    clock.advance(ms=1)
    expired = table.expire_tags()

    assert [done.name for done in expired] == ["default"]
    assert [tag.name for tag in table.tags()] == ["day"]


def test_an_expiry_while_a_snapshot_is_tagged_spares_it() -> None:
    inner = MemoryFileIO()
    given_history(inner)
    file_io = FaultyFileIO(inner)
    table = late(file_io)

    def expire(number: int, method: str, path: str) -> None:
        del number
        if method == "create_exclusive" and "/tag-" in path:
            expire_all_but(late(inner), 1)

    file_io.before = expire
    table.create_tag("two", snapshot_id=2)

    assert tag_names(inner) == ["two"]
    assert late(inner).scan(at=ReadAt(tag="two")).count()
    expire_all_but(late(inner), 1)
    assert_exact(inner)


def test_a_snapshot_that_another_engine_removes_while_it_is_tagged_is_not_tagged() -> None:
    inner = MemoryFileIO()
    given_history(inner)
    file_io = FaultyFileIO(inner)
    table = late(file_io)

    def remove(number: int, method: str, path: str) -> None:
        del number
        if method == "create_exclusive" and "/tag-" in path:
            for snapshot_id in (1, 2):
                inner.delete(table.paths.snapshot(snapshot_id))

    file_io.before = remove
    with pytest.raises(InvalidRequest, match="expired meanwhile"):
        table.create_tag("two", snapshot_id=2)

    assert tag_names(inner) == []
    assert late(inner).consumers() == []


@pytest.mark.sweep
@pytest.mark.slow
def test_a_tag_that_is_made_at_any_moment_of_an_expiry_is_whole_or_refused() -> None:
    given = MemoryFileIO()
    given_history(given)
    made = refused = 0
    for at in moments(sweep(given, lambda table: expire_all_but(table, 1)).calls):
        inner = copied(given)
        file_io = FaultyFileIO(inner)
        expiring = late(file_io)
        start = len(file_io.calls) + at
        is_made = False

        def tag(number: int, *_: str, start: int = start, inner: MemoryFileIO = inner) -> None:
            nonlocal is_made, refused
            if number == start:
                try:
                    late(inner).create_tag("two", snapshot_id=2)
                    is_made = True
                except InvalidRequest:
                    refused += 1

        file_io.before = tag
        expire_all_but(expiring, 1)

        assert tag_names(inner) == ["two"] * is_made
        assert_exact(inner)
        made += is_made
    assert made > 0
    assert refused > 0


@pytest.mark.sweep
def test_a_check_that_fails_leaves_no_tag() -> None:
    given = MemoryFileIO()
    given_history(given)
    made: list[object] = []

    def act(table: Table) -> None:
        made.clear()
        made.append(table.create_tag("two", snapshot_id=2))

    for end in sweep(given, act).failures(is_done=False, is_lasting=False):
        # After the creation only the lease is released, which may fail.
        assert tag_names(end.file_io) == ["two"] * len(made), end.fault


def delete(table: Table) -> object:
    return table.delete_tag("t3")


def expire_tags(table: Table) -> object:
    return table.expire_tags()


GOING = pytest.mark.parametrize("act", [delete, expire_tags])


def given_going() -> MemoryFileIO:
    """Return a table whose tag t2 stays, and whose tag t3 may expire."""
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("t2", snapshot_id=2)
    clock = ManualClock(start_ms=LATE_MS - 10_000)
    earlier = Table.open(PATH, file_io=file_io, clock=clock)
    earlier.create_tag("t3", snapshot_id=3, retained_ms=5_000)
    expire_all_but(table, 1)
    return file_io


@pytest.mark.sweep
@pytest.mark.slow
@GOING
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_while_a_tag_goes(
    act: Callable[[Table], object], is_done: bool, is_lasting: bool
) -> None:
    faults = sweep(given_going(), act)
    for end in faults.failures(is_done=is_done, is_lasting=is_lasting):
        assert missing_files(end.file_io, late(end.file_io)) == set()
        assert_cleaned_exact(end.file_io)
        assert late(end.file_io).scan(at=ReadAt(tag="t2")).count() == 2


@pytest.mark.sweep
@pytest.mark.slow
@GOING
def test_a_death_while_a_tag_is_deleted_loses_no_file_that_is_needed(
    act: Callable[[Table], object],
) -> None:
    faults = sweep(given_going(), act)
    assert tag_names(faults.done) == ["t2"]
    for end in faults.deaths():
        assert missing_files(end.file_io, late(end.file_io)) == set()
        assert_cleaned_exact(end.file_io)
        assert late(end.file_io).scan(at=ReadAt(tag="t2")).count() == 2


def test_a_tag_that_cannot_be_read_stops_expiry_of_tags() -> None:
    file_io = given_tagged(2)
    file_io.write_new(late(file_io).paths.tag("torn"), b"{")

    with pytest.raises(CorruptData, match="tag-torn"):
        late(file_io).expire_tags()


def test_a_tag_that_cannot_be_read_is_listed_with_its_error_and_can_be_deleted() -> None:
    file_io = given_tagged(2)
    path = late(file_io).paths.tag("torn")
    file_io.write_new(path, b"{")

    *others, torn = late(file_io).inspect.tags().to_pylist()
    done = late(file_io).delete_tag("torn")

    assert [(row["tag"], row["error"]) for row in others] == [("t2", None)]
    assert (torn["tag"], torn["snapshot_id"]) == ("torn", None)
    assert torn["error"]
    assert path not in torn["error"]
    assert (done.name, done.tag, done.deleted_files) == ("torn", None, 0)
    assert done.left_over is not None
    assert tag_names(file_io) == ["t2"]
    assert late(file_io).expire_tags() == []
