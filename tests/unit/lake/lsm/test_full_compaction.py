"""Which files a full compaction merges, which it moves, and which it leaves alone."""

from dataclasses import dataclass

import pytest

from lake.format.data_file import DataFileMeta
from lake.lsm.full_compaction import FullCompactionPlan, plan_full_compaction
from lake.options import TableOptions
from tests.support.committing import ID, data_file

SMALL = 699
LARGE = 700
OPTIONS = {"target-file-size": "1000 b"}  # times 0.7: from 700 bytes a file is large
TOP = 5


def file(  # the arguments of a row of the tables below
    name: str, level: int, low: int, high: int, size: int = SMALL, retracts: int | None = 0
) -> DataFileMeta:
    return data_file(
        name, level=level, low=low, high=high, file_size=size, delete_row_count=retracts
    )


def plan(*files: DataFileMeta, **options: str) -> FullCompactionPlan:
    given = {**OPTIONS, **{key.replace("_", "-"): value for key, value in options.items()}}
    return plan_full_compaction(files, [ID], TableOptions.parse(given))


@dataclass(frozen=True)
class Case:
    """Files, and the names of those that are moved and of those rewritten together."""

    files: tuple[DataFileMeta, ...]
    moved: str = ""
    rewritten: tuple[str, ...] = ()


CASES = {
    "nothing there": Case(()),
    "one small file is moved": Case((file("a", 0, 0, 9),), moved="a"),
    "one large file is moved": Case((file("a", 0, 0, 9, LARGE),), moved="a"),
    "one run on the highest level stays": Case((file("a", TOP, 0, 9), file("b", TOP, 10, 19))),
    "retracts on the highest level stay while nothing else is there": Case(
        (file("a", TOP, 0, 9, retracts=3),)
    ),
    "overlapping files are merged": Case(
        (file("a", 0, 0, 9, LARGE), file("b", 0, 5, 14, LARGE)), rewritten=("ab",)
    ),
    "a file below the highest level moves up": Case((file("a", 3, 0, 9, LARGE),), moved="a"),
    "small neighbours are merged, though they do not overlap": Case(
        (file("a", 0, 0, 9), file("b", 0, 10, 19)), rewritten=("ab",)
    ),
    "large neighbours are moved": Case(
        (file("a", 0, 0, 9, LARGE), file("b", 0, 10, 19, LARGE)), moved="ab"
    ),
    "a small file between large ones is moved": Case(
        (file("a", 0, 0, 9, LARGE), file("b", 0, 10, 19), file("c", 0, 20, 29, LARGE)), moved="abc"
    ),
    "a large file closes what waits": Case(
        (
            file("a", 0, 0, 9),
            file("b", 0, 10, 19),
            file("c", 0, 20, 29, LARGE),
            file("d", 0, 30, 39),
            file("e", 1, 35, 49),
        ),
        moved="c",
        rewritten=("ab", "de"),
    ),
    "a small file goes with the overlapping ones beside it": Case(
        (file("a", 0, 0, 9), file("b", 0, 10, 19), file("c", 0, 15, 24)), rewritten=("abc",)
    ),
    "a small file of the highest level is merged with its neighbour": Case(
        (file("a", TOP, 0, 9), file("b", 0, 10, 19)), rewritten=("ab",)
    ),
    "a large file of the highest level stays": Case(
        (file("a", TOP, 0, 9, LARGE), file("b", 0, 10, 19)), moved="b"
    ),
    "a large file of the highest level that holds retracts is rewritten alone": Case(
        (file("a", TOP, 0, 9, LARGE, retracts=1), file("b", 0, 10, 19)), moved="b", rewritten=("a",)
    ),
    "a lone file with retracts is rewritten": Case(
        (file("a", 0, 0, 9, retracts=1),), rewritten=("a",)
    ),
    "a file that may have retracts is rewritten": Case(
        (file("a", 0, 0, 9, LARGE, retracts=None),), rewritten=("a",)
    ),
    "files of one run are judged one by one": Case(
        (
            file("a", 1, 0, 9, LARGE),
            file("b", 1, 10, 19),
            file("c", 1, 20, 29),
            file("d", 1, 30, 39, LARGE, retracts=2),
        ),
        moved="a",
        rewritten=("bc", "d"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_becomes_of_the_files(case: Case) -> None:
    found = plan(*case.files)

    assert found.output_level == TOP
    assert names(found.upgrades) == case.moved
    assert tuple("".join(sorted(names(r.files))) for r in found.rewrites) == case.rewritten
    assert found.is_empty == (not case.moved and not case.rewritten)
    assert sorted(names(found.files)) == sorted(case.moved + "".join(case.rewritten))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_order_of_the_files_does_not_matter(case: Case) -> None:
    assert plan(*reversed(case.files)) == plan(*case.files)


@pytest.mark.parametrize(
    ("options", "level", "expected"),
    [
        ({}, 0, 5),
        ({"num-levels": "3"}, 0, 2),
        ({"num-sorted-run.compaction-trigger": "2"}, 0, 2),
        ({"num-levels": "3"}, 4, 4),
        ({"num-levels": "3"}, 2, 2),
    ],
)
def test_the_highest_level(options: dict[str, str], level: int, expected: int) -> None:
    files = [file("a", level, 0, 9), file("b", 0, 5, 14)]

    found = plan_full_compaction(files, [ID], TableOptions.parse(options))

    assert found.output_level == expected


def test_the_small_file_ratio_is_an_option() -> None:
    files = (file("a", 0, 0, 9, 500), file("b", 0, 10, 19, 500))

    assert names(plan(*files, **{"compaction.small-file-ratio": "0.5"}).upgrades) == "ab"


def test_forced_rewriting_concerns_the_highest_level_too() -> None:
    files = (file("a", TOP, 0, 9), file("b", TOP, 10, 19))

    found = plan(*files, **{"compaction.force-rewrite-all-files": "true"})

    assert [names(rewrite.files) for rewrite in found.rewrites] == ["a", "b"]
    assert found.upgrades == ()


def test_forced_rewriting_moves_nothing() -> None:
    files = (file("a", 0, 0, 9, LARGE), file("b", TOP, 10, 19, LARGE), file("c", 0, 30, 39))

    found = plan(*files, **{"compaction.force-rewrite-all-files": "true"})

    assert [names(rewrite.files) for rewrite in found.rewrites] == ["a", "b", "c"]
    assert found.upgrades == ()


def names(files: tuple[DataFileMeta, ...]) -> str:
    return "".join(file.file_name for file in files)
