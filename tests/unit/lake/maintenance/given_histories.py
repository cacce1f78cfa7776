"""Tables with a history, and the check that one has exactly the files that it needs."""

import itertools
import random
from collections.abc import Callable

from braid.lake import FileIO, ManualClock, MemoryFileIO, Table
from tests.given_tables import INDEX_FILES
from tests.support.fault_sweep import Sweep
from tests.support.table_files import assert_orphans_found, missing_files, unneeded_files
from tests.unit.lake.maintenance.given_compactions import PATH, given_table, write

# Memory stamps files by the machine's clock; this one is past all of them.
LATE_MS = 4_000_000_000_000
_SEEDS = itertools.count(1_000)


def late(file_io: FileIO) -> Table:
    """Open the table as another process does, at a time at which every file is old."""
    return Table.open(
        PATH,
        file_io=file_io,
        clock=ManualClock(start_ms=LATE_MS),
        random=random.Random(next(_SEEDS)),
    )


def given_history(file_io: FileIO, **options: str) -> Table:
    """Return a table whose snapshot 1 to 5 have k rows each; 4 is a compaction of 3.

    Each data file has an index file.
    """
    given_table({**INDEX_FILES, **options}, file_io=file_io)
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
    """Check that every needed file exists, and no other."""
    table = late(file_io)
    assert missing_files(file_io, table) == set()
    assert unneeded_files(file_io, table) == set()
    assert table.clean_orphans(min_age_ms=0).files == ()


def assert_cleaned_exact(file_io: FileIO) -> None:
    """Check that no needed file is missing, and that cleaning finds all others."""
    assert_orphans_found(file_io, late(file_io))
    assert_exact(file_io)


def sweep(given: MemoryFileIO, act: Callable[[Table], object]) -> Sweep:
    """Return the sweep of faults over an action."""
    return Sweep(given=given, opened=late, act=act)
