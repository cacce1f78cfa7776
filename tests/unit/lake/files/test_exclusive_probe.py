"""Storage that replaces is found out."""

import pytest

from lake.errors import UnsupportedFeature
from lake.files.exclusive_probe import probe_exclusive_create
from lake.files.memory import MemoryFileIO


class ReplacingFileIO(MemoryFileIO):
    """Says yes every time, as a store does that ignores the condition."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        self.overwrite(path, data)
        return True


class SilentlyReplacingFileIO(MemoryFileIO):
    """Refuses in words and replaces in fact, as `exists` followed by `rename` can."""

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
