"""Storage fails at every single call of an expiry, and the process dies at every one.

Whatever happens: every existing snapshot has the rows that it had, the newest exists, no needed file is
missing, the unreferenced files are those of one step at most, and expiring again finishes the work.
"""

import contextlib
from collections.abc import Callable
from functools import cache, partial

import pytest

from braid.lake import (
    ExpiryResult,
    InvalidRequest,
    Lease,
    LeaseLost,
    ManualClock,
    MemoryFileIO,
    StorageUnavailable,
    Table,
)
from braid.lake.format.tag import Tag
from braid.lake.snapshots.changelog_store import ChangelogStore
from braid.lake.snapshots.consumer_store import ConsumerStore
from braid.lake.snapshots.manifest_store import ManifestStore
from tests.given_tables import INDEX_FILES
from tests.support.fault_sweep import Sweep, moments
from tests.support.faulty_file_io import Died, FaultyFileIO
from tests.support.table_files import copied, paths_below
from tests.unit.lake.maintenance.given_compactions import PATH, reopened
from tests.unit.lake.maintenance.given_expiries import (
    expire_all,
    given_history,
    kept_ids,
    needed,
    states,
    stored,
)

pytestmark = [pytest.mark.slow, pytest.mark.sweep]

Files = dict[int, set[str]]


OPTIONS = {
    "index files": INDEX_FILES,
    "changelogs outlive": {"changelog.num-retained.min": "20", "changelog.num-retained.max": "30"},
    "input changelog": {
        "changelog-producer": "input",
        "changelog.num-retained.min": "2",
        "changelog.time-retained": "2 h",
    },
}


def given_storage(options: str = "index files") -> MemoryFileIO:
    """Return storage with six snapshots, of which a tag keeps 3 and a consumer 5."""
    return copied(_storage(options))


@cache
def _storage(options: str) -> MemoryFileIO:
    file_io = MemoryFileIO()
    table, _ = given_history(OPTIONS[options], file_io=file_io, count=6)
    table.create_tag("a", snapshot_id=3)
    table.reset_consumer("reports", 5)
    return file_io


def sweep(options: str) -> Sweep:
    faults = Sweep(given=given_storage(options), opened=reopened, act=expire_all)
    assert isinstance(faults.result, ExpiryResult)
    assert faults.result.snapshots == (1, 2, 3, 4)
    return faults


def moments_of(options: str) -> range:
    return moments(sweep(options).calls)


def largest_step(options: str) -> int:
    """Return the most files that one step of the expiry deletes, the snapshot not counted."""
    table = reopened(given_storage(options))
    before, largest = len(stored(table)), 0
    for _ in range(4):
        table.expire(retain_min=1, older_than_ms=1 << 60, max_deletes=1)
        after = len(stored(table))
        before, largest = after, max(largest, before - after)
    return largest


def assert_whole(inner: MemoryFileIO, expected: Files, *, largest: int) -> None:
    """Check the table as a new process finds it, and finish the expiry."""
    table = reopened(inner)
    ids = kept_ids(table)
    assert ids
    assert ids == list(range(ids[0], 7))
    assert ids[0] <= 5
    assert states(table) == {number: expected[number] for number in ids}
    assert tagged(table) == expected[3]
    assert needed(table) <= stored(table)
    left_over = stored(table) - needed(table)
    assert len(left_over) <= largest
    assert left_over - listed_by_changelogs(table) <= found_orphans(inner) <= left_over

    expire_all(table)

    assert kept_ids(table) == [5, 6]
    assert states(table) == {number: expected[number] for number in (5, 6)}
    assert tagged(table) == expected[3]
    assert stored(table) - needed(table) <= left_over
    assert found_orphans(inner) <= left_over


def found_orphans(inner: MemoryFileIO) -> set[str]:
    """Return the names of the files that orphan cleaning finds when every file is old."""
    late = Table.open(PATH, file_io=inner, clock=ManualClock(start_ms=1 << 42))
    report = late.clean_orphans(min_age_ms=0)
    names = {file.path.rpartition("/")[2] for file in report.files}
    halves = {path.rpartition("/")[2] for path in paths_below(inner) if "/." in path}
    assert halves <= names
    return names - halves


def listed_by_changelogs(table: Table) -> set[str]:
    """Return the manifests and lists that a kept changelog names, whether it needs them or not.

    Only the changelog's own expiry can tell.
    """
    manifests = ManifestStore(table.file_io, table.paths)
    names: set[str] = set()
    changelogs = ChangelogStore(table.file_io, table.paths)
    for changelog in map(changelogs.find, changelogs.list_ids()):
        assert changelog is not None
        for name in (changelog.base_manifest_list, changelog.delta_manifest_list):
            if table.file_io.exists(table.paths.manifest(name)):
                names |= {name, *(file.file_name for file in manifests.read_list(name))}
    return names


def tagged(table: Table, name: str = "a") -> set[str]:
    """Return the names of the data files of a tag."""
    (found,) = [found for found in table.tags() if found.name == name]
    return {entry.file.file_name for entry in table.live_files(found.snapshot)}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_at_any_call(options: str, is_done: bool, is_lasting: bool) -> None:
    expected = states(reopened(given_storage(options)))
    largest = largest_step(options)
    faults = sweep(options)
    for end in faults.failures(is_done=is_done, is_lasting=is_lasting):
        assert_whole(end.file_io, expected, largest=largest)
    # Only failures of hints are ignored.
    assert faults.endings.keys() <= {None, StorageUnavailable}
    assert StorageUnavailable in faults.endings


@pytest.mark.parametrize("options", OPTIONS)
def test_the_process_dies_at_any_call(options: str) -> None:
    expected = states(reopened(given_storage(options)))
    largest = largest_step(options)
    faults = sweep(options)
    for end in faults.deaths():
        assert_whole(end.file_io, expected, largest=largest)
    assert faults.endings.keys() == {Died}


# Another process acts while a snapshot is being removed


def at_call(call: int, action: Callable[[], object]) -> Callable[[int, str, str], None]:
    """Return a hook that calls a function before a storage call."""

    def hook(number: int, _: str, __: str) -> None:
        if number == call:
            action()

    return hook


def take(reader: Table, number: int, leases: list[Lease]) -> None:
    with contextlib.suppress(InvalidRequest):
        leases.append(reader.lease(number))


def tag(reader: Table, number: int, tags: list[Tag]) -> None:
    with contextlib.suppress(InvalidRequest):
        tags.append(reader.create_tag("late", snapshot_id=number))


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_lease_that_comes_at_any_moment_is_kept_or_refused(number: int) -> None:
    expected = states(reopened(given_storage()))
    taken = refused = 0
    for call in moments_of("index files"):
        inner = given_storage()
        file_io = FaultyFileIO(inner)
        table, reader = reopened(file_io), reopened(inner)
        leases: list[Lease] = []
        file_io.before = at_call(len(file_io.calls) + call, partial(take, reader, number, leases))

        result = expire_all(table)

        if leases:
            taken += 1
            leases[0].check()
            assert result.earliest == number
            assert states(reader) == {n: expected[n] for n in range(number, 7)}
            leases[0].release()
        else:
            refused += 1
            assert result.earliest == 5
        assert [file.id for file in reader.consumers()] == ["reports"]
        assert stored(reader) == needed(reader)
    assert taken
    assert refused


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_tag_that_comes_at_any_moment_is_whole_or_refused(number: int) -> None:
    expected = states(reopened(given_storage()))
    taken = refused = 0
    for call in moments_of("index files"):
        inner = given_storage()
        file_io = FaultyFileIO(inner)
        table, reader = reopened(file_io), reopened(inner)
        tags: list[Tag] = []
        file_io.before = at_call(len(file_io.calls) + call, partial(tag, reader, number, tags))

        result = expire_all(table)

        fresh = reopened(inner)
        assert result.earliest == 5
        assert sorted(found.name for found in fresh.tags()) == ["a", "late"][: 1 + len(tags)]
        if tags:
            taken += 1
            assert tagged(fresh, "late") == expected[number]
        else:
            refused += 1
        assert stored(fresh) == needed(fresh)
    assert taken
    assert refused


@pytest.mark.parametrize("options", OPTIONS)
def test_another_expiry_at_any_moment_does_the_rest(options: str) -> None:
    expected = states(reopened(given_storage(options)))
    for call in moments_of(options):
        inner = given_storage(options)
        file_io = FaultyFileIO(inner)
        table, other = reopened(file_io), reopened(inner)
        file_io.before = at_call(len(file_io.calls) + call, partial(expire_all, other))

        expire_all(table)

        fresh = reopened(inner)
        assert states(fresh) == {number: expected[number] for number in range(5, 7)}
        assert stored(fresh) == needed(fresh)


def test_a_mark_that_was_left_behind_goes_after_a_day() -> None:
    inner = given_storage()
    table = reopened(inner)
    clock = ManualClock()
    store = ConsumerStore(inner, table.paths)
    store.mark_expiring("dead", table.snapshot(5))
    (status,) = [s for s in inner.list(table.paths.consumer_dir) if s.name == "expiring-dead"]
    clock.advance(ms=status.modified_ms + 24 * 3_600_000 - clock.now_ms())
    later = Table.open(PATH, file_io=inner, clock=clock)

    with pytest.raises(LeaseLost, match="about to expire"):
        later.lease(5)
    later.lease(6).release()
    later.expire(retain_min=6)
    assert store.is_marked_expiring(table.snapshot(5))
    clock.advance(ms=1)
    later.expire(retain_min=6)

    assert not store.is_marked_expiring(table.snapshot(5))
    later.lease(5).release()
