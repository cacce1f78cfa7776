"""Rescale: its arguments, and the waits of writers."""

from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, CommitConflict, InvalidRequest, ManualClock, MemoryFileIO, Table
from braid.lake.commit.commit_result import CommitResult
from braid.lake.table.operations.batch_write import ATTEMPTS_MAX, BatchWrite
from braid.lake.table.operations.rescale import wait_while_rescaled
from braid.lake.write.table_writer import WriteResult

ROWS = pa.table({"k": pa.array([1, 2], pa.int32())})


def given_table() -> Table:
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "db.t", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "2"}
    )


@pytest.mark.parametrize("buckets", [0, 2**31, 10**12, 1.0, True])
def test_counts_that_buckets_cannot_be_numbered_by_are_refused(buckets: Any) -> None:
    with pytest.raises(
        InvalidRequest, match="buckets: expected a bucket count from 1 to 2147483647"
    ):
        given_table().rescale(buckets)


def test_there_is_no_wait_without_a_rescale() -> None:
    slept: list[float] = []

    assert not wait_while_rescaled(lambda: False, sleep=slept.append)
    assert slept == []


def test_waits_grow_and_end_with_the_rescale() -> None:
    slept: list[float] = []

    assert wait_while_rescaled(lambda: len(slept) < 4, sleep=slept.append)
    assert slept == [0.01, 0.02, 0.04, 0.08]


def test_a_rescale_that_does_not_end_is_a_conflict_with_a_hint() -> None:
    slept: list[float] = []

    with pytest.raises(CommitConflict, match="run it again if it broke off"):
        wait_while_rescaled(lambda: True, wait_ms=10_000, sleep=slept.append)
    assert 10 <= sum(slept) < 11.1
    assert max(slept) == 1


def test_a_newer_schema_is_followed_without_a_wait() -> None:
    table = given_table()
    other = Table.open(table.path, file_io=table.file_io, clock=ManualClock())
    other.rescale(3)

    assert table.follow_schema(wait_ms=0)
    assert table.schema.table_options.bucket == 3
    assert not table.follow_schema(wait_ms=0)


@pytest.mark.parametrize("wait_ms", [-1, 1.5, True, None])
def test_an_invalid_wait_is_refused(wait_ms: Any) -> None:
    with pytest.raises(InvalidRequest, match="wait_ms: expected milliseconds"):
        given_table().follow_schema(wait_ms=wait_ms)


class Committing:
    """A table's commits, of which the first so many are conflicts."""

    def __init__(self, conflicts: int, *, is_moved: bool) -> None:
        self.table = given_table()
        self.conflicts = conflicts
        self.is_moved = is_moved
        self.deleted = 0

    def commit(self, result: WriteResult) -> CommitResult:
        if self.conflicts:
            self.conflicts -= 1
            error = CommitConflict("another process was faster")
            error.committed_nothing = True
            raise error
        return self.table.committer().commit(result.messages, commit_user="u")

    def delete(self, messages: Any) -> None:
        self.table.delete_uncommitted(messages)
        self.deleted += 1

    def run(self) -> CommitResult:
        write = BatchWrite(
            new_writer=self.table.writer,
            commit=self.commit,
            delete=self.delete,
            has_newer_schema=lambda _: self.is_moved,
            follow_schema=lambda _: self.is_moved,
        )
        return write.run(ROWS, None)


def test_a_batch_is_written_again_while_the_schema_changes() -> None:
    committing = Committing(30, is_moved=True)

    assert committing.run().snapshot_id == 1
    assert committing.deleted == 30
    assert committing.table.scan().to_arrow().num_rows == 2


def test_a_schema_that_changes_without_end_is_a_conflict() -> None:
    committing = Committing(ATTEMPTS_MAX, is_moved=True)

    with pytest.raises(
        CommitConflict, match=r"100 attempts: another process was faster\nhint: write again"
    ):
        committing.run()
    assert committing.deleted == ATTEMPTS_MAX


def test_another_conflict_is_raised_at_once() -> None:
    committing = Committing(1, is_moved=False)

    with pytest.raises(CommitConflict, match="another process was faster"):
        committing.run()
    assert committing.deleted == 1
