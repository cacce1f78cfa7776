"""A rollback takes effect in one moment, and no later commit comes back."""

import itertools
from dataclasses import replace

import pytest

from braid.lake import (
    ChangesExpired,
    CommitConflict,
    CorruptData,
    InvalidRequest,
    MemoryFileIO,
    OffsetMismatch,
    ReadAt,
    StorageUnavailable,
    StreamFenced,
    Table,
    UnsupportedFeature,
)
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.maintenance.rollback import plan_rollback
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.lease import LeaseLost
from braid.lake.snapshots.snapshot_store import SnapshotStore
from braid.lake.snapshots.tag_store import TagStore
from tests.support.committing import stream_batch
from tests.support.fault_sweep import moments
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.foreign_engine import commit_foreign
from tests.support.table_files import copied
from tests.unit.lake.maintenance.given_compactions import given_table, read, rows, write
from tests.unit.lake.maintenance.given_histories import (
    assert_cleaned_exact,
    expire_all_but,
    given_history,
    late,
    sweep,
)
from tests.unit.lake.snapshots.test_snapshot_store import SNAPSHOT
from tests.unit.lake.snapshots.test_tag_store import given_tag


def keys(table: Table, at: int | ReadAt | None = None) -> list[object]:
    scan = table.scan(columns=["k"], at=at)
    return sorted(scan.to_arrow()["k"].to_pylist())


def ids(file_io: MemoryFileIO, table: Table) -> list[int]:
    return SnapshotStore(file_io, table.paths).list_ids()


def assert_hint_sound(file_io: MemoryFileIO) -> None:
    """Check that `LATEST` is absent or names a snapshot: other engines fail with any other."""
    snapshots = SnapshotStore(file_io, late(file_io).paths)
    hint = snapshots.read_hint(late(file_io).paths.latest_hint)
    assert hint is None or snapshots.exists(hint)


def claim(table: Table, stream: str = "s") -> StreamPosition:
    return table.committer().claim_stream(stream, topic="t", topic_id="", initial_offsets={0: 10})


def consume(table: Table, start: int, end: int, *, epoch: int, stream: str = "s") -> None:
    """Commit the offsets [start, end) of a stream, and a row of the key `end`."""
    writer = table.writer()
    writer.write(rows((end, end)))
    result = writer.prepare_commit()
    batch = stream_batch(
        {0: start}, {0: end}, epoch=epoch, batch_id=end, stream=stream, topic="t", topic_id=""
    )
    table.committer().commit_stream_batch(result.messages, batch)


def test_snapshots_above_the_target_are_removed() -> None:
    tags = [given_tag("below", 2), given_tag("at", 3), given_tag("above", 4)]
    target = replace(SNAPSHOT, id=3)

    plan = plan_rollback(target, [5, 2, 4, 3], tags=tags, changelog_ids=[1, 4])

    assert (plan.snapshots, plan.tags, plan.changelogs) == ((4, 5), ("above",), (4,))
    assert not plan.is_restored
    assert plan_rollback(target, [4, 5]).is_restored


def test_the_table_is_as_it_was_at_the_snapshot() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    for number in (1, 2, 4):
        table.create_tag(f"t{number}", snapshot_id=number)

    result = table.rollback(snapshot_id=2)

    assert (result.target_id, result.snapshot_id) == (2, 2)
    assert (result.removed_snapshots, result.removed_tags) == ((3, 4, 5), ("t4",))
    assert keys(table) == keys(late(file_io)) == [1, 2]
    assert ids(file_io, table) == [1, 2]
    assert [tag.name for tag in table.tags()] == ["t1", "t2"]
    assert file_io.read_bytes(table.paths.latest_hint) == b"2"
    with pytest.raises(InvalidRequest, match="snapshots 1 to 2 are kept"):
        table.scan(at=3)


def test_the_table_continues_from_the_target() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.rollback(snapshot_id=2)

    assert write(table, (9, 9)) == 3
    table.compact()

    assert keys(table) == [1, 2, 9]
    assert keys(table, 2) == [1, 2]
    assert_cleaned_exact(file_io)
    assert keys(late(file_io)) == [1, 2, 9]


def test_files_of_removed_snapshots_are_left_to_orphan_cleaning() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    reading = table.scan(at=5)

    table.rollback(snapshot_id=1)

    assert len(reading.to_arrow()) == 4
    assert_cleaned_exact(file_io)
    assert keys(late(file_io)) == [1]


def test_a_tag_brings_a_snapshot_back_that_has_expired() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("two", snapshot_id=2)
    table.create_tag("four", snapshot_id=4)
    expire_all_but(table, 1)

    result = table.rollback(tag="two")

    assert (result.removed_snapshots, result.removed_tags) == ((5,), ("four",))
    assert ids(file_io, table) == [2]
    assert file_io.read_bytes(table.paths.earliest_hint) == b"2"
    assert keys(late(file_io)) == [1, 2]
    write(table, (7, 7))
    assert keys(late(file_io)) == [1, 2, 7]
    assert_cleaned_exact(file_io)


def test_kept_changelogs_above_the_target_go() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io, **{"changelog.time-retained": "2 d"})
    table.create_tag("two", snapshot_id=2)
    expire_all_but(table, 1)
    store = ChangelogStore(file_io, table.paths)
    assert store.list_ids() == [1, 2, 3, 4]

    table.rollback(tag="two")

    assert store.list_ids() == [1, 2]
    assert file_io.read_bytes(table.paths.latest_changelog_hint) == b"2"


def test_the_newest_snapshot_is_a_target_too() -> None:
    table = given_history(MemoryFileIO())

    result = table.rollback(snapshot_id=5)

    assert (result.removed_snapshots, result.snapshot_id) == ((), 5)


@pytest.mark.parametrize(
    ("snapshot_id", "tag", "message"),
    [
        (None, None, "either a snapshot or a tag"),
        (1, "t", "either a snapshot or a tag"),
        (9, None, "no snapshot 9"),
        (None, "x", "no such tag"),
    ],
)
def test_a_target_that_is_none_is_refused(
    snapshot_id: int | None, tag: str | None, message: str
) -> None:
    table = given_history(MemoryFileIO())

    with pytest.raises(InvalidRequest, match=message):
        table.rollback(snapshot_id=snapshot_id, tag=tag)
    assert keys(table) == [1, 2, 3, 5]


def test_streams_continue_at_the_offsets_of_the_target() -> None:
    file_io = MemoryFileIO()
    given_table(file_io=file_io)
    table = late(file_io)
    owner = claim(table)
    consume(table, 10, 20, epoch=owner.epoch)
    claim(table)
    consume(table, 20, 30, epoch=owner.epoch + 1)
    target = 2

    result = table.rollback(snapshot_id=target)

    position = table.committer().stream_positions()["s"]
    assert position.offsets == {0: 20}
    assert result.epochs == {"s": position.epoch}
    assert result.snapshot_id == target + 1
    assert keys(table) == [20]
    with pytest.raises(StreamFenced):
        consume(table, 20, 30, epoch=owner.epoch)
    with pytest.raises(StreamFenced):
        consume(table, 30, 40, epoch=owner.epoch + 1)
    again = claim(table)
    assert again.epoch == position.epoch + 1
    consume(table, 20, 30, epoch=again.epoch)
    assert keys(table) == [20, 30]


def test_a_stream_first_claimed_after_the_target_starts_again() -> None:
    file_io = MemoryFileIO()
    given_table(file_io=file_io)
    table = late(file_io)
    write(table, (1, 1))
    epoch = claim(table).epoch
    consume(table, 10, 20, epoch=epoch)

    result = table.rollback(snapshot_id=1)

    assert result.epochs == {}
    with pytest.raises(OffsetMismatch):
        consume(table, 20, 30, epoch=epoch)
    assert claim(table).offsets == {0: 10}


def test_a_target_without_positions_of_the_streams_is_refused() -> None:
    file_io = MemoryFileIO()
    given_table(file_io=file_io)
    table = late(file_io)
    claim(table)
    commit_foreign(file_io, table.paths)
    claim(table)
    file_io.delete(table.paths.snapshot(1))

    with pytest.raises(InvalidRequest, match="no positions of these streams: s"):
        table.rollback(snapshot_id=2)
    assert ids(file_io, table) == [2, 3]


@pytest.mark.sweep
@pytest.mark.slow
def test_a_batch_that_comes_at_any_moment_is_rolled_back_or_fenced() -> None:
    """Before any one storage call of the rollback a stream commits that was not stopped."""
    given = MemoryFileIO()
    given_table(file_io=given)
    epoch = claim(late(given)).epoch
    consume(late(given), 10, 20, epoch=epoch)
    consume(late(given), 20, 30, epoch=epoch)
    fenced = 0
    for at in moments(sweep(given, lambda table: table.rollback(snapshot_id=2)).calls):
        inner = copied(given)
        file_io = FaultyFileIO(inner)
        table = late(file_io)
        stream = late(inner)
        start = len(file_io.calls) + at

        def run_stream(number: int, *_: str, start: int = start, stream: Table = stream) -> None:
            nonlocal fenced
            if number == start:
                try:
                    consume(stream, 30, 31, epoch=epoch)
                except (StreamFenced, OffsetMismatch):
                    fenced += 1

        file_io.before = run_stream
        table.rollback(snapshot_id=2)

        assert keys(late(inner)) == [20]
        assert late(inner).committer().stream_positions()["s"].offsets == {0: 20}
    assert fenced > 0


def test_no_batch_is_taken_in_any_more_when_the_first_snapshot_goes() -> None:
    inner = MemoryFileIO()
    given_table(file_io=inner)
    epoch = claim(late(inner)).epoch
    consume(late(inner), 10, 20, epoch=epoch)
    consume(late(inner), 20, 30, epoch=epoch)
    file_io = FaultyFileIO(inner)
    table = late(file_io)
    stream = late(inner)
    is_refused = False

    def run_stream(number: int, method: str, path: str) -> None:
        nonlocal is_refused
        del number
        if method == "delete" and "/snapshot-" in path and not is_refused:
            with pytest.raises(StreamFenced):
                consume(stream, 30, 31, epoch=epoch)
            is_refused = True

    file_io.before = run_stream
    table.rollback(snapshot_id=2)

    assert is_refused


def test_a_commit_that_was_planned_before_comes_after() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    other = late(file_io)
    writer = other.writer()
    writer.write(rows((9, 9)))
    messages = writer.prepare_commit().messages
    committer = other.committer()
    is_over = False

    def roll_back(step: str) -> None:
        nonlocal is_over
        if step == "before create-snapshot" and not is_over:
            is_over = True
            table.rollback(snapshot_id=2)

    committer._on_step = roll_back
    result = committer.commit(messages, commit_user="u")

    assert result.snapshot_id == 3
    assert keys(late(file_io)) == [1, 2, 9]
    assert ids(file_io, table) == [1, 2, 3]


def test_readers_see_the_one_or_the_other() -> None:
    inner = MemoryFileIO()
    table = given_history(inner)
    table.create_tag("two", snapshot_id=2)
    before = keys(table)
    file_io = FaultyFileIO(inner)
    rolling = late(file_io)
    seen: list[list[object]] = []

    def look(*_: object) -> None:
        assert_hint_sound(inner)
        seen.append(keys(late(inner)))

    file_io.before = look
    rolling.rollback(snapshot_id=2)

    switch = seen.index([1, 2])
    assert seen[:switch] == [before] * switch
    assert seen[switch:] == [[1, 2]] * (len(seen) - switch)


def test_a_writer_that_keeps_committing_ends_the_rollback_with_a_conflict() -> None:
    inner = MemoryFileIO()
    given_history(inner)
    file_io = FaultyFileIO(inner)
    table = late(file_io)
    other = late(inner)

    def commit(number: int, method: str, path: str) -> None:
        del number
        if method == "delete" and "/snapshot-" in path:
            write(other, (100, 1))

    file_io.before = commit
    with pytest.raises(CommitConflict, match="keeps committing"):
        table.rollback(snapshot_id=2)


def test_a_branch_is_not_rolled_back() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    paths = replace(table.paths, branch="b")
    file_io.write_new(paths.schema(0), file_io.read_bytes(table.paths.schema(0)))
    file_io.write_new(paths.snapshot(5), file_io.read_bytes(table.paths.snapshot(5)))

    branch = table.branch("b")

    assert keys(branch) == keys(table)
    for change in (
        lambda: branch.rollback(snapshot_id=5),
        lambda: branch.create_tag("x"),
        lambda: branch.delete_tag("x"),
        lambda: write(branch, (1, 1)),
        branch.compact,
    ):
        with pytest.raises(UnsupportedFeature, match="branch"):
            change()


def given_storage() -> MemoryFileIO:
    """Return a table with a stream, whose tagged snapshot 2 has expired."""
    file_io = MemoryFileIO()
    given_table(file_io=file_io)
    table = late(file_io)
    epoch = claim(table).epoch
    consume(table, 10, 20, epoch=epoch)
    table.create_tag("two")
    consume(table, 20, 30, epoch=epoch)
    table.compact()
    consume(table, 30, 40, epoch=epoch)
    table.create_tag("last")
    expire_all_but(table, 2)
    return file_io


BEFORE, AFTER = [20, 30, 40], [20]


def assert_before_or_after_then_done(inner: MemoryFileIO) -> None:
    found = keys(late(inner))
    assert found in (BEFORE, AFTER)
    assert_hint_sound(inner)
    late(inner).clean_orphans(min_age_ms=0, delete=True)
    assert keys(late(inner)) == found
    assert keys(late(inner), ReadAt(tag="two")) == AFTER

    late(inner).rollback(tag="two")

    assert keys(late(inner)) == AFTER
    assert [tag.name for tag in TagStore(inner, late(inner).paths).list()] == ["two"]
    position = late(inner).committer().stream_positions()["s"]
    assert position.offsets == {0: 20}
    assert position.epoch > 1
    assert_cleaned_exact(inner)
    consume(late(inner), 20, 25, epoch=claim(late(inner)).epoch)
    assert keys(late(inner)) == [20, 25]


def test_a_mark_that_an_expiry_left_prevents_no_rollback_to_a_tag() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("two", snapshot_id=2)
    for number in (2, 3):
        ConsumerStore(file_io, table.paths).mark_expiring(f"died-{number}", table.snapshot(number))

    with pytest.raises(LeaseLost, match="about to expire"):
        table.rollback(snapshot_id=3)
    assert keys(table) == [1, 2, 3, 5]
    table.rollback(tag="two")

    assert keys(late(file_io)) == [1, 2]


def test_a_target_that_was_brought_back_in_vain_expires_again() -> None:
    inner = MemoryFileIO()
    table = given_history(inner)
    table.create_tag("two", snapshot_id=2)
    expire_all_but(table, 1)
    storage = FaultyFileIO(inner)

    def fail(_number: int, method: str, path: str) -> None:
        if (method, path) == ("delete", table.paths.snapshot(5)):
            raise StorageUnavailable(path)

    storage.before = fail
    with pytest.raises(StorageUnavailable):
        late(storage).rollback(tag="two")
    assert ids(inner, table) == [2, 5]

    expire_all_but(late(inner), 1)

    assert ids(inner, table) == [5]


@pytest.mark.parametrize("gap", [[2], [3, 4], [2, 3, 4]])
def test_an_old_interrupted_rollback_stops_no_commit(gap: list[int]) -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    file_io.delete(table.paths.latest_hint)
    for number in gap:
        file_io.delete(table.paths.snapshot(number))

    assert write(late(file_io), (9, 9)) == 6
    late(file_io).compact()
    expire_all_but(late(file_io), 1)

    assert keys(late(file_io)) == [1, 2, 3, 5, 9]
    assert ids(file_io, table) == [7]
    assert_cleaned_exact(file_io)


def given_removed_history(*, new_commits: int) -> MemoryFileIO:
    """Return a table at 1 with some later commits, and the tag of a removed snapshot 3."""
    file_io = MemoryFileIO()
    table = given_history(file_io)
    table.create_tag("three", snapshot_id=3)
    # As after a rollback to 1 that was interrupted before it deleted the tags.
    kept = file_io.read_bytes(table.paths.tag("three"))
    table.rollback(snapshot_id=1)
    file_io.create_exclusive(table.paths.tag("three"), kept)
    for number in range(new_commits):
        write(late(file_io), (50 + number, 0))
    return file_io


@pytest.mark.parametrize("new_commits", [0, 1, 2, 3], ids=["far below", "below", "newest", "above"])
def test_a_tag_of_another_history_is_a_target_although_its_id_is_taken(new_commits: int) -> None:
    file_io = given_removed_history(new_commits=new_commits)
    table = late(file_io)

    late(file_io).rollback(tag="three")

    assert keys(late(file_io)) == keys(late(file_io), ReadAt(tag="three")) == [1, 2, 3]
    assert max(ids(file_io, table)) == 3
    write(late(file_io), (9, 9))
    late(file_io).compact()
    assert keys(late(file_io)) == [1, 2, 3, 9]
    assert_cleaned_exact(file_io)


@pytest.mark.sweep
@pytest.mark.slow
def test_a_commit_after_a_rollback_to_a_removed_history_that_broke_off_is_the_newest() -> None:
    swept = sweep(given_removed_history(new_commits=0), lambda table: table.rollback(tag="three"))
    ends = itertools.chain(swept.deaths(), swept.failures(is_done=True, is_lasting=False))
    for end in ends:
        found = keys(late(end.file_io))
        assert found in ([1], [1, 2, 3]), end.fault

        write(late(end.file_io), (9, 9))

        assert keys(late(end.file_io)) == [*found, 9], end.fault
        end.file_io.delete(late(end.file_io).paths.latest_hint)
        assert keys(late(end.file_io)) == [*found, 9], end.fault


def roll_back(table: Table) -> object:
    return table.rollback(tag="two")


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call(is_done: bool, is_lasting: bool) -> None:
    faults = sweep(given_storage(), roll_back)
    for end in faults.failures(is_done=is_done, is_lasting=is_lasting):
        assert_before_or_after_then_done(end.file_io)


@pytest.mark.sweep
@pytest.mark.slow
def test_the_process_dies_at_any_call() -> None:
    for end in sweep(given_storage(), roll_back).deaths():
        assert_before_or_after_then_done(end.file_io)


def test_a_read_of_all_columns_agrees() -> None:
    file_io = MemoryFileIO()
    table = given_history(file_io)
    before = read(table, 2)

    table.rollback(snapshot_id=2)

    assert read(late(file_io)) == before


def test_the_changes_of_a_snapshot_that_a_tag_brought_back_have_expired() -> None:
    table = given_history(MemoryFileIO(), **{"changelog-producer": "input"})
    table.create_tag("two", snapshot_id=2)
    expire_all_but(table, 1)
    table.rollback(tag="two")

    with pytest.raises(
        ChangesExpired,
        match="snapshot 2 are not kept, because a rollback restored the snapshot from a tag",
    ):
        table.changes(1).to_arrow()

    newest = write(table, (9, 9))
    assert table.changes(newest - 1).to_arrow()["k"].to_pylist() == [9]


def test_a_rollback_that_a_damaged_tag_refuses_leaves_no_lease() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io=file_io)
    for key in range(3):
        write(table, (key, key))
    file_io.write_new(table.paths.tag("torn"), b"{")

    with pytest.raises(CorruptData, match="tag-torn"):
        table.rollback(snapshot_id=1)

    assert late(file_io).consumers() == []
    assert ids(file_io, table) == [1, 2, 3]
