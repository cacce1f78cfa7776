"""Storage without exclusive creation is detected."""

import threading

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.files.storage.exclusive_probe import probe_exclusive_create, probe_exclusive_race
from braid.lake.files.storage.memory import MemoryFileIO
from tests.support.waiting import PATIENCE_S


class ReplacingFileIO(MemoryFileIO):
    """Returns True every time, as a store that ignores the condition."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        self.overwrite(path, data)
        return True


class SilentlyReplacingFileIO(MemoryFileIO):
    """Returns False but replaces the file, as `exists` followed by `rename` can."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        was_there = self.exists(path)
        self.overwrite(path, data)
        return not was_there


@pytest.mark.parametrize("storage", [ReplacingFileIO(), SilentlyReplacingFileIO()])
def test_storage_that_replaces_is_refused(storage: MemoryFileIO) -> None:
    with pytest.raises(UnsupportedFeature, match="overwrite each other") as caught:
        probe_exclusive_create(storage, "/warehouse")

    assert caught.value.problems[0].value == "/warehouse"
    assert storage.list("/warehouse") == []


class LookingFileIO(MemoryFileIO):
    """Checks first and writes afterwards, as gateways do: two concurrent calls both succeed."""

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(8)

    def create_exclusive(self, path: str, data: bytes) -> bool:
        if self.exists(path):
            return False
        self.together.wait(PATIENCE_S)
        self.overwrite(path, data)
        return True


def test_storage_that_checks_before_it_writes_passes_one_probe_and_not_the_other() -> None:
    storage = LookingFileIO()
    storage.together = threading.Barrier(1)
    probe_exclusive_create(storage, "/warehouse")
    storage.together = threading.Barrier(8)

    with pytest.raises(UnsupportedFeature, match="at the same moment"):
        probe_exclusive_race(storage, "/warehouse")

    assert storage.list("/warehouse") == []


class ForgetfulFileIO(MemoryFileIO):
    """Repeats a request whose response was lost, and is refused because the first one had its effect."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        super().create_exclusive(path, data)
        return False


def test_a_lost_response_does_not_fail_the_probe() -> None:
    probe_exclusive_create(ForgetfulFileIO(), "/warehouse")
    probe_exclusive_race(ForgetfulFileIO(), "/warehouse")
    probe_exclusive_race(MemoryFileIO(), "/warehouse")
