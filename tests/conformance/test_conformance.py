"""Apache Paimon's answers, through both merge machines: a selection kept here, all of them where they are at hand."""

from operator import attrgetter
from pathlib import Path

import pytest

from tests.conformance.outcome import Verdict
from tests.conformance.run import Check, checks

CASES = Path(__file__).with_name("cases")
ALL_CASES = Path(__file__).parents[3] / "shared" / "conformance"
SELECTED = list(checks(CASES))
_SELECTED = {check.name: check.case for check in SELECTED}
COLLECTED = [
    check
    for check in (checks(ALL_CASES) if ALL_CASES.exists() else ())
    if check.name not in _SELECTED or check.case != _SELECTED[check.name]
]
"""What of the whole collection is not in the selection, a quarter of it; `make soak` runs these."""


@pytest.mark.parametrize("check", SELECTED, ids=attrgetter("name"))
def test_a_selected_case_gives_what_it_must(check: Check) -> None:
    outcome = check.run()

    assert outcome.verdict in (Verdict.PASSED, Verdict.DIFFERENT), outcome.reason


def test_the_selection_is_whole() -> None:
    assert len(SELECTED) >= 1_000


@pytest.mark.soak
@pytest.mark.parametrize("check", COLLECTED, ids=attrgetter("name"))
def test_no_case_of_the_whole_collection_fails(check: Check) -> None:
    outcome = check.run()

    assert outcome.verdict is not Verdict.FAILED, outcome.reason


@pytest.mark.skipif(not COLLECTED, reason="the whole collection is not beside the checkout")
def test_the_whole_collection_is_whole() -> None:
    assert len({check.name for check in (*SELECTED, *COLLECTED)}) >= 1_300
