"""Plans and records depend on their seed alone."""

import pytest

from tests.support.chaos.plan import (
    CLUSTER_DECK,
    FULL_DECK,
    SHORT_DECK,
    Action,
    Kill,
    Pause,
    SetBack,
    Target,
    chaos_plan,
)
from tests.support.chaos.records import Fate, RecordSource
from tests.support.chaos.streams import REPEATABLE, SMALL_BYTES, STREAMS


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert chaos_plan(1, steps=30) == chaos_plan(1, steps=30)
    assert chaos_plan(1, steps=30) != chaos_plan(2, steps=30)


@pytest.mark.parametrize("deck", [SHORT_DECK, FULL_DECK], ids=["short", "full"])
def test_every_kind_of_action_comes_in_each_round(deck: list[Action]) -> None:
    kinds = {type(action) for action in deck}
    plan = chaos_plan(3, steps=2 * len(deck), deck=deck)

    for first in (0, len(deck)):
        actions = [step.action for step in plan[first : first + len(deck)]]
        killed = {action.target for action in actions if isinstance(action, Kill)}
        assert {type(action) for action in actions} == kinds
        assert killed == set(Target) - {Target.STORE, Target.WORKER}


def test_a_cluster_loses_each_of_its_parts_in_each_round() -> None:
    plan = chaos_plan(3, steps=2 * len(CLUSTER_DECK), deck=CLUSTER_DECK)

    for first in (0, len(CLUSTER_DECK)):
        actions = {step.action for step in plan[first : first + len(CLUSTER_DECK)]}
        assert actions == {Kill(one) for one in (Target.WORKER, Target.EXECUTOR, Target.DRIVER)}


def test_a_late_stream_is_sent_later_what_it_owes_and_in_the_end_all_is_sent() -> None:
    plan = chaos_plan(4, steps=40, records=300)

    for stream in STREAMS:
        sent = [step.records[stream] for step in plan]
        assert 0 in sent
        assert max(sent) > 300
        assert sent[-1] > 0


def test_times_and_shares_are_drawn_within_their_bounds() -> None:
    plan = chaos_plan(5, steps=4 * len(FULL_DECK))

    assert all(0 <= step.moment < 1 for step in plan)
    assert 0.0 in {step.moment for step in plan}
    for step in plan:
        if isinstance(step.action, Pause):
            assert 200 <= step.action.milliseconds <= 3_000 or step.action.milliseconds == 17_000
        if isinstance(step.action, SetBack):
            assert step.action.stream in REPEATABLE
            assert 0 <= step.action.share <= 1


def test_the_same_seed_gives_the_same_records_some_of_them_again() -> None:
    for stream in STREAMS:
        records = RecordSource(6).draw(stream, 500)
        assert RecordSource(6).draw(stream, 500) == records
        assert len({record.number for record in records}) < 500
        assert {record.fate for record in records} == set(Fate)


def test_only_large_records_are_longer_than_a_stream_takes() -> None:
    for record in RecordSource(7).draw("orders", 500):
        is_long = len(record.value or b"") > SMALL_BYTES
        assert is_long == (record.fate is Fate.LARGE)
        assert (record.reason is None) == (record.fate is Fate.ROW)


@pytest.mark.parametrize("seed", range(20))
def test_a_stream_that_is_set_back_was_sent_something(seed: int) -> None:
    plan = chaos_plan(seed, steps=len(FULL_DECK))

    for step in plan:
        if isinstance(step.action, SetBack):
            stream = step.action.stream
            assert sum(one.records[stream] for one in plan[: step.number + 1]) > 0
