"""Storage fails at every call of what writes a changelog: rows and changes are told together, or not.

After each fault a fresh reader finds the table as before or as after, with exactly the changes that
lead there.
"""

from collections.abc import Callable
from itertools import product

import pytest

from lake import Catalog, CommitUnknown, LakeError, MemoryFileIO, Table
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.lake.table.given_changes import Told, told, write

ROWS = [(1, "a"), (2, "b")]
Act = Callable[[Table], object]


def given_storage(options: dict[str, str]) -> MemoryFileIO:
    """Return storage with a table whose two rows are compacted."""
    file_io = MemoryFileIO()
    table = Catalog("/wh", file_io=file_io).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1", "commit.max-retries": "0", **options},
    )
    write(table, *(("+I", key, value) for key, value in ROWS))
    table.compact()
    return file_io


def opened(file_io: MemoryFileIO | FaultyFileIO) -> Table:
    return Table.open("/wh/db.db/t", file_io=file_io)


def write_more(table: Table) -> None:
    write(table, ("+U", 1, "a2"), ("-D", 2, "b"), ("+I", 3, "c"), ("+U", 3, "c2"))


def rows_of(table: Table) -> list[tuple[object, ...]]:
    found = table.scan().to_arrow()
    return list(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True))


def changelog_files(file_io: MemoryFileIO, table: Table) -> set[str]:
    """Return the names of the changelog files on storage."""
    names = {status.name for status in file_io.list(f"{table.path}/bucket-0")}
    return {name for name in names if name.startswith("changelog-")}


def named_changelog_files(table: Table) -> set[str]:
    return {entry.file.file_name for part in table.changes(0) for entry in part.entries}


def check_every_fault(prepared: Callable[[], MemoryFileIO], act: Act) -> None:
    """Fail each call of an act, undone and with its answer lost, and look at what is there."""
    before = opened(prepared())
    rows_before, told_before = rows_of(before), told(before.changes(0))
    whole = prepared()
    act(opened(whole))
    rows_after, told_after = rows_of(opened(whole)), told(opened(whole).changes(0))
    assert told_after != told_before

    seen: list[Told] = []
    for number, is_done in product(range(calls_of(prepared(), act)), (False, True)):
        file_io = prepared()
        faulty = FaultyFileIO(file_io)
        table = opened(faulty)
        faulty.fail_calls(len(faulty.calls) + number, is_done=is_done, is_lasting=False)
        error: LakeError | None = None
        try:
            act(table)
        except LakeError as raised:
            error = raised
        fresh = opened(file_io)
        told_now = told(fresh.changes(0))
        place = f"call {number} of {faulty.calls[-1]}, done {is_done}: {error}"
        assert told_now in (told_before, told_after), place
        assert rows_of(fresh) == (rows_after if told_now == told_after else rows_before), place
        if error is None:
            assert told_now == told_after, place
        if not isinstance(error, CommitUnknown) and not is_done:
            assert changelog_files(file_io, fresh) == named_changelog_files(fresh), place
        seen.append(told_now)
    assert told_before in seen
    assert told_after in seen


def calls_of(file_io: MemoryFileIO, act: Act) -> int:
    faulty = FaultyFileIO(file_io)
    table = opened(faulty)
    opening = len(faulty.calls)
    act(table)
    return len(faulty.calls) - opening


def test_input_is_told_with_its_commit_or_not_at_all() -> None:
    options = {"changelog-producer": "input"}

    check_every_fault(lambda: given_storage(options), write_more)


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_compaction_tells_what_it_commits_or_nothing(producer: str) -> None:
    options = {"changelog-producer": producer}

    def prepared() -> MemoryFileIO:
        file_io = given_storage(options)
        write_more(opened(file_io))
        return file_io

    check_every_fault(prepared, lambda table: table.compact())
