"""Behaviour that only storage on a file system has."""

import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from braid.lake.errors import CorruptData, StorageUnavailable
from braid.lake.files.storage.disk import SystemDisk
from braid.lake.files.storage.local import LocalFileIO
from tests.support.volatile_disk import Survival, VolatileDisk


def test_storage_can_be_pickled() -> None:
    assert isinstance(pickle.loads(pickle.dumps(LocalFileIO())), LocalFileIO)


def test_errors_of_the_system_are_translated(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageUnavailable, match="ENOTDIR"):
        LocalFileIO().read_bytes(f"{tmp_path}/file/below")
    with pytest.raises(CorruptData, match="there is a directory in the place of the file"):
        LocalFileIO().read_bytes(str(tmp_path))
    with pytest.raises(CorruptData, match="there is a directory in the place of the file"):
        LocalFileIO().read_range(str(tmp_path), 0, 1)
    with pytest.raises(CorruptData, match="there is a directory in the place of the file"):
        LocalFileIO().open_input(str(tmp_path))


def test_two_processes_remove_one_directory_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / "t" / name).mkdir(parents=True)
        (tmp_path / "t" / name / "file").write_bytes(b"")
    remove = os.rmdir
    removed: list[Any] = []

    def remove_after_another(path: Any, **options: Any) -> None:
        """Remove a directory that another process has just removed."""
        if not removed:
            removed.append(path)
            remove(path, **options)
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", remove_after_another)
    LocalFileIO().delete_tree(f"{tmp_path}/t")

    assert removed
    assert not (tmp_path / "t").exists()


def test_a_path_below_a_file_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    assert not LocalFileIO().exists(f"{tmp_path}/file/below")


def test_a_hint_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "hint" / "in-the-way").mkdir(parents=True)

    with pytest.raises(StorageUnavailable):
        LocalFileIO().overwrite(f"{tmp_path}/hint", b"1")

    assert [path.name for path in tmp_path.iterdir()] == ["hint"]


class FullDisk(SystemDisk):
    """A disk without room for a byte."""

    def write(self, descriptor: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("write", ["write_new", "create_exclusive", "overwrite"])
def test_a_full_disk_says_what_to_do_and_keeps_nothing(tmp_path: Path, write: str) -> None:
    with pytest.raises(StorageUnavailable, match=r"ENOSPC\)\nhint: the disk is full: free some"):
        getattr(LocalFileIO(FullDisk()), write)(f"{tmp_path}/file", b"x")

    assert not list(tmp_path.iterdir())


class NoFolders(SystemDisk):
    """A disk such as `/proc`, which creates no directory and gives no reason."""

    def make_directory(self, path: str) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)


def _open_output(storage: LocalFileIO, path: str) -> None:
    with storage.open_output(path):
        pass


@pytest.mark.parametrize(
    "write",
    [
        lambda storage, path: storage.write_new(path, b""),
        lambda storage, path: storage.create_exclusive(path, b""),
        lambda storage, path: storage.overwrite(path, b""),
        _open_output,
    ],
    ids=["write_new", "create_exclusive", "overwrite", "open_output"],
)
def test_a_directory_that_cannot_be_created_is_a_failure_of_storage(
    tmp_path: Path, write: Callable[[LocalFileIO, str], object]
) -> None:
    with pytest.raises(
        StorageUnavailable, match=r"w/file: its directory cannot be created.*ENOENT"
    ):
        write(LocalFileIO(NoFolders()), f"{tmp_path}/w/file")


@pytest.mark.parametrize("write", ["write_new", "create_exclusive", "overwrite"])
def test_a_file_in_a_directory_of_a_process_that_died_survives_a_power_failure(write: str) -> None:
    disk = VolatileDisk()
    for directory in ("/w", "/w/t", "/w/t/snapshot"):
        disk.make_directory(directory)  # and its maker dies before it syncs the name

    getattr(LocalFileIO(disk), write)("/w/t/snapshot/1", b"x")

    *_, (_, _, left) = disk.failures({disk.count: (Survival.NOTHING,)}, seed=1)
    assert LocalFileIO(VolatileDisk(left)).read_bytes("/w/t/snapshot/1") == b"x"


def test_a_directory_that_was_made_durable_is_synced_once() -> None:
    disk = VolatileDisk()
    file_io = LocalFileIO(disk)
    counts = []
    for name in ("1", "2", "3"):
        before = disk.count
        file_io.write_new(f"/w/t/{name}", b"x")
        counts.append(disk.count - before)
    disk.remove_tree("/w/t")
    disk.make_directory("/w/t")
    before = disk.count
    file_io.write_new("/w/t/4", b"x")

    assert counts[0] > counts[1] == counts[2]
    assert disk.count - before == counts[2] + 1


def test_a_directory_above_that_cannot_be_opened_stops_no_write(tmp_path: Path) -> None:
    class Closed(SystemDisk):
        def sync_directory(self, path: str) -> None:
            if path == str(tmp_path):
                raise PermissionError(errno.EACCES, "Permission denied")
            super().sync_directory(path)

    (tmp_path / "w").mkdir()
    LocalFileIO(Closed()).write_new(f"{tmp_path}/w/file", b"x")

    assert (tmp_path / "w" / "file").read_bytes() == b"x"
