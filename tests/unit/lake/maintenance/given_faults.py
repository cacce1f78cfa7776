"""Invariants of a table after a process died, or storage failed, at any call of an operation."""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from braid.lake import CommitUnknown, FileIO, ManualClock, MemoryFileIO, StorageUnavailable, Table
from braid.lake.snapshots.snapshot_store import SnapshotStore
from tests.support.fault_sweep import HINTS, End, Outcome, Sweep
from tests.support.faulty_file_io import Died
from tests.support.table_files import assert_orphans_found, copied, paths_below, unneeded_files
from tests.unit.lake.maintenance.given_compactions import PATH

# Memory stamps files by the machine's clock; this one is past all of them.
LATE_MS = 4_000_000_000_000
_SEEDS = itertools.count(50_000)

Rows: TypeAlias = list[tuple[object, ...]]
History: TypeAlias = list[tuple[int, str, Rows, Rows]]
"""Of each snapshot its id, kind, rows and changes."""


def acting(file_io: FileIO) -> Table:
    """Open the table as the process with the fault does."""
    return _opened(file_io, 7)


def later(file_io: FileIO) -> Table:
    """Open the table as any other process does, which uses other file names."""
    return _opened(file_io, next(_SEEDS))


def _opened(file_io: FileIO, seed: int) -> Table:
    clock = ManualClock(start_ms=LATE_MS)
    return Table.open(PATH, file_io=file_io, clock=clock, random=random.Random(seed))


def history(file_io: FileIO) -> History:
    """Return the rows and changes of every retained snapshot, read by a new process."""
    table = later(file_io)
    return [_described(table, number) for number in SnapshotStore(file_io, table.paths).list_ids()]


def rows_of(table: Table, snapshot_id: int | None = None) -> Rows:
    """Return the rows of a snapshot, sorted."""
    return _sorted(table.scan(at=snapshot_id).to_arrow())


def _described(table: Table, number: int) -> tuple[int, str, Rows, Rows]:
    kind = table.snapshot(number).commit_kind
    return number, kind, rows_of(table, number), _changes(table, number)


def _changes(table: Table, number: int) -> Rows:
    return [row for part in table.changes(number - 1, number) for row in _sorted(part.to_arrow())]


def _sorted(rows: pa.Table) -> Rows:
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=repr)


@dataclass(kw_only=True)
class Judge:
    """Checks the ends of a sweep.

    Attributes:
        sweep: Of an operation that adds snapshots and removes none.
        write_more: Writes and compacts; gives the same rows whatever happened before.
    """

    sweep: Sweep
    write_more: Callable[[Table], object]
    _known: dict[Outcome, int] = field(default_factory=dict, init=False)
    _cleaned: set[Outcome] = field(default_factory=set, init=False)

    @cached_property
    def before(self) -> History:
        """The history before the operation."""
        return history(self.sweep.given)

    @cached_property
    def after(self) -> History:
        """The history after the operation without faults."""
        found = history(self.sweep.done)
        assert len(found) > len(self.before)
        assert found[: len(self.before)] == self.before
        return found

    @cached_property
    def goals(self) -> list[Rows]:
        """The results of `write_more` from before the operation and from after it."""
        return [self._continued(file_io) for file_io in (self.sweep.given, self.sweep.done)]

    def check_deaths(self) -> None:
        """Check the table when the process dies at any call."""
        found = {self._count_sound(end) for end in self.sweep.deaths()}
        # A death is not always before the commit, nor always after it.
        assert found >= {len(self.before), len(self.after)}
        assert self.sweep.endings[Died] > len(found)

    def check_failures(self, *, is_done: bool, is_lasting: bool) -> None:
        """Check the table, and the error, when storage fails at any call."""
        for end in self.sweep.failures(is_done=is_done, is_lasting=is_lasting):
            assert end.error in (None, StorageUnavailable, CommitUnknown), end
            is_cleaned = not is_lasting and end.error is not CommitUnknown
            if is_cleaned and end.method != "delete":
                assert _left(end.file_io) == self._left_by_success, end.fault
            count = self._count_sound(end)
            if end.error is None:
                assert count == len(self.after), end.fault
            if end.error is StorageUnavailable and self.sweep.others is None:
                assert count == len(self.before), end.fault
        assert StorageUnavailable in self.sweep.endings

    @cached_property
    def _left_by_success(self) -> set[str]:
        return _left(self.sweep.done)

    def _count_sound(self, end: End) -> int:
        """Check a table, and return how many snapshots it has."""
        if end.outcome not in self._known:
            self._known[end.outcome] = self._check(end.file_io, end.fault)
        return self._known[end.outcome]

    def _check(self, file_io: MemoryFileIO, fault: str) -> int:
        """Check that a table is as before or as after, can be cleaned, and can be used further."""
        # Older snapshots have the bytes that they had, and so their rows.
        for path in paths_below(self.sweep.given):
            if not path.endswith(HINTS):
                assert file_io.read_bytes(path) == self.sweep.given.read_bytes(path), fault
        table = later(file_io)
        count = len(SnapshotStore(file_io, table.paths).list_ids())
        newer = range(len(self.before), count)
        assert count <= len(self.after), fault
        assert [_described(table, self.after[number][0]) for number in newer] == [
            self.after[number] for number in newer
        ], fault
        assert rows_of(table) == self.after[count - 1][2], fault
        cleaned = copied(file_io)
        assert_orphans_found(cleaned, later(cleaned), fault)
        # Unreferenced files are found already and do not matter for the rest.
        outcome = self.sweep.outcome_of(cleaned)
        if outcome not in self._cleaned:
            self._cleaned.add(outcome)
            _assert_lookups_agree(table, self.after, fault)
            assert self._continued(file_io) in self.goals, fault
        return count

    def _continued(self, given: MemoryFileIO) -> Rows:
        file_io = copied(given)
        self.write_more(later(file_io))
        return rows_of(later(file_io))


def _left(file_io: MemoryFileIO) -> set[str]:
    return unneeded_files(file_io, later(file_io))


def _assert_lookups_agree(table: Table, history: History, fault: str) -> None:
    """Check that a lookup of every key that ever had a row gives the rows of a scan."""
    keys = table.schema.primary_keys
    indexes = [table.schema.field_names.index(key) for key in keys]
    known = {tuple(row[at] for at in indexes) for _, _, rows, _ in history for row in rows}
    wanted = pa.Table.from_pylist(
        [dict(zip(keys, key, strict=True)) for key in sorted(known, key=repr)],
        schema=pa.schema([table.schema.arrow_schema.field(key) for key in keys]),
    )
    assert _sorted(table.lookup(wanted)) == rows_of(table), fault
