"""Apache Paimon's answers, through both merge machines: a selection kept here, all of them where they are at hand."""

from functools import cache
from pathlib import Path

import pytest

from tests.conformance.case import Case, read_cases
from tests.conformance.outcome import Outcome, Verdict
from tests.conformance.run import parts, run_part

CASES = Path(__file__).with_name("cases")
ALL_CASES = Path(__file__).parents[3] / "shared" / "conformance"
SELECTED = parts(CASES)
COLLECTED = parts(ALL_CASES) if ALL_CASES.exists() else []


def name_of(part: Path) -> str:
    return part.parent.name if part.suffix == ".json" else part.stem


@cache
def selected(part: Path) -> list[Outcome]:
    """Run a part of the selection, once."""
    return list(run_part(part))


@cache
def collected(part: Path) -> list[Outcome]:
    """Run what of a part of the whole collection is not in the selection, once."""
    return list(run_part(part, but_not=selection()))


@cache
def selection() -> list[Case]:
    """Return the selected cases: two thirds of the collection."""
    return [case for file in sorted(CASES.glob("*.jsonl")) for case in read_cases(file)]


def passed(outcomes: list[Outcome]) -> set[str]:
    return {outcome.case_id for outcome in outcomes if outcome.verdict is Verdict.PASSED}


@pytest.mark.parametrize("part", SELECTED, ids=name_of)
def test_the_selected_cases_all_pass(part: Path) -> None:
    assert [
        outcome
        for outcome in selected(part)
        if outcome.verdict in (Verdict.FAILED, Verdict.SKIPPED)
    ] == []


def test_the_selection_is_whole() -> None:
    assert sum(len(passed(selected(part))) for part in SELECTED) >= 600


@pytest.mark.slow
@pytest.mark.parametrize("part", COLLECTED, ids=name_of)
def test_no_case_of_the_whole_collection_fails(part: Path) -> None:
    assert [outcome for outcome in collected(part) if outcome.verdict is Verdict.FAILED] == []


@pytest.mark.slow
@pytest.mark.skipif(not COLLECTED, reason="the whole collection is not beside the checkout")
def test_the_whole_collection_is_whole() -> None:
    found = [passed(selected(part)) for part in SELECTED]
    found += [passed(collected(part)) for part in COLLECTED]

    assert len(set().union(*found)) >= 860
