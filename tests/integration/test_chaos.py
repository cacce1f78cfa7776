"""Three streams of one table while everything around them is killed, paused and refused.

Broker, runners, Spark's drivers and executors, service, compactor and store; streams that are late and repeat records,
dead letters that are replayed, offsets that are set back. In the end the table has the rows of the model, the accounts
cover every offset once, ranges that were read again are named, and every dead letter has the bytes of its record.
"""

import gc
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.chaos.plan import FULL_DECK, SHORT_DECK, Action, chaos_plan
from tests.support.chaos.run import ChaosOutcome, run_chaos

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

SHORT_SEED = 15
"""The store has faults from the start, and dead letters are replayed before a mend and after one."""
LONG_SEEDS = (1, 2, 3, 4, 5)
"""Together about 20 minutes."""
LONG_STEPS = 2 * len(FULL_DECK)


@pytest.fixture(autouse=True)
def without_logs_of_clients(caplog: pytest.LogCaptureFixture) -> None:
    """As in a runner; what is logged of a broker that is away holds sockets."""
    caplog.set_level(logging.CRITICAL, logger="kafka")


@pytest.mark.timeout(3_600)
def test_chaos_loses_repeats_and_changes_nothing(tmp_path: Path) -> None:
    outcome = run(tmp_path, SHORT_SEED, steps=len(SHORT_DECK), deck=SHORT_DECK, runners=["runner"])

    assert outcome.moves
    assert all(outcome.letters.values())
    assert sum(outcome.injected.values()) > 0


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", LONG_SEEDS)
def test_chaos_for_long_loses_repeats_and_changes_nothing(tmp_path: Path, seed: int) -> None:
    outcome = run(tmp_path, seed, steps=LONG_STEPS, deck=FULL_DECK, runners=["one", "two"])

    assert outcome.moves
    assert all(outcome.letters.values())
    assert sum(outcome.injected.values()) > 10


def run(
    folder: Path, seed: int, *, steps: int, deck: Sequence[Action], runners: Sequence[str]
) -> ChaosOutcome:
    """Carry out a plan; what is wrong in the end is shown with the log of all that was done."""
    plan = chaos_plan(seed, steps=steps, deck=deck)
    outcome = run_chaos(folder, plan, seed=seed, runners=runners)
    gc.collect()
    print(outcome)
    assert not outcome.wrong, str(outcome)
    return outcome
