"""Runners share streams by one document: none is at two of them, and those of a dead runner go on at others."""

import logging
import random

import pytest

from braid.registry.store.stream_holders import StreamHolders
from tests.unit.pipelines.placement.simulated_fleet import Fleet, needed

NAMES = tuple(f"s{n}" for n in range(6))


def given_fleet(*names: str) -> Fleet:
    fleet = Fleet(needed=needed(*NAMES))
    for name in names:
        fleet.start(name)
    return fleet


def test_runners_that_start_together_have_every_stream_once() -> None:
    fleet = given_fleet("a", "b", "c")
    fleet.run(5)

    assert fleet.hosted().keys() == fleet.needed.keys()


def test_the_streams_of_a_killed_runner_are_elsewhere_within_seconds_and_no_other_moves() -> None:
    fleet = given_fleet("a")
    fleet.run(3)
    fleet.start("b")
    fleet.start("c")
    fleet.drain("a")
    fleet.run(60)
    before = fleet.hosted()
    dead = next(one for one in fleet.runners if one.name == "b")
    dead.is_frozen = True
    fleet.run(20)

    assert sorted(set(before.values())) == ["b", "c"]
    after = fleet.hosted()
    assert after.keys() == fleet.needed.keys()
    assert {key: after[key] for key in before if before[key] == "c"} == {
        key: "c" for key in before if before[key] == "c"
    }


def test_a_runner_that_slept_finds_its_streams_elsewhere_and_works_on() -> None:
    fleet = given_fleet("a")
    fleet.run(3)
    heir = fleet.start("b")
    sleeper = fleet.runners[0]
    sleeper.is_frozen = True
    fleet.run(20)
    sleeper.hosted, slept = set(), sleeper.hosted
    sleeper.is_frozen = False
    fleet.run(5)

    assert slept == heir.hosted == fleet.needed.keys()
    assert sleeper.lost == len(NAMES)
    assert "a" in fleet.assignment().runners


def test_a_runner_that_storage_does_not_answer_stops_before_others_take_over() -> None:
    """`Fleet.run` checks at each step that no stream is at two runners."""
    fleet = given_fleet("a")
    fleet.run(3)
    cut_off, other = fleet.runners[0], fleet.start("b")
    cut_off.is_cut_off = True
    fleet.run(12)
    assert cut_off.hosted == fleet.needed.keys()
    fleet.run(10)
    assert not cut_off.hosted
    assert other.hosted == fleet.needed.keys()
    cut_off.is_cut_off = False
    fleet.run(5)

    assert not cut_off.hosted
    assert other.hosted == fleet.needed.keys()


def test_after_an_outage_of_storage_nobody_is_held_for_dead() -> None:
    fleet = given_fleet("a", "b")
    fleet.drain("a")
    fleet.run(3)
    fleet.start("c", labels={"zone": "eu"})
    fleet.needed = fleet.needed | needed("eu", labels={"zone": "eu"})
    fleet.run(5)
    before = fleet.hosted()
    assert set(before.values()) == {"b", "c"}
    for one in fleet.runners:
        one.is_cut_off = True
    fleet.run(60)
    assert not fleet.hosted()
    # They are answered again one after another.
    for one in fleet.runners:
        one.is_cut_off = False
        fleet.run(4)

    assert fleet.hosted() == before
    assert [one.lost for one in fleet.runners] == [0, 0, 0]


def test_a_runner_that_ends_leaves_its_streams_to_the_others_at_once() -> None:
    fleet = given_fleet("a", "b")
    fleet.run(3)
    fleet.runners[0].end()
    fleet.run(1)

    assert set(fleet.hosted().values()) == {"b"}
    assert fleet.hosted().keys() == fleet.needed.keys()
    assert fleet.assignment().runners.keys() == {"b"}


def test_a_drained_runner_gives_its_streams_away_one_by_one_and_gets_none_back() -> None:
    fleet = given_fleet("a")
    fleet.run(3)
    fleet.start("b")
    fleet.drain("a")
    counts = []
    for _ in range(60):
        fleet.run(0.5)
        counts.append(len(fleet.hosted()))
    fleet.needed = fleet.needed | needed("new")
    fleet.run(2)

    assert min(counts) >= len(NAMES) - 1
    assert set(fleet.hosted().values()) == {"b"}
    assert len(fleet.hosted()) == len(NAMES) + 1


def test_a_runner_that_is_asked_to_leave_gives_its_streams_away() -> None:
    fleet = given_fleet("a")
    fleet.run(3)
    leaving = fleet.runners[0]
    assert not leaving.placement.can_give(fleet.needed)
    fleet.start("b")
    fleet.run(1)
    assert leaving.placement.can_give(fleet.needed)
    leaving.placement.ask_to_leave()
    fleet.run(40)

    assert not leaving.hosted
    assert not leaving.placement.can_give(fleet.needed)
    assert set(fleet.hosted().values()) == {"b"}


def test_the_others_plan_if_the_first_runner_does_not() -> None:
    """The first one writes heartbeats, but cannot read the registry."""
    fleet = given_fleet("a", "b")
    fleet.run(3)
    stuck = fleet.runners[0]
    stuck.poll = stuck.heartbeat.beat  # type: ignore[method-assign]
    fleet.needed = fleet.needed | needed("new")
    fleet.run(8)

    assert "db.t/new" in fleet.assignment().streams


def test_a_second_runner_of_a_name_waits_until_the_first_is_dead(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    fleet = given_fleet("a")
    fleet.run(3)
    first, second = fleet.runners[0], fleet.start("a")
    fleet.run(30)

    assert first.hosted == fleet.needed.keys()
    assert not second.hosted
    (message,) = caplog.messages
    assert "another runner has the name name=a" in message
    first.is_frozen = True
    fleet.run(20)
    assert second.hosted == fleet.needed.keys()


def test_one_living_runner_answers_for_a_stream_that_none_has() -> None:
    fleet = given_fleet()
    fleet.start("a", labels={"zone": "us"})
    fleet.start("b", labels={"zone": "eu"})
    fleet.start("c", labels={"zone": "eu"})
    fleet.run(3)
    (stopped,) = needed("stopped", labels={"zone": "eu"}).values()

    def serving() -> list[str]:
        return [
            one.name for one in fleet.runners if not one.is_frozen and one.placement.serves(stopped)
        ]

    assert serving() == ["b"]
    fleet.runners[1].is_frozen = True
    fleet.run(20)
    assert serving() == ["c"]


def test_the_holder_of_a_stream_is_told_until_it_is_let_go_or_dead() -> None:
    fleet = given_fleet()
    for name in ("a", "b"):
        fleet.start(name, streams_max=3)
    fleet.run(3)
    holders = StreamHolders(fleet.file_io, "/w", fleet.clock)
    at_a, at_b = (
        next(key for key, name in fleet.hosted().items() if name == one) for one in ("a", "b")
    )
    assert holders.holder("db.t", at_a.removeprefix("db.t/")) == "a"
    del fleet.needed[at_a]
    fleet.needed = dict(fleet.needed)
    fleet.run(1)
    assert holders.holder("db.t", at_a.removeprefix("db.t/")) is None
    for one in fleet.runners:
        one.is_frozen = True
    assert holders.holder("db.t", at_b.removeprefix("db.t/")) == "b"
    fleet.clock.advance(ms=15_000)

    assert holders.holder("db.t", at_b.removeprefix("db.t/")) is None


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_end_with_every_stream_at_one_living_runner(seed: int) -> None:
    """`Fleet.run` checks at each step that no stream is at two runners."""
    chance = random.Random(seed)
    fleet = given_fleet("a", "b")
    fleet.random = chance
    for _ in range(30):
        one = chance.choice(fleet.runners)
        match chance.randrange(8):
            case 0:
                one.is_frozen, one.hosted = True, set()
            case 1:
                one.is_cut_off = not one.is_cut_off
            case 2:
                fleet.start(chance.choice("abcde"), streams_max=chance.choice([None, 3]))
            case 3:
                name = chance.choice(NAMES)
                fleet.needed = {k: v for k, v in fleet.needed.items() if k != f"db.t/{name}"}
            case 4:
                fleet.needed = fleet.needed | needed(chance.choice(NAMES))
            case 5:
                fleet.drain(chance.choice("abc"))
            case 6 if not (one.is_frozen or one.is_cut_off) and len(fleet.runners) > 1:
                one.end()
            case _:
                one.load = chance.random()
        fleet.run(chance.choice([0.5, 3, 17]))
    fleet.start("z")
    for one in fleet.runners:
        one.is_cut_off = False
    fleet.run(60)

    assert fleet.hosted().keys() == fleet.needed.keys()
