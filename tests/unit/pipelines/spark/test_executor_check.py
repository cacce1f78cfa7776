"""Executors that have another Python or other code are named, with what they have and what is expected."""

import platform
from pathlib import Path

import pytest

from braid.pipelines.spark.executor_check import differences, problem_of_failure
from braid.pipelines.spark.executor_probe import code_digest, probe, source_files


def test_this_process_differs_in_nothing() -> None:
    (found,) = probe(iter([]))

    assert found["python"] == platform.python_version()
    assert found["code"] == code_digest()
    assert differences([found, found]) == []


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"python": "3.9.2"}, "has another Python; expected 3."),
        ({"code": "0123"}, "has other code of Braid; expected the driver's"),
        ({"missing": "braid, obstore"}, "lacks these packages"),
    ],
)
def test_a_difference_is_told_once_for_each_python(changed: dict[str, str], text: str) -> None:
    (found,) = probe(iter([]))
    other = {**found, **changed, "host": "far"}

    (problem,) = differences([found, other, other])

    assert text in problem.message
    assert " on far" in problem.message
    assert problem.value in changed.values()
    assert "braid prepare --archive" in str(problem.hint)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Cannot run program "python3.13": error=2, No such file', "python3.13"),
        ("Python in worker has different version: 3.9 than that in driver: 3.12, …", "3.9"),
        ("Error from python worker: No module named pyspark", "pyspark"),
    ],
)
def test_a_python_that_does_not_start_is_explained(text: str, value: str) -> None:
    problem = problem_of_failure(f"Job aborted due to stage failure: {text}")

    assert problem is not None
    assert problem.value == value


def test_other_failures_are_not_explained() -> None:
    assert problem_of_failure("Job aborted: ExecutorLostFailure") is None


def test_the_files_of_a_package_are_sorted_and_follow_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/b.py").touch()
    (tmp_path / "real/data.txt").touch()
    root = tmp_path / "package"
    root.mkdir()
    (root / "a.py").touch()
    (root / "linked").symlink_to(tmp_path / "real")

    assert [name for name, _ in source_files(root)] == ["a.py", "linked/b.py"]
