"""Apache Paimon's answers, through both merge machines: a selection kept here, all of them where they are at hand."""

from pathlib import Path

import pytest

from tests.conformance.outcome import Outcome, Verdict
from tests.conformance.run import run_folder

CASES = Path(__file__).with_name("cases")
ALL_CASES = Path(__file__).parents[3] / "shared" / "conformance"


def outcomes(folder: Path) -> dict[Verdict, list[Outcome]]:
    """Run a folder and return the outcomes by verdict."""
    found: dict[Verdict, list[Outcome]] = {verdict: [] for verdict in Verdict}
    for outcome in run_folder(folder):
        found[outcome.verdict].append(outcome)
    return found


def test_the_selected_cases_all_pass() -> None:
    found = outcomes(CASES)

    assert found[Verdict.FAILED] == []
    assert found[Verdict.SKIPPED] == []
    assert len(found[Verdict.PASSED]) >= 600


@pytest.mark.slow
@pytest.mark.skipif(
    not ALL_CASES.exists(), reason="the whole collection is not beside the checkout"
)
def test_no_case_of_the_whole_collection_fails() -> None:
    found = outcomes(ALL_CASES)

    assert found[Verdict.FAILED] == []
    assert len(found[Verdict.PASSED]) >= 860
