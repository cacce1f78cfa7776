"""Checks of a warehouse: exclusive creation, and the difference of clocks."""

from braid.cli.doctor.findings import Level
from braid.cli.doctor.storage import check_storage
from braid.lake import ManualClock, MemoryFileIO, StorageUnavailable


class _Unwritable(MemoryFileIO):
    """A storage whose mount is read-only."""

    reason = "read-only file system"

    def create_exclusive(self, path: str, data: bytes) -> bool:
        message = f"cannot write {path}: {self.reason}"
        raise StorageUnavailable(message)

    def probe_exclusive_create(self, directory: str) -> None:
        self.create_exclusive(f"{directory}/.probe", b"")


def test_a_storage_that_keeps_its_word_and_its_time() -> None:
    clock = ManualClock()
    found = list(check_storage(MemoryFileIO(clock=clock), "/w", clock))

    assert [(one.check, one.level) for one in found] == [("storage", Level.OK), ("clock", Level.OK)]


def test_a_clock_that_is_far_from_storages() -> None:
    storage = MemoryFileIO(clock=ManualClock(start_ms=1_700_000_060_000))
    (_, clock) = check_storage(storage, "/w", ManualClock(start_ms=1_700_000_000_000))

    assert clock.level is Level.WARNING
    assert clock.found == "this machine's clock is 60.0 s behind the storage's"
    assert clock.advice is not None


def test_a_storage_that_cannot_be_written_ends_the_check() -> None:
    (found,) = check_storage(_Unwritable(), "/w", ManualClock())

    assert (found.check, found.level) == ("storage", Level.PROBLEM)
    assert "read-only file system" in found.found
    assert found.advice == "check mount, owner, permissions and login of the warehouse"


def test_the_hint_of_a_full_disk_is_the_advice() -> None:
    storage = _Unwritable()
    storage.reason = "no space\nhint: free some space"
    (found,) = check_storage(storage, "/w", ManualClock())

    assert found.found.endswith("no space")
    assert found.advice == "free some space"
