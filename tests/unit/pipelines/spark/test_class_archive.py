"""An archive of classes belongs to one Java and one class path, and is used only if it is there."""

import os
from pathlib import Path

import pytest

from braid.pipelines.spark.class_archive import archive_options, archive_path


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A jar in a folder whose name has a blank; archives are in another such folder."""
    monkeypatch.setenv("BRAID_JARS", str(tmp_path / "all jars"))
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    (java.parents[1] / "release").write_text('JAVA_VERSION="17.0.1"\n')
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    path = tmp_path / "some.jar"
    path.write_bytes(b"content")
    return path


def test_a_changed_jar_needs_another_archive(jar: Path) -> None:
    before = archive_path([jar])
    assert archive_path([jar]) == before
    assert archive_path([]) != before

    os.utime(jar, (1, 1))

    assert archive_path([jar]) != before


def test_another_java_needs_another_archive(jar: Path, tmp_path: Path) -> None:
    before = archive_path([jar])

    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.2"\n')

    assert archive_path([jar]) != before


def test_the_archive_is_used_if_it_is_there(jar: Path) -> None:
    assert archive_options([jar]) == []
    path = archive_path([jar])
    path.parent.mkdir(parents=True)
    path.touch()

    assert f'"-XX:SharedArchiveFile={path}"' in archive_options([jar])
