"""A runner leaves nothing in the temporary directory, and removes what a killed one has left."""

import os
import tempfile
from pathlib import Path

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters, NamedCluster
from braid.lake import InvalidRequest
from braid.pipelines.runner_process import _readable_jars, _work_dir


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


def test_archives_of_clusters_are_there_or_named(tmp_path: Path) -> None:
    there, missing = tmp_path / "there.jar", tmp_path / "missing.jar"
    there.touch()

    def clusters(*jars: Path) -> KafkaClusters:
        cloud = NamedCluster(
            name="cloud", bootstrap_servers="a:1", jars=tuple(str(jar) for jar in jars)
        )
        return KafkaClusters(by_name={"cloud": cloud})

    assert _readable_jars(clusters(there)) == (str(there),)
    with pytest.raises(InvalidRequest, match="archive") as caught:
        _readable_jars(clusters(there, missing))
    assert [problem.value for problem in caught.value.problems] == [str(missing)]
