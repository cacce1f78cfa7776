"""Apache Paimon's answers: a selection kept here, all of them where they are at hand.

`make test` takes the two merge machines in turns, from one case to the next; `make soak` and `make conformance`
run each case through both.
"""

from itertools import cycle
from operator import attrgetter
from pathlib import Path

import pytest

from braid.lake import Machine
from tests.conformance.outcome import Verdict
from tests.conformance.run import BOTH, Check, checks

CASES = Path(__file__).with_name("cases")
ALL_CASES = Path(__file__).parents[3] / "shared" / "conformance"
SELECTED = list(checks(CASES))
_SELECTED = {check.name: check.case for check in SELECTED}
COLLECTED = [
    check
    for check in (checks(ALL_CASES) if ALL_CASES.exists() else ())
    if check.name not in _SELECTED or check.case != _SELECTED[check.name]
]
"""What of the whole collection is not in the selection, a quarter of it; `make soak` runs these, too."""


@pytest.mark.parametrize(
    ("check", "machine"),
    [
        pytest.param(check, machine, id=f"{check.name}-{machine.name.lower()}")
        for check, machine in zip(SELECTED, cycle(Machine), strict=False)
    ],
)
def test_a_selected_case_gives_what_it_must(check: Check, machine: Machine) -> None:
    outcome = check.run([machine])

    assert outcome.verdict in (Verdict.PASSED, Verdict.DIFFERENT), outcome.reason


def test_the_selection_is_whole() -> None:
    assert len(SELECTED) >= 1_000


@pytest.mark.soak
@pytest.mark.parametrize("check", [*SELECTED, *COLLECTED], ids=attrgetter("name"))
def test_no_case_of_the_whole_collection_fails(check: Check) -> None:
    outcome = check.run(BOTH)

    assert outcome.verdict is not Verdict.FAILED, outcome.reason


@pytest.mark.skipif(not COLLECTED, reason="the whole collection is not beside the checkout")
def test_the_whole_collection_is_whole() -> None:
    assert len({check.name for check in (*SELECTED, *COLLECTED)}) >= 1_300
