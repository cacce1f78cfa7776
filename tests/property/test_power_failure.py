"""Nothing acknowledged is lost, and nothing half done is seen, wherever the power fails.

Swept by default: the declared histories, at every eighth point, with one draw of what survives at each.
`make soak` lets the power fail at every point, with every draw, of histories of its own as well.
"""

import inspect
import random
from collections.abc import Callable

import pytest

from tests.property.power_histories import (
    commits,
    declarations,
    observed,
    random_history,
    removals,
    works_on,
)
from tests.support.power_sweep import NotDurable, PowerSweep, Step
from tests.support.soaking import soak
from tests.support.volatile_disk import Survival

HISTORIES = pytest.mark.parametrize("history", [commits, declarations, removals])
History = Callable[[], list[tuple[str, Step]]]
STRIDE = 12
SOAK_POINTS = 10_000


def given_sweep(steps: list[tuple[str, Step]]) -> PowerSweep:
    return PowerSweep(steps=steps, observe=observed, restart=works_on)


@HISTORIES
def test_every_survival_is_the_state_before_or_after_and_work_continues(history: History) -> None:
    sweep = given_sweep(history())
    chance = random.Random(1)

    sweep.run(choose=lambda n: () if n % STRIDE else (chance.choice([*Survival]),))

    print(history.__name__, sweep.summary())
    assert set(sweep.survivals) == set(Survival)


@pytest.mark.parametrize(
    ("function", "history"),
    [
        ("_write_synced", declarations),
        ("write_new", commits),
        ("create_exclusive", declarations),
        ("overwrite", declarations),
        ("open_output", commits),
        ("_ensure_directory", commits),
    ],
)
def test_a_sync_that_local_storage_leaves_out_is_found(function: str, history: History) -> None:
    sweep = PowerSweep(steps=history()[:3], observe=observed, restart=lambda _: None)
    sweep.forgets = lambda: _is_called_from(function, "local.py")

    with pytest.raises(NotDurable):
        sweep.run(choose=lambda _: (Survival.NOTHING, Survival.NAMES))


@pytest.mark.parametrize(
    ("module", "step"),
    [
        ("snapshot_expiry.py", "expire"),
        ("tag_store.py", "delete tag"),
        ("rollback.py", "rollback"),
        ("consumer_store.py", "forget consumer"),
    ],
)
def test_a_removal_that_is_not_synced_is_found(module: str, step: str) -> None:
    steps = removals()
    prepared = [name for name, _ in steps].index(step)
    sweep = PowerSweep(
        steps=steps[: prepared + 1], prepared=prepared, observe=observed, restart=lambda _: None
    )
    sweep.forgets = lambda: (
        _is_called_from("sync_directory", "local.py") and _is_called_from(None, module)
    )

    with pytest.raises(NotDurable):
        sweep.run(choose=lambda _: (Survival.NOTHING, *[Survival.SOME] * 3))


@pytest.mark.soak
def test_ten_thousand_points_and_on() -> None:
    swept = {"points": 0, "failures": 0, "states": 0}

    def sweep_one(number: int) -> None:
        declared = [commits, declarations, removals]
        steps = declared[number]() if number < len(declared) else random_history(number)
        sweep = given_sweep(steps)
        sweep.run(seed=number)
        for name in swept:
            swept[name] += getattr(sweep, name)

    rounds = soak(sweep_one)
    while swept["points"] < SOAK_POINTS:
        sweep_one(rounds)
        rounds += 1
    print(swept)


def _is_called_from(function: str | None, file: str) -> bool:
    """Return whether a function of a file is being executed; None: any function."""
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith(f"/{file}") and function in (None, code.co_name):
            return True
        frame = frame.f_back
    return False
