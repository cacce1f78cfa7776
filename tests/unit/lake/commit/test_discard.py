"""Files of a commit are deleted after an outcome that is known, and after nothing else.

A foreign exception is raised at every storage call from the first attempt to create a snapshot on, before
the call and after it. Every live file of the table has to exist afterwards.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import pyarrow as pa
import pytest

from braid.lake import (
    BatchAccount,
    Catalog,
    CommitConflict,
    CommitResult,
    CommitUnknown,
    FileIO,
    LakeError,
    ManualClock,
    MemoryFileIO,
    Outcome,
    StreamBatch,
    Table,
    commit_or_discard,
)
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import copied

COMMITTED = CommitResult(snapshot_id=1, attempts=1, wait_ms=0, outcome=Outcome.COMMITTED)
REPLAYED = CommitResult(snapshot_id=1, attempts=1, wait_ms=0, outcome=Outcome.REPLAYED)
UNUSED = CommitResult(
    snapshot_id=1, attempts=1, wait_ms=0, outcome=Outcome.REPLAYED, are_files_unused=True
)


@pytest.mark.parametrize(("result", "discarded"), [(COMMITTED, 0), (REPLAYED, 0), (UNUSED, 1)])
def test_files_go_with_a_replay_of_other_files(result: CommitResult, discarded: int) -> None:
    done: list[int] = []

    assert commit_or_discard(lambda: result, discard=lambda: done.append(1)) is result

    assert len(done) == discarded


def known_conflict() -> CommitConflict:
    error = CommitConflict("lost")
    error.committed_nothing = True
    return error


@pytest.mark.parametrize(
    ("error", "discarded"),
    [
        (known_conflict(), 1),
        (CommitConflict("lost, after an attempt whose fate is not known"), 0),
        (CommitUnknown("?"), 0),
        (MemoryError(), 0),
        (KeyboardInterrupt(), 0),
        (ValueError("unforeseen"), 0),
    ],
)
def test_files_are_deleted_with_an_error_that_committed_nothing(
    error: BaseException, discarded: int
) -> None:
    done: list[int] = []

    def commit() -> CommitResult:
        raise error

    with pytest.raises(type(error)):
        commit_or_discard(commit, discard=lambda: done.append(1))

    assert len(done) == discarded


def opened(file_io: FileIO) -> Table:
    return Catalog("/w", file_io=file_io, clock=ManualClock()).table("db.t")


def rows(low: int, high: int) -> pa.Table:
    return pa.table({"id": list(range(low, high)), "v": [1] * (high - low)})


@cache
def given() -> MemoryFileIO:
    """Return storage with a table of two commits and a claimed stream."""
    file_io = MemoryFileIO()
    table = Catalog("/w", file_io=file_io, clock=ManualClock()).create_table(
        "db.t",
        columns=[("id", "BIGINT"), ("v", "BIGINT")],
        primary_key=["id"],
        options={"bucket": "1"},
    )
    table.write_and_commit(rows(0, 5))
    table.write_and_commit(rows(3, 8))
    table.committer().claim_stream("s", topic="x", initial_offsets={0: 0})
    return file_io


def ingest(table: Table) -> CommitResult:
    """Commit a micro-batch as a stream's sink does."""
    writer = table.writer()
    writer.write(rows(0, 3))
    result = writer.prepare_commit()
    batch = StreamBatch(
        stream="s",
        epoch=1,
        batch_id=0,
        topic="x",
        topic_id="",
        start={0: 0},
        end={0: 3},
        account=BatchAccount(accepted=3),
    )
    return commit_or_discard(
        lambda: table.committer().commit_stream_batch(result.messages, batch),
        discard=lambda: table.delete_uncommitted(result.messages),
    )


ACTS: Final[dict[str, Callable[[Table], object]]] = {
    "a batch of rows": lambda table: table.write_and_commit(rows(0, 3)),
    "a micro-batch": ingest,
    "a compaction": lambda table: table.compact(full=True),
    "a rescale": lambda table: table.rescale(2),
}


@pytest.mark.parametrize("name", ACTS)
def test_no_error_after_the_snapshot_deletes_a_live_file(name: str) -> None:
    act = ACTS[name]
    undisturbed = FaultyFileIO(copied(given()))
    act(opened(undisturbed))
    first = next(
        number
        for number, (method, path) in enumerate(undisturbed.calls)
        if method == "create_exclusive" and "/snapshot/" in path
    )
    for number in range(first, len(undisturbed.calls)):
        for is_done in (False, True):
            inner = copied(given())
            file_io = FaultyFileIO(inner)
            table = opened(file_io)
            raise_at(file_io, number, is_done=is_done)
            with pytest.raises(MemoryError):
                act(table)
            fault = (number, *undisturbed.calls[number], is_done)
            read = opened(inner).scan().to_arrow()
            assert sorted(read["id"].to_pylist()) == list(range(8)), fault


def raise_at(file_io: FaultyFileIO, number: int, *, is_done: bool) -> None:
    def fault(at: int, _: str, path: str) -> None:
        if at == number:
            raise MemoryError(path)

    if is_done:
        file_io.after = fault
    else:
        file_io.before = fault


def test_a_batch_that_is_offered_again_after_an_unknown_outcome_keeps_its_files() -> None:
    """The second call is a replay of the first, which has committed the same files."""
    inner = copied(given())
    file_io = FaultyFileIO(inner)
    table = opened(file_io)
    writer = table.writer()
    writer.write(rows(20, 23))
    messages = writer.prepare_commit().messages
    batch = StreamBatch(
        stream="s", epoch=1, batch_id=0, topic="x", topic_id="", start={0: 0}, end={0: 3}
    )
    committer = table.committer()
    file_io.after = lambda _, method, path: _forget(method, path)
    with pytest.raises(MemoryError):
        committer.commit_stream_batch(messages, batch)
    file_io.after = lambda *_: None

    result = commit_or_discard(
        lambda: committer.commit_stream_batch(messages, batch),
        discard=lambda: table.delete_uncommitted(messages),
    )

    assert result.outcome is Outcome.REPLAYED
    assert opened(inner).get({"id": 21}) is not None


def _forget(method: str, path: str) -> None:
    if method == "create_exclusive" and "/snapshot/" in path:
        raise MemoryError


def test_the_files_of_a_fenced_batch_are_unused() -> None:
    inner = copied(given())
    table = opened(inner)
    table.committer().claim_stream("s", topic="x", initial_offsets={0: 0})

    with pytest.raises(LakeError) as raised:
        ingest(table)

    assert raised.value.committed_nothing
