"""Compaction plans: which files of a unit are merged, change their level, or stay."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from braid.lake.format.data_file import DataFileMeta
from braid.lake.lsm.compaction_pick import CompactionUnit
from braid.lake.lsm.compaction_plan import CompactionPlan, full_compaction_unit, plan_compaction
from braid.lake.lsm.levels import LevelRun, Levels, levels_of
from braid.lake.options.table_options import TableOptions
from tests.support.committing import ID, data_file

TOP = 2
DECLARED = {"num-levels": "3", "target-file-size": "3 b", "compaction.small-file-ratio": "0.6"}


def given_files(text: str) -> tuple[DataFileMeta, ...]:
    """Return files of `level[low,high]`, newest last; `-` behind has retracts, `?` may have."""
    files = []
    for index, word in enumerate(text.split()):
        level, bounds = word.rstrip("-?").removesuffix("]").split("[")
        low, high = map(int, bounds.split(","))
        retracts = {"-": 1, "?": None}.get(word[-1], 0)
        files.append(
            data_file(
                word.rstrip("-?"),
                level=int(level),
                low=low,
                high=high,
                file_size=high - low + 1,
                min_sequence_number=index,
                max_sequence_number=index,
                delete_row_count=retracts,
            )
        )
    return tuple(files)


def options(given: Mapping[str, str] | None = None) -> TableOptions:
    return TableOptions.parse({**DECLARED, **(given or {})})


def plan(
    text: str,
    given: Mapping[str, str] | None = None,
    *,
    unit: str | None = None,
    output_level: int = TOP,
) -> CompactionPlan:
    """Return the plan for the named files, for all unless outcome."""
    parsed = options(given)
    levels = levels_of(given_files(text), parsed)
    picked = [word.rstrip("-?") for word in (text if unit is None else unit).split()]
    return plan_compaction(
        CompactionUnit(output_level=output_level, runs=runs_of(levels, picked)),
        levels,
        [ID],
        parsed,
    )


def runs_of(levels: Levels, names: list[str]) -> tuple[LevelRun, ...]:
    return tuple(run for run in levels.runs if run.files[0].file_name in names)


def moved(found: CompactionPlan) -> str:
    """Return the files that move; those that are read all the same with a `*`."""
    return " ".join(f"{u.file.file_name}{'*' if u.scans else ''}" for u in found.upgrades)


def rewritten(found: CompactionPlan) -> str:
    """Return the files of each rewrite in order of level and key."""
    return " + ".join(
        " ".join(sorted(file.file_name for file in rewrite.files)) for rewrite in found.rewrites
    )


@dataclass(frozen=True)
class Case:
    """Files, and what becomes of them when all go to the highest level."""

    files: str
    rewritten: str = ""
    moved: str = ""


CASES = {
    "M01 the overlap is merged, the large file moved": Case(
        "0[1,3] 1[1,5] 1[6,7]", rewritten="0[1,3] 1[1,5]", moved="1[6,7]"
    ),
    "M02": Case("0[1,3] 0[1,5] 0[6,8]", rewritten="0[1,3] 0[1,5]", moved="0[6,8]"),
    "M03 small neighbours are merged": Case("0[1,1] 0[2,2]", rewritten="0[1,1] 0[2,2]"),
    "M04 a small file between large ones is moved": Case(
        "0[1,5] 0[6,6] 1[7,8] 1[9,10]", moved="0[1,5] 0[6,6] 1[7,8] 1[9,10]"
    ),
    "M05": Case("0[1,5] 0[6,6] 1[7,7] 1[9,10]", rewritten="0[6,6] 1[7,7]", moved="0[1,5] 1[9,10]"),
    "M06": Case(
        "0[1,5] 0[6,6] 1[1,4] 1[6,8] 1[10,11] 2[1,3] 2[4,6]",
        rewritten="0[1,5] 0[6,6] 1[1,4] 1[6,8] 2[1,3] 2[4,6]",
        moved="1[10,11]",
    ),
    "M07 a small file joins the rewrite before it": Case(
        "0[1,5] 0[6,6] 1[1,4] 1[6,8] 1[10,10] 2[1,3] 2[4,6]",
        rewritten="0[1,5] 0[6,6] 1[1,4] 1[10,10] 1[6,8] 2[1,3] 2[4,6]",
    ),
    "a large file of the highest level stays": Case("0[1,2] 2[5,9]", moved="0[1,2]"),
    "retracts do not stay on the highest level": Case(
        "0[1,2] 1[3,4]- 2[5,9]-", rewritten="1[3,4] + 2[5,9]", moved="0[1,2]"
    ),
    "files that may have retracts are rewritten": Case("0[1,2]?", rewritten="0[1,2]"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_files_of_a_unit_are_rewritten_or_moved_as_specified(case: Case) -> None:
    found = plan(case.files)

    assert (rewritten(found), moved(found)) == (case.rewritten, case.moved)
    assert (found.output_level, found.drops_retracts) == (TOP, True)
    named = (case.rewritten.replace(" +", "") + " " + case.moved).split()
    assert sorted(file.file_name for file in found.files) == sorted(named)
    assert not found.is_empty


def test_m09_a_unit_to_level_0_keeps_retracts() -> None:
    found = plan("0[1,3] 0[1,5]- 0[1,8]-", unit="0[1,5] 0[1,8]", output_level=0)

    assert rewritten(found) == "0[1,5] 0[1,8]"
    assert not found.drops_retracts


def test_m10_a_unit_above_another_level_keeps_retracts() -> None:
    found = plan("2[1,7] 0[1,3] 0[1,5]-", unit="0[1,3] 0[1,5]", output_level=1)

    assert rewritten(found) == "0[1,3] 0[1,5]"
    assert not found.drops_retracts


def test_retracts_are_dropped_anywhere_where_vectors_mark_what_is_older() -> None:
    found = plan(
        "2[1,7] 0[1,3] 0[1,5]-",
        unit="0[1,3] 0[1,5]",
        output_level=1,
        given={"deletion-vectors.enabled": "true"},
    )

    assert found.drops_retracts


def test_a_file_with_retracts_moves_below_the_highest_level() -> None:
    found = plan("2[1,9] 0[1,5]-", unit="0[1,5]", output_level=1)

    assert (rewritten(found), moved(found)) == ("", "0[1,5]")


def test_forced_rewrites_concern_every_level() -> None:
    forced = {"compaction.force-rewrite-all-files": "true"}

    assert rewritten(plan("2[1,9] 0[1,5]", unit="0[1,5]", output_level=1, given=forced)) == "0[1,5]"
    assert rewritten(plan("0[1,2] 2[5,9]", forced)) == "0[1,2] + 2[5,9]"


# What a file of level 0 that overlaps with nothing becomes: on the highest level, and below it.
LOOKUP = {"changelog-producer": "lookup"}
VECTORS = {"deletion-vectors.enabled": "true"}
PARTIAL = {"merge-engine": "partial-update"}
MOVE, SCAN, REWRITE = "0[1,5]", "0[1,5]*", "rewritten"

PRODUCERS = {
    "none": ({}, MOVE, MOVE),
    "input": ({"changelog-producer": "input"}, MOVE, MOVE),
    "full-compaction": ({"changelog-producer": "full-compaction"}, SCAN, MOVE),
    "lookup": (LOOKUP, SCAN, SCAN),
    "lookup, sequence field": ({**LOOKUP, "sequence.field": "v"}, SCAN, REWRITE),
    "lookup, partial-update": ({**LOOKUP, **PARTIAL}, SCAN, REWRITE),
    "vectors": (VECTORS, MOVE, SCAN),
    "vectors, partial-update": ({**VECTORS, **PARTIAL}, MOVE, REWRITE),
    "vectors, lookup": ({**VECTORS, **LOOKUP}, SCAN, SCAN),
    "force-lookup": ({"force-lookup": "true"}, MOVE, MOVE),
    "force-lookup, aggregation": (
        {"force-lookup": "true", "merge-engine": "aggregation"},
        MOVE,
        REWRITE,
    ),
    "first-row": ({"merge-engine": "first-row"}, MOVE, REWRITE),
    "first-row, lookup": ({**LOOKUP, "merge-engine": "first-row"}, SCAN, REWRITE),
}


@pytest.mark.parametrize(("given", "on_top", "below"), PRODUCERS.values(), ids=PRODUCERS)
def test_a_new_file_without_overlap_is_moved_or_rewritten_as_its_producer_needs(
    given: dict[str, str], on_top: str, below: str
) -> None:
    assert outcome(plan("0[1,5]", given)) == on_top
    assert outcome(plan("2[1,9] 0[1,5]", unit="0[1,5]", output_level=1, given=given)) == below


@pytest.mark.parametrize(
    ("given", "on_top", "below"),
    [({}, MOVE, MOVE), (LOOKUP, REWRITE, REWRITE), (VECTORS, REWRITE, REWRITE)],
)
def test_a_new_file_changes_its_format_where_it_is_looked_at_anyway(
    given: dict[str, str], on_top: str, below: str
) -> None:
    avro_first = {**given, "file.format.per.level": "0:avro"}

    assert outcome(plan("0[1,5]", avro_first)) == on_top
    assert outcome(plan("2[1,9] 0[1,5]", unit="0[1,5]", output_level=1, given=avro_first)) == below
    assert (
        outcome(plan("1[1,5]", avro_first | {"file.format.per.level": "0:avro,1:orc"})) == "1[1,5]"
    )


@pytest.mark.parametrize(
    ("given", "below"),
    [
        ({}, MOVE),
        (LOOKUP, SCAN),
        (VECTORS, REWRITE),
        ({"changelog-producer": "full-compaction"}, MOVE),
    ],
)
def test_a_new_file_with_retracts_is_rewritten_on_the_highest_level(
    given: dict[str, str], below: str
) -> None:
    assert outcome(plan("0[1,5]-", given)) == REWRITE
    assert outcome(plan("2[1,9] 0[1,5]-", unit="0[1,5]", output_level=1, given=given)) == below


@pytest.mark.parametrize("given", [LOOKUP, VECTORS, {**LOOKUP, **PARTIAL}])
def test_a_file_that_is_compacted_already_only_moves(given: dict[str, str]) -> None:
    assert moved(plan("1[1,5]", given)) == "1[1,5]"


def test_a_compacted_file_that_moves_is_read_for_a_changelog_of_full_compactions() -> None:
    assert moved(plan("1[1,5]", {"changelog-producer": "full-compaction"})) == "1[1,5]*"


@pytest.mark.parametrize(
    ("text", "given", "marked", "expected"),
    [
        ("", {}, "", None),
        ("2[1,3] 2[4,9]-", {}, "", None),
        ("2[1,3] 2[4,9]", {}, "2[4,9]", "2[4,9]"),
        ("2[1,3] 2[4,4]", {"compaction.force-rewrite-all-files": "true"}, "", "2[1,3] + 2[4,4]"),
    ],
)
def test_m08_files_of_the_highest_level_alone(
    text: str, given: dict[str, str], marked: str, expected: str | None
) -> None:
    """They are one run already: only what has to be is rewritten, each file by itself."""
    parsed = options(given)
    levels = levels_of(given_files(text), parsed)

    unit = full_compaction_unit(levels, parsed, marked=frozenset(marked.split()))

    assert (unit is None) == (expected is None)
    if unit is not None:
        found = plan_compaction(unit, levels, [ID], parsed)
        assert rewritten(found) == expected
        assert found.drops_retracts
        assert not found.upgrades


@pytest.mark.parametrize(
    ("declared", "level", "expected"),
    [
        ({}, 0, 5),
        ({"num-levels": "3"}, 0, 2),
        ({"num-sorted-run.compaction-trigger": "2"}, 0, 2),
        ({"num-levels": "3"}, 4, 4),
        ({"num-levels": "3"}, 1, 2),
    ],
)
def test_a_full_compaction_goes_to_the_highest_level(
    declared: dict[str, str], level: int, expected: int
) -> None:
    parsed = TableOptions.parse(declared)
    levels = levels_of([data_file("a", level=level), data_file("b", level=0, low=5)], parsed)

    unit = full_compaction_unit(levels, parsed)

    assert unit == CompactionUnit(output_level=expected, runs=levels.runs)


def outcome(found: CompactionPlan) -> str:
    """Return `rewritten` for the only file, or its move."""
    assert len(found.files) == 1
    return "rewritten" if found.rewrites else moved(found)
