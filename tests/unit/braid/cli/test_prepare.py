"""What runners only start faster with does not keep executors from getting their packages."""

from pathlib import Path

import pytest

from braid.cli.prepare import prepare
from braid.pipelines.spark.environment_archive import archive_digest


def test_packages_are_packed_although_classes_cannot_be_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    archive = tmp_path / "code.tar.gz"

    status = prepare([], archive=archive, packages=(), is_code_only=True)

    shown = capsys.readouterr()
    assert status == 1
    assert "error: the classes of Spark's JVM are not archived: JAVA_HOME" in shown.err
    assert f"what executors need is in {archive} (made): 1 package" in shown.out
    assert archive_digest(archive)
