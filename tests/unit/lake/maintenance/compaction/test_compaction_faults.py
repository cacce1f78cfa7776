"""Storage fails, or the process dies, at every single call of a compaction of every kind.

Whatever happens: every snapshot has the rows and the changes that it had, the newest is as before the
compaction or as after it, orphan cleaning finds exactly the unreferenced files, and writes and compactions
continue as without the fault.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeAlias

import pytest

from braid.lake import CompactionResult, MemoryFileIO, Table
from tests.given_tables import INDEX_FILES
from tests.support.fault_sweep import Sweep
from tests.support.table_files import stored_files
from tests.unit.lake.maintenance.given_compactions import (
    PATH,
    given_table,
    write,
)
from tests.unit.lake.maintenance.given_faults import Judge, acting, later

pytestmark = [pytest.mark.slow, pytest.mark.sweep]

Act: TypeAlias = Callable[[Table], object]
Values: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A compaction of one kind.

    Attributes:
        options: Of the table (p, k, v, w).
        prepare: Writes something to compact.
        files: The numbers of files in, files out, and files that are only moved.
        makes: Prefixes of the files that it adds besides snapshots, manifests and their lists.
        full: Whether everything is compacted, or what is due.
        partition: Columns of the partition.
        others: Acts of another process before the first attempt to commit.
    """

    options: Mapping[str, str]
    prepare: Act
    files: tuple[int, int, int]
    makes: Sequence[str] = ("data",)
    full: bool = True
    partition: Sequence[str] = field(default=())
    others: Act | None = None


def kind_of(path: str) -> str:
    """Return the directory of a file, or the prefix of the name of a file in a bucket."""
    directory, name = path.split("/")[-2:]
    return name.split("-")[0] if directory.startswith("bucket-") else directory


def write_all(*batches: Sequence[Values], kinds: str | None = None) -> Act:
    """Return a function that commits batches of (k, v, w) one after another, the last one with kinds."""

    def act(table: Table) -> None:
        for batch in batches[:-1]:
            write(table, *batch)
        write(table, *batches[-1], kinds=kinds)

    return act


def in_turn(*acts: Act) -> Act:
    def act(table: Table) -> None:
        for one in acts:
            one(table)

    return act


def compact(table: Table, *, full: bool = True) -> CompactionResult:
    return table.compact(full=full)


def write_in_two_partitions(table: Table) -> None:
    for batch in range(2):
        for p in "xy":
            write(table, *((k, batch) for k in range(6)), p=p)


def pairs(*keys: int, v: int = 0) -> list[Values]:
    return [(k, v) for k in keys]


def texts(*keys: int) -> list[Values]:
    """Return rows that do not compress."""
    return [(k, k, random.Random(k).randbytes(45).hex()) for k in keys]


SMALL_FILES = {"target-file-size": "1 kb", "compaction.small-file-ratio": "0.1"}
# New small files are compacted apart from large ones.
APART = {"compaction.max-size-amplification-percent": "100000"}
MARKS = {"deletion-vectors.enabled": "true", **APART}
PARTIAL = {"merge-engine": "partial-update"}
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
COMPACTED_ROWS = write_all(texts(*range(200)))
BASE = in_turn(COMPACTED_ROWS, compact)
UPDATES = write_all(pairs(1, 2, 50), pairs(2, 3), pairs(4, 5), kinds="-D +I")
ADDED = write_all(pairs(1, 2, 500), pairs(2, 3, v=4))

CASES = {
    "full": Case(
        options=SMALL_FILES,
        prepare=in_turn(
            write_all([(k, k, f"text {k}") for k in range(60)], pairs(*range(40), v=-1)),
            write_all(pairs(1, 2, 3), kinds="-D -D -D"),
            write_all(pairs(100)),
        ),
        files=(6, 2, 1),
    ),
    "rolling": Case(
        options={"target-file-size": "2 kb"},
        prepare=write_all(texts(*range(30)), texts(*range(5, 60))),
        files=(6, 4, 2),
    ),
    "picked": Case(
        options={"num-sorted-run.compaction-trigger": "3", **APART},
        prepare=in_turn(BASE, write_all(pairs(1), pairs(2), pairs(3))),
        files=(3, 1, 0),
        full=False,
    ),
    "upgrade": Case(
        options=SMALL_FILES,
        prepare=write_all(texts(*range(10)), texts(*range(10, 20)), texts(*range(20, 30))),
        files=(6, 6, 6),
        makes=(),
    ),
    "level 0": Case(
        options={"num-sorted-run.compaction-trigger": "1", "num-levels": "2"},
        prepare=in_turn(BASE, write_all(pairs(1, 2), pairs(2, 3))),
        files=(2, 1, 0),
        full=False,
    ),
    "lookup": Case(
        options={"force-lookup": "true", **APART},
        prepare=in_turn(BASE, UPDATES),
        files=(3, 1, 0),
        full=False,
    ),
    "marks of 32 bits": Case(
        options=MARKS,
        prepare=in_turn(BASE, UPDATES),
        files=(3, 1, 0),
        makes=("data", "index"),
        full=False,
    ),
    "marks of 64 bits": Case(
        options={**MARKS, "deletion-vectors.bitmap64": "true"},
        prepare=in_turn(
            BASE, UPDATES, partial(compact, full=False), write_all(pairs(7), pairs(7, v=1))
        ),
        files=(3, 1, 0),
        makes=("data", "index"),
        full=False,
    ),
    "marks go": Case(
        options=MARKS,
        prepare=in_turn(BASE, UPDATES, partial(compact, full=False)),
        files=(2, 1, 0),
    ),
    "marks of partial updates": Case(
        options={**MARKS, **PARTIAL},
        prepare=in_turn(BASE, ADDED),
        files=(2, 1, 0),
        makes=("data", "index"),
        full=False,
    ),
    "marks of sums": Case(
        options={**MARKS, **SUMS},
        prepare=in_turn(BASE, ADDED),
        files=(2, 1, 0),
        makes=("data", "index"),
        full=False,
    ),
    "marks and changelog": Case(
        options={**MARKS, "changelog-producer": "lookup"},
        prepare=in_turn(BASE, UPDATES),
        files=(3, 1, 0),
        makes=("changelog", "data", "index"),
        full=False,
    ),
    "first rows": Case(
        options={"merge-engine": "first-row"},
        prepare=in_turn(BASE, ADDED),
        files=(2, 1, 0),
        full=False,
    ),
    "changelog of full compactions": Case(
        options={"changelog-producer": "full-compaction"},
        prepare=in_turn(BASE, UPDATES),
        files=(4, 1, 0),
        makes=("changelog", "data"),
    ),
    "changelog of lookups": Case(
        options={"changelog-producer": "lookup", **APART},
        prepare=in_turn(BASE, UPDATES),
        files=(3, 1, 0),
        makes=("changelog", "data"),
        full=False,
    ),
    "partial updates": Case(options=PARTIAL, prepare=in_turn(BASE, ADDED), files=(3, 1, 0)),
    "index files": Case(options=INDEX_FILES, prepare=in_turn(BASE, ADDED), files=(3, 1, 0)),
    "formats by level": Case(
        options={**PARTIAL, "file.format": "orc", "file.format.per.level": "0:avro"},
        prepare=in_turn(BASE, ADDED),
        files=(3, 1, 0),
    ),
    "sums": Case(options=SUMS, prepare=in_turn(BASE, ADDED), files=(3, 1, 0)),
    "dynamic buckets": Case(
        options={"bucket": "-1", "dynamic-bucket.target-row-num": "120"},
        prepare=in_turn(COMPACTED_ROWS, write_all(pairs(1, 2, 30, 31, 50))),
        files=(3, 2, 1),
    ),
    "partitions": Case(
        options={"bucket": "1"},
        partition=["p"],
        prepare=write_in_two_partitions,
        files=(4, 2, 0),
    ),
    "manifests": Case(
        options={"manifest.merge-min-count": "3"},
        prepare=write_all(pairs(1), pairs(2), pairs(3), pairs(4)),
        files=(4, 1, 0),
    ),
    "an append between": Case(
        options={"manifest.merge-min-count": "3"},
        prepare=write_all(pairs(1), pairs(2), pairs(3)),
        files=(3, 1, 0),
        others=write_all(pairs(4)),
    ),
    "a compaction between": Case(
        options=MARKS,
        prepare=in_turn(BASE, UPDATES),
        files=(0, 0, 0),
        makes=("data", "index"),
        full=False,
        others=partial(compact, full=False),
    ),
}


def given(case: Case) -> MemoryFileIO:
    file_io = MemoryFileIO()
    given_table(case.options, file_io=file_io, partition=case.partition)
    case.prepare(later(file_io))
    return file_io


def write_more(table: Table) -> None:
    write(table, (1, 1_000), (200, 2))
    table.compact()


@cache
def judge(name: str) -> Judge:
    case = CASES[name]
    act = partial(compact, full=case.full)
    sweep = Sweep(given=given(case), opened=acting, act=act)
    if case.others is not None:
        others = case.others
        sweep.others = lambda file_io: others(later(file_io))
    return Judge(sweep=sweep, write_more=write_more)


CASE = pytest.mark.parametrize("name", CASES)


@CASE
def test_each_case_compacts_as_its_name_says(name: str) -> None:
    case = CASES[name]
    sweep = judge(name).sweep

    result = sweep.result

    assert isinstance(result, CompactionResult)
    assert (result.files_in, result.files_out, result.files_moved) == case.files
    assert len(result.dropped) == (name == "a compaction between")
    added = stored_files(sweep.done, PATH) - stored_files(sweep.given, PATH)
    assert set(map(kind_of, added)) - {"manifest", "snapshot"} == set(case.makes)
    assert judge(name).before != judge(name).after


@CASE
def test_the_process_dies_at_any_call(name: str) -> None:
    judge(name).check_deaths()


@CASE
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
def test_storage_fails_once_at_any_call(name: str, is_done: bool) -> None:
    judge(name).check_failures(is_done=is_done, is_lasting=False)


@pytest.mark.parametrize("name", ["full", "marks and changelog", "an append between"])
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
def test_storage_fails_for_good_at_any_call(name: str, is_done: bool) -> None:
    judge(name).check_failures(is_done=is_done, is_lasting=True)


@CASE
@pytest.mark.soak
@pytest.mark.parametrize("is_done", [False, True], ids=["undone", "answer-lost"])
@pytest.mark.parametrize("is_lasting", [False, True], ids=["once", "for-good"])
def test_storage_fails_wherever_it_can(name: str, is_done: bool, is_lasting: bool) -> None:
    sweep = replace(judge(name).sweep, reads_all=True, share=1, endings={})
    everywhere = Judge(sweep=sweep, write_more=write_more)
    everywhere.check_failures(is_done=is_done, is_lasting=is_lasting)
