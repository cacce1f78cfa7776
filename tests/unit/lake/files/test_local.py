"""What only a disk can do."""

import pickle
from pathlib import Path

import pytest

from lake.errors import StorageUnavailable
from lake.files.local import LocalFileIO


def test_storage_travels_to_other_processes() -> None:
    assert isinstance(pickle.loads(pickle.dumps(LocalFileIO())), LocalFileIO)


def test_errors_of_the_system_are_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageUnavailable, match="ENOTDIR"):
        LocalFileIO().read_bytes(f"{tmp_path}/file/below")
    with pytest.raises(StorageUnavailable, match="EISDIR"):
        LocalFileIO().read_bytes(str(tmp_path))


def test_a_path_below_a_file_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    assert not LocalFileIO().exists(f"{tmp_path}/file/below")


def test_a_hint_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "hint" / "in-the-way").mkdir(parents=True)

    with pytest.raises(StorageUnavailable):
        LocalFileIO().overwrite(f"{tmp_path}/hint", b"1")

    assert [path.name for path in tmp_path.iterdir()] == ["hint"]
