"""A runner leaves nothing in the temporary directory, and removes what a killed one has left."""

import os
import tempfile
from pathlib import Path

import pytest

from braid.pipelines.runner_process import _work_dir


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"braid-runner-{os.getuid()}"


def test_nothing_is_left_after_a_runner(temporary: Path) -> None:
    with _work_dir(None) as folder:
        (folder / "checkpoints").mkdir()

    assert list(temporary.iterdir()) == []


def test_the_directory_of_a_killed_runner_is_removed_and_that_of_a_living_one_kept(
    temporary: Path,
) -> None:
    left = temporary / "0123456789abcdef"
    with _work_dir(None) as living:
        (left / "scratch").mkdir(parents=True)
        left.with_suffix(".lock").touch()
        with _work_dir(None):
            assert not left.exists()
            assert living.exists()


def test_a_given_folder_is_emptied_and_kept(tmp_path: Path) -> None:
    for name in ("checkpoints", "scratch", "jvm"):
        (tmp_path / name / "old").mkdir(parents=True)

    with _work_dir(tmp_path) as folder:
        assert list(folder.iterdir()) == []
    assert tmp_path.exists()
