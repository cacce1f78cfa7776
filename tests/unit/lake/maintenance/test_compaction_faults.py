"""Storage fails at every single call of a compaction, and the process is interrupted at every one.

Whatever happens: readers see the rows they saw before, every live file is there, a file that no
snapshot names stays only where nobody could delete it or know, and compacting again works.
"""

import contextlib
from collections.abc import Callable

import pytest

from lake import CommitUnknown, LakeError, MemoryFileIO, StorageUnavailable, Table
from lake.snapshots.snapshot_store import SnapshotStore
from tests.support.committing import referenced_manifests, stored_manifests
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.lake.maintenance.given_compactions import (
    given_table,
    levels,
    live,
    read,
    reopened,
    stored_data_files,
    write,
)

pytestmark = pytest.mark.slow


class Died(BaseException):
    """The process is gone: nothing may catch this."""


def given_storage() -> MemoryFileIO:
    """Return storage with a table of which one file is moved and three are merged."""
    file_io = MemoryFileIO()
    options = {"target-file-size": "1 kb", "compaction.small-file-ratio": "0.1"}
    table = given_table(options, file_io=file_io)
    write(table, *((k, k, f"text {k}") for k in range(60)))
    write(table, *((k, -k) for k in range(40)))
    write(table, (1,), (2,), (3,), kinds="-D -D -D")
    write(table, (100, 1))
    return file_io


def test_the_table_is_worth_it() -> None:
    file_io = given_storage()
    before = stored_data_files(file_io)

    result = reopened(file_io).compact()

    assert (result.files_in, result.files_moved) == (6, 1)
    assert len(stored_data_files(file_io) - before) > 1


def count_calls() -> int:
    file_io = FaultyFileIO(given_storage())
    table = reopened(file_io)
    opening = len(file_io.calls)
    table.compact()
    return len(file_io.calls) - opening


def referenced_data_files(table: Table, file_io: MemoryFileIO) -> set[str]:
    """Return the names of the data files of all snapshots."""
    store = SnapshotStore(file_io, table.paths)
    return {
        entry.file.file_name
        for number in store.list_ids()
        for entry in table.live_files(store.get(number))
    }


def assert_sound(file_io: MemoryFileIO, expected: list[tuple[object, ...]]) -> Table:
    """Check the table as a new process finds it, and return it."""
    table = reopened(file_io)
    assert read(table) == expected
    assert {entry.file.file_name for entry in live(table)} <= stored_data_files(file_io)
    return table


@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call(is_done: bool, is_lasting: bool) -> None:
    expected = read(reopened(given_storage()))
    outcomes: set[type[BaseException] | None] = set()
    for number in range(count_calls()):
        inner = given_storage()
        file_io = FaultyFileIO(inner)
        table = reopened(file_io)
        file_io.fail_calls(len(file_io.calls) + number, is_done=is_done, is_lasting=is_lasting)

        outcome: type[BaseException] | None = None
        try:
            table.compact()
        except LakeError as error:
            outcome = type(error)
        outcomes.add(outcome)

        fresh = assert_sound(inner, expected)
        if not is_lasting and outcome is not CommitUnknown:
            assert stored_data_files(inner) == referenced_data_files(fresh, inner), number
        fresh.compact()
        assert_sound(inner, expected)
        assert set(levels(fresh)) == {5}
    assert StorageUnavailable in outcomes
    assert outcomes <= {None, StorageUnavailable, CommitUnknown}


def test_an_interrupt_before_the_commit_leaves_nothing() -> None:
    inner = given_storage()
    paths = reopened(inner).paths
    before = stored_data_files(inner), stored_manifests(inner, paths)

    for number in range(2):
        file_io = FaultyFileIO(inner)
        table = reopened(file_io)
        file_io.before = interrupt_at("open_output", number)
        with pytest.raises(Died):
            table.compact()

    assert (stored_data_files(inner), stored_manifests(inner, paths)) == before


def test_an_interrupt_at_any_call_of_the_commit_keeps_what_may_be_live() -> None:
    expected = read(reopened(given_storage()))
    for number in range(count_calls()):
        for is_done in (False, True):
            inner = given_storage()
            file_io = FaultyFileIO(inner)
            table = reopened(file_io)
            died = interrupt_at("", number)
            if is_done:
                file_io.after = died
            else:
                file_io.before = died
            with contextlib.suppress(Died):
                table.compact()

            fresh = assert_sound(inner, expected)
            fresh.compact()
            assert_sound(inner, expected)
            assert referenced_manifests(inner, fresh.paths) <= stored_manifests(inner, fresh.paths)


def interrupt_at(method: str, number: int) -> Callable[[int, str, str], None]:
    """Return a fault that dies at the n-th call of a method, of any method for an empty name."""
    left = [number]

    def fault(_: int, called: str, path: str) -> None:
        is_meant = called == method and "/bucket-" in path if method else True
        if not is_meant:
            return
        left[0] -= 1
        if left[0] < 0:
            raise Died

    return fault
