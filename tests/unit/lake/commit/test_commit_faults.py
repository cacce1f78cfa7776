"""Storage fails at every single call, and the process dies at every single step.

Whatever fails: the table is as before the commit or as after it, and the same commit again, by a
fresh process on healthy storage, leaves it there exactly once.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from braid.lake.commit.commit_result import Outcome
from braid.lake.commit.committer import TableCommitter
from braid.lake.commit.retry_policy import RetryPolicy
from braid.lake.errors import CommitUnknown, StorageUnavailable
from braid.lake.files.paths import TablePaths
from braid.lake.files.storage.file_io import FileIO
from braid.lake.files.storage.memory import MemoryFileIO
from braid.lake.format.snapshot import CommitKind
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import (
    TOPIC,
    TOPIC_ID,
    appended,
    compacted,
    data_file,
    given_table,
    hash_index,
    index_names,
    live_names,
    new_committer,
    stream_batch,
)
from tests.support.faulty_file_io import FaultyFileIO

POLICY = RetryPolicy(lookups_max=2)


class Died(BaseException):
    """The process has died; nothing may catch this."""


@dataclass(frozen=True)
class Act:
    """A commit, and the live files and indexes before and after it."""

    run: Callable[[TableCommitter], object]
    before: list[str]
    after: list[str]
    indexes_after: list[str] = field(default_factory=lambda: ["index-a"])

    def assert_done(self, file_io: FileIO, paths: TablePaths) -> None:
        assert live_names(file_io, paths) == self.after
        assert index_names(file_io, paths) == self.indexes_after

    def assert_undone(self, file_io: FileIO, paths: TablePaths) -> None:
        assert live_names(file_io, paths) == self.before
        assert index_names(file_io, paths) == ["index-a"]


def append(committer: TableCommitter) -> object:
    return committer.commit([appended(data_file("x"))], commit_user="u", commit_identifier=7)


def compact(committer: TableCommitter) -> object:
    return committer.commit(
        [compacted((data_file("a"),), (data_file("x", level=5),))],
        commit_user="u",
        commit_identifier=7,
        kind=CommitKind.COMPACT,
    )


def ingest(committer: TableCommitter) -> object:
    return committer.commit_stream_batch([appended(data_file("x"))], stream_batch({0: 0}, {0: 10}))


def index(committer: TableCommitter) -> object:
    message = appended(
        data_file("x"), new_index_files=(hash_index("index-x"),), index_base=("index-a",)
    )
    return committer.commit([message], commit_user="u", commit_identifier=7)


ACTS = {
    "append": Act(append, ["a", "b"], ["a", "b", "x"]),
    "compact": Act(compact, ["a", "b"], ["b", "x"]),
    "index": Act(index, ["a", "b"], ["a", "b", "x"], ["index-x"]),
    "ingest": Act(ingest, ["a", "b"], ["a", "b", "x"]),
}


def given(file_io: FileIO, *, commits: int = 0) -> TablePaths:
    """Create a table of two files, a claimed stream, and so many commits that a manifest merge is due."""
    paths = given_table(file_io, options={"manifest.merge-min-count": "3"})
    committer = new_committer(file_io, paths)
    first = appended(data_file("a"), new_index_files=(hash_index("index-a"),), index_base=())
    committer.commit([first], commit_user="given")
    committer.commit([appended(data_file("b"))], commit_user="given")
    committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})
    for number in range(commits):
        filler = data_file(f"filler-{number}")
        committer.commit([appended(filler)], commit_user="given")
        committer.commit([compacted((filler,), ())], commit_user="given", kind=CommitKind.COMPACT)
    return paths


def count_calls(act: Act) -> int:
    inner = MemoryFileIO()
    paths = given(inner)
    file_io = FaultyFileIO(inner)
    act.run(new_committer(file_io, paths, policy=POLICY))
    return len(file_io.calls)


def assert_once_after_repeating(act: Act, inner: MemoryFileIO, paths: TablePaths) -> None:
    """Repeat the act on healthy storage; the table must be as after one."""
    act.run(new_committer(inner, paths))
    act.run(new_committer(inner, paths))

    act.assert_done(inner, paths)
    newest = SnapshotStore(inner, paths).latest()
    assert newest is not None
    assert newest.total_record_count == 10 * len(act.after)
    ids = SnapshotStore(inner, paths).list_ids()
    assert ids == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call(name: str, is_done: bool, is_lasting: bool) -> None:
    act = ACTS[name]
    outcomes = set()
    for number in range(count_calls(act)):
        inner = MemoryFileIO()
        paths = given(inner)
        file_io = FaultyFileIO(inner)
        file_io.fail_calls(number, is_done=is_done, is_lasting=is_lasting)
        try:
            act.run(new_committer(file_io, paths, policy=POLICY))
            outcome = "committed"
            act.assert_done(inner, paths)
        except StorageUnavailable:
            outcome = "failed"
            act.assert_undone(inner, paths)
        except CommitUnknown:
            outcome = "unknown"
            is_done_after_all = live_names(inner, paths) == act.after
            (act.assert_done if is_done_after_all else act.assert_undone)(inner, paths)
        outcomes.add(outcome)
        assert_once_after_repeating(act, inner, paths)

    expected = {"committed", "failed"} | ({"unknown"} if is_lasting else set())
    assert outcomes == expected


@pytest.mark.parametrize("name", ACTS)
def test_the_process_dies_at_any_step(name: str) -> None:
    act = ACTS[name]
    steps: list[str] = []
    inner = MemoryFileIO()
    act.run(new_committer(inner, given(inner), on_step=steps.append))
    assert len(steps) > 10

    for number in range(len(steps)):
        inner = MemoryFileIO()
        paths = given(inner)
        left = number

        def die(step: str) -> None:
            nonlocal left
            if left == 0:
                raise Died(step)
            left -= 1

        with pytest.raises(Died):
            act.run(new_committer(inner, paths, on_step=die))
        is_published = steps.index("after create-snapshot") <= number
        (act.assert_done if is_published else act.assert_undone)(inner, paths)
        assert_once_after_repeating(act, inner, paths)


def test_a_claim_survives_any_failure() -> None:
    """A claim is repeated with a higher epoch; the offsets stay the same."""
    for is_done in (False, True):
        for number in range(12):
            inner = MemoryFileIO()
            paths = given(inner)
            file_io = FaultyFileIO(inner)
            file_io.fail_calls(number, is_done=is_done, is_lasting=True)
            committer = new_committer(file_io, paths, policy=POLICY)
            with contextlib.suppress(StorageUnavailable, CommitUnknown):
                committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 9})
            position = new_committer(inner, paths).claim_stream(
                "s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 9}
            )
            assert position.epoch in (2, 3)
            assert position.offsets == {0: 0}


def test_failing_while_manifests_are_merged_leaves_the_table_as_it_was() -> None:
    calls = FaultyFileIO(MemoryFileIO())
    paths = given(calls, commits=2)
    start = len(calls.calls)
    append(new_committer(calls, paths))
    merges = [m for m, path in calls.calls[start:] if m == "write_new"]
    assert len(merges) == 4, "delta, its list, a merged manifest, the base list"

    for number in range(len(calls.calls) - start):
        inner = MemoryFileIO()
        paths = given(inner, commits=2)
        file_io = FaultyFileIO(inner)
        file_io.fail_calls(number, is_done=True, is_lasting=False)
        try:
            append(new_committer(file_io, paths, policy=POLICY))
        except StorageUnavailable:
            assert live_names(inner, paths) == ["a", "b"]
        append(new_committer(inner, paths))
        assert live_names(inner, paths) == ["a", "b", "x"]


def test_hints_are_not_needed() -> None:
    inner = MemoryFileIO()
    paths = given_table(inner)
    file_io = FaultyFileIO(inner)

    def fail(number: int, method: str, path: str) -> None:
        if method == "overwrite":
            message = "no hints today"
            raise StorageUnavailable(message)

    file_io.before = fail
    committer = new_committer(file_io, paths)
    for name in "abc":
        result = committer.commit([appended(data_file(name))], commit_user="u")
        assert result.outcome is Outcome.COMMITTED

    assert live_names(inner, paths) == ["a", "b", "c"]
    assert not inner.exists(paths.latest_hint)
