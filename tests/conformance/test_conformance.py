"""Apache Paimon's answers, through both merge machines: a selection kept here, all of them where they are at hand."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.case import Case, read_cases
from tests.conformance.outcome import Outcome, Verdict
from tests.conformance.run import run_folder

CASES = Path(__file__).with_name("cases")
ALL_CASES = Path(__file__).parents[3] / "shared" / "conformance"


def outcomes(folder: Path, *, but_not: Collection[Case] = ()) -> dict[Verdict, list[Outcome]]:
    """Run a folder and return the outcomes by verdict."""
    found: dict[Verdict, list[Outcome]] = {verdict: [] for verdict in Verdict}
    for outcome in run_folder(folder, but_not=but_not):
        found[outcome.verdict].append(outcome)
    return found


@cache
def selected() -> dict[Verdict, list[Outcome]]:
    """Run the selection, once."""
    return outcomes(CASES)


def test_the_selected_cases_all_pass() -> None:
    found = selected()

    assert found[Verdict.FAILED] == []
    assert found[Verdict.SKIPPED] == []
    assert len(found[Verdict.PASSED]) >= 600


@pytest.mark.slow
@pytest.mark.skipif(
    not ALL_CASES.exists(), reason="the whole collection is not beside the checkout"
)
def test_no_case_of_the_whole_collection_fails() -> None:
    # Two thirds of the collection are the selection.
    known = [case for file in sorted(CASES.glob("*.jsonl")) for case in read_cases(file)]

    found = outcomes(ALL_CASES, but_not=known)

    assert found[Verdict.FAILED] == []
    passed = [*selected()[Verdict.PASSED], *found[Verdict.PASSED]]
    assert len({outcome.case_id for outcome in passed}) >= 860
