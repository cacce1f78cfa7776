"""Storage fails at every single call of a rescale, and the process dies at every one.

Whatever happens: readers see the same rows as before, every referenced file exists, orphan cleaning finds
the unreferenced ones, and rescaling again, or back, works.
"""

import contextlib
from collections.abc import Callable
from functools import cache

import pytest

from braid.lake import (
    CommitConflict,
    CommitUnknown,
    ManualClock,
    MemoryFileIO,
    StorageUnavailable,
)
from tests.given_tables import INDEX_FILES
from tests.support.fault_sweep import Sweep
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.table_files import assert_orphans_found, copied
from tests.unit.lake.maintenance.given_rescales import (
    given_table,
    named,
    names,
    read,
    reopened,
    rows,
    stored,
    totals,
    write,
)

pytestmark = [pytest.mark.slow, pytest.mark.sweep]

OLD, NEW = 2, 3


@cache
def given_storage() -> MemoryFileIO:
    """Return storage with a table that has marked rows, two levels and two buckets."""
    file_io = MemoryFileIO()
    table = given_table(
        file_io,
        {
            "bucket": str(OLD),
            "deletion-vectors.enabled": "true",
            "write-only": "true",
            **INDEX_FILES,
        },
    )
    write(table, *((k, k) for k in range(20)))
    table.compact()
    write(table, *((k, -k) for k in range(5)))
    table.compact(full=False)
    write(table, (100, 1))
    return file_io


def sweep() -> Sweep:
    return Sweep(given=given_storage(), opened=reopened, act=lambda table: table.rescale(NEW))


def assert_as_before_or_after(inner: MemoryFileIO, expected: list[tuple[object, ...]]) -> None:
    fresh = reopened(inner)
    assert read(fresh) == expected
    assert totals(fresh) in ({OLD}, {NEW})


def assert_usable(inner: MemoryFileIO, number: int) -> None:
    """Check that a table can be rescaled on or back, written, compacted and cleaned."""
    # Later than the time of any file on storage.
    fresh = reopened(inner, clock=ManualClock(start_ms=1 << 42))
    assert_orphans_found(inner, fresh)
    wanted = NEW if number % 2 else OLD
    fresh.rescale(wanted)
    assert totals(fresh) == {wanted}
    write(fresh, (1, 1_000), (200, 2))
    fresh.compact()
    found = {row[1]: row[2] for row in read(fresh)}
    assert (found[1], found[2], found[100], found[200]) == (1_000, -2, 1, 2)
    fresh.clean_orphans(min_age_ms=0, delete=True)
    fresh.expire(retain_min=1, retain_max=1, older_than_ms=1 << 50)
    fresh.clean_orphans(min_age_ms=0, delete=True)
    assert names(stored(inner)) == named(fresh)


@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call(is_done: bool, is_lasting: bool) -> None:
    expected, before = read(reopened(given_storage())), stored(given_storage())
    faults = sweep()
    ends = faults.failures(is_done=is_done, is_lasting=is_lasting)
    for number, end in enumerate(ends):
        inner = end.file_io
        assert_as_before_or_after(inner, expected)
        if end.error is StorageUnavailable and not is_lasting:
            # After a single failure writers see the table as before or as after, too, and no file is left.
            fresh = reopened(inner)
            assert {fresh.schema.table_options.bucket} == totals(fresh)
            assert stored(inner) == before or names(stored(inner) - before) <= named(fresh)
        assert_usable(inner, number)
    # A sample of the calls may miss those whose failure is not repeated.
    assert StorageUnavailable in faults.endings or faults.share > 1
    assert faults.endings.keys() <= {None, StorageUnavailable, CommitUnknown}


def test_the_process_dies_at_any_call() -> None:
    expected = read(reopened(given_storage()))
    for number, end in enumerate(sweep().deaths()):
        assert_as_before_or_after(end.file_io, expected)
        assert_usable(end.file_io, number)


def test_between_schema_and_commit_writers_are_turned_back_and_readers_are_not() -> None:
    inner = copied(given_storage())
    expected = read(reopened(inner))
    file_io = FaultyFileIO(inner)
    table = reopened(file_io)
    file_io.before = dying_at_snapshot()
    with contextlib.suppress(Died):
        table.rescale(NEW)

    broken_off = reopened(inner)
    assert (broken_off.schema.table_options.bucket, totals(broken_off)) == (NEW, {OLD})
    assert read(broken_off) == expected
    assert broken_off.get({"p": "x", "k": 3}) == {"p": "x", "k": 3, "v": -3}
    writer = broken_off.writer()
    writer.write(rows((1, 2)))
    messages = writer.prepare_commit().messages
    with pytest.raises(CommitConflict, match="rescale"):
        broken_off.committer().commit(messages, commit_user="u")
    with pytest.raises(CommitConflict, match="run it again"):
        broken_off.follow_schema(wait_ms=0)

    broken_off.rescale(NEW)
    assert totals(broken_off) == {NEW}
    assert read(broken_off) == expected
    assert broken_off.follow_schema(wait_ms=0) is False


def dying_at_snapshot() -> Callable[[int, str, str], None]:
    def fault(at: int, method: str, path: str) -> None:
        del at
        if method == "create_exclusive" and "/snapshot/" in path:
            raise Died

    return fault
