"""Tables with a past worth keeping, and the question whether one has exactly the files it needs."""

import itertools
import random
from collections.abc import Callable
from contextlib import suppress

from lake import FileIO, LakeError, ManualClock, MemoryFileIO, Table
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import missing_files, stored_files, unneeded_files
from tests.unit.lake.maintenance.given_compactions import PATH, given_table, write

# Memory stamps files by the machine's clock; this one is past all of them.
LATE_MS = 4_000_000_000_000
_SEEDS = itertools.count(1_000)


class Died(BaseException):
    """The process is gone: nothing may catch this."""


def late(file_io: FileIO) -> Table:
    """Open the table as another process does, at a time at which every file is old."""
    return Table.open(
        PATH,
        file_io=file_io,
        clock=ManualClock(start_ms=LATE_MS),
        random=random.Random(next(_SEEDS)),
    )


def copied(file_io: MemoryFileIO) -> MemoryFileIO:
    """Return storage with the same files: what takes long to make is made once."""
    copy = MemoryFileIO()
    for name in stored_files(file_io, PATH):
        copy.write_new(f"{PATH}/{name}", file_io.read_bytes(f"{PATH}/{name}"))
    return copy


def given_history(file_io: FileIO, **options: str) -> Table:
    """Return a table whose snapshot 1 to 5 have k rows each; 4 is a compaction of 3."""
    given_table(options, file_io=file_io)
    table = late(file_io)
    for k in (1, 2, 3):
        write(table, (k, k))
    table.compact()
    write(table, (5, 5))
    return table


def expire_all_but(table: Table, count: int) -> None:
    """Expire the oldest snapshots, whatever their age."""
    table.expire(retain_max=count, older_than_ms=LATE_MS)


def assert_exact(file_io: FileIO) -> None:
    """Check that every file that is needed is there, and none besides."""
    table = late(file_io)
    assert missing_files(file_io, table) == set()
    assert unneeded_files(file_io, table) == set()
    assert table.clean_orphans(min_age_ms=0).files == ()


def assert_cleaned_exact(file_io: FileIO) -> None:
    """Check that no needed file is missing, and that cleaning finds all others."""
    late(file_io).clean_orphans(min_age_ms=0, delete=True)
    assert_exact(file_io)


def count_calls(given: MemoryFileIO, act: Callable[[Table], object]) -> int:
    """Return how many storage calls an action makes, done to a copy."""
    file_io = FaultyFileIO(copied(given))
    table = late(file_io)
    opening = len(file_io.calls)
    act(table)
    return len(file_io.calls) - opening


def fail_at(
    inner: MemoryFileIO,
    act: Callable[[Table], object],
    number: int,
    *,
    is_done: bool,
    is_lasting: bool,
) -> type[BaseException] | None:
    """Do something to a table while storage fails at its n-th call; return the error it ends with."""
    file_io = FaultyFileIO(inner)
    table = late(file_io)
    start = len(file_io.calls) + number
    file_io.fail_calls(start, is_done=is_done, is_lasting=is_lasting)
    try:
        act(table)
    except LakeError as error:
        return type(error)
    return None


def die_at(
    inner: MemoryFileIO, act: Callable[[Table], object], number: int, *, is_done: bool
) -> None:
    """Do something to a table and die at its n-th storage call, before or after its effect."""
    file_io = FaultyFileIO(inner)
    table = late(file_io)
    start = len(file_io.calls) + number

    def fault(at: int, method: str, path: str) -> None:
        del method, path
        if at >= start:
            raise Died

    if is_done:
        file_io.after = fault
    else:
        file_io.before = fault
    with suppress(Died):
        act(table)
