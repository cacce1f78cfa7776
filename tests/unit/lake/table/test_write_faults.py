"""Storage fails, or the process dies, at every single call of `write_and_commit`.

Rows and changes are visible together or not at all, and what is left over is found by orphan cleaning.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

import pytest

from braid.lake import MemoryFileIO, StorageUnavailable, Table
from tests.given_tables import INDEX_FILES
from tests.support.fault_sweep import Sweep
from tests.support.faulty_file_io import FaultyFileIO
from tests.support.table_files import unneeded_files
from tests.unit.lake.maintenance.given_compactions import given_table, write
from tests.unit.lake.maintenance.given_faults import Judge, acting, later

pytestmark = [pytest.mark.slow, pytest.mark.sweep]

CASES: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {},
    "two buckets and manifests": {"bucket": "2", "manifest.merge-min-count": "2"},
    "several files": {"target-file-size": "1 kb"},
    "index files": INDEX_FILES,
    "input is the changelog": {"changelog-producer": "input"},
    "orc and avro files": {
        "file.format": "orc",
        "target-file-size": "4 kb",
        "changelog-producer": "input",
        "changelog-file.format": "avro",
    },
    "dynamic buckets": {"bucket": "-1", "dynamic-bucket.target-row-num": "20"},
}


def append(table: Table) -> None:
    write(table, *((k, k, f"text {k}") for k in range(10, 50)))


def given(options: Mapping[str, str]) -> MemoryFileIO:
    """Return storage with a table of two commits."""
    file_io = MemoryFileIO()
    given_table(options, file_io=file_io)
    write(later(file_io), (1, 1), (2, 2), (12, 3))
    write(later(file_io), (1,), (13, 4), kinds="-D +I")
    return file_io


def write_more(table: Table) -> None:
    """Write the same rows again: whether they were there before makes no difference."""
    append(table)
    table.compact()


@cache
def judge(name: str) -> Judge:
    sweep = Sweep(given=given(CASES[name]), opened=acting, act=append)
    return Judge(sweep=sweep, write_more=write_more)


CASE = pytest.mark.parametrize("name", CASES)


@CASE
def test_the_process_dies_at_any_call(name: str) -> None:
    judge(name).check_deaths()


@CASE
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
def test_storage_fails_once_at_any_call(name: str, is_done: bool) -> None:
    judge(name).check_failures(is_done=is_done, is_lasting=False)


@pytest.mark.parametrize("name", ["plain", "dynamic buckets"])
def test_storage_fails_permanently_at_any_call(name: str) -> None:
    judge(name).check_failures(is_done=False, is_lasting=True)


@pytest.mark.parametrize("method", ["write", "close_output"])
def test_a_failed_deletion_does_not_hide_the_error(method: str) -> None:
    """Of two files one is written and the other fails; the first cannot be deleted then."""
    inner = given({"target-file-size": "1 kb"})
    file_io = FaultyFileIO(inner)
    written: list[str] = []

    def fail(_: int, called: str, path: str) -> None:
        if called == method and "/bucket-" in path:
            written.append(path)
            if len(set(written)) > 1:
                raise OSError(28, "No space left on device")
        if called == "delete":
            message = "nothing is deleted today"
            raise StorageUnavailable(message)

    file_io.before = fail
    with pytest.raises((StorageUnavailable, OSError), match="No space left"):
        append(acting(file_io))

    left = unneeded_files(inner, later(inner))
    assert len(left) == 1
    assert len(later(inner).clean_orphans(min_age_ms=0).files) == 1
