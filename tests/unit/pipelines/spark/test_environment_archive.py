"""The archive has what tasks import, is the same for the same packages, and is made only when it is out of date."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from braid.lake import InvalidRequest
from braid.pipelines.spark.environment_archive import (
    DIGEST_NAME,
    archive_digest,
    make_environment_archive,
)


@pytest.mark.slow
def test_the_code_of_an_archive_is_what_a_python_without_braid_imports(tmp_path: Path) -> None:
    made = make_environment_archive(tmp_path / "code.tar.gz", is_code_only=True)
    with tarfile.open(made.path) as archive:
        archive.extractall(tmp_path / "environment", filter="data")
    program = (
        "import braid.pipelines.sink.write_task as task, importlib.metadata as metadata\n"
        "print(task.__file__, metadata.version('braid-lake'))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": "environment"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.startswith(str(tmp_path / "environment")), done.stderr
    assert made.packages == (f"braid-lake {done.stdout.split()[-1]}",)


def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    first = make_environment_archive(tmp_path / "a.tar.gz", is_code_only=True)
    second = make_environment_archive(tmp_path / "b.tar.gz", is_code_only=True)

    assert first.path.read_bytes() == second.path.read_bytes()
    assert archive_digest(first.path) == first.digest


def test_an_archive_is_made_again_only_when_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "code.tar.gz"
    assert make_environment_archive(path, is_code_only=True).is_new
    assert not make_environment_archive(path, is_code_only=True).is_new

    assert make_environment_archive(path, packages=["orjson"], is_code_only=True).is_new
    path.write_bytes(path.read_bytes()[:20])
    assert make_environment_archive(path, is_code_only=True).is_new
    assert [one.name for one in tmp_path.iterdir()] == ["code.tar.gz"]


def test_an_archive_holds_no_tests_links_or_byte_code(tmp_path: Path) -> None:
    made = make_environment_archive(tmp_path / "a.tar.gz", packages=["xxhash"], is_code_only=True)
    with tarfile.open(made.path) as archive:
        members = archive.getmembers()

    assert members[0].name == DIGEST_NAME
    assert all(member.isreg() and member.mtime == 0 for member in members)
    names = [member.name for member in members]
    assert len(names) == len(set(names))
    assert not [name for name in names if name.endswith((".pyc", ".pyi", ".pth"))]
    assert {"braid/pipelines/spark/jars.lock", "xxhash/__init__.py"} <= set(names)


def test_a_package_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no-such-package"):
        make_environment_archive(tmp_path / "a.tar.gz", packages=["no-such-package"])


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"\.tar\.gz"):
        make_environment_archive(tmp_path / "a.zip")


def test_another_file_has_no_digest(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(__file__, "braid")

    assert archive_digest(tmp_path / "a.tar.gz") is None
    assert archive_digest(tmp_path / "absent.tar.gz") is None
