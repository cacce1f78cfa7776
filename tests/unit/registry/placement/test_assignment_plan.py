"""The plan of an assignment gives every stream a runner that may have it, and moves nothing without a cause."""

from collections.abc import Callable, Collection, Mapping, Sequence

import pytest
from hypothesis import given, settings, strategies as st

from braid.registry.placement.admission import NeededStream, admits, why_unassigned
from braid.registry.placement.assignment import Assignment, Member, Place, PlaceState
from braid.registry.placement.assignment_plan import (
    GAP_FRACTION,
    GAP_MIN,
    MOVED_FRACTION_MAX,
    Measured,
    plan_assignment,
    weight_of,
)

ROUNDS_MAX = 300


def member(name: str, **given: object) -> Member:
    return Member.model_validate({"owner": f"{name}-1", **given})


def needed(*keys: str, labels: Mapping[str, str] | None = None) -> dict[str, NeededStream]:
    return {key: NeededStream(key=key, labels=labels or {}) for key in keys}


def owners(assignment: Assignment) -> dict[str, str]:
    return {key: place.owner for key, place in assignment.streams.items()}


def let_go(assignment: Assignment) -> Assignment:
    """Do as the runners do: stop what is revoked."""
    kept = {
        key: place
        for key, place in assignment.streams.items()
        if place.state is PlaceState.ASSIGNED
    }
    return assignment.model_copy(update={"streams": kept})


def settled(
    assignment: Assignment,
    streams: Mapping[str, NeededStream],
    *,
    alive: Collection[str],
    loads: Mapping[str, float] | None = None,
    each: Callable[[Assignment, Assignment], None] = lambda *_: None,
) -> Assignment:
    """Plan and let go until nothing changes."""
    for _ in range(ROUNDS_MAX):
        measured = Measured(loads=loads or {}, started=assignment.streams.keys())
        planned = plan_assignment(assignment, streams, alive=alive, measured=measured)
        each(assignment, planned)
        after = let_go(planned)
        if after == assignment:
            return planned
        assignment = after
    pytest.fail(f"no end after {ROUNDS_MAX} rounds: {assignment}")


LABELS = st.sampled_from([{}, {"zone": "eu"}, {"zone": "us"}, {"zone": "eu", "disk": "fast"}])
MEMBERS: st.SearchStrategy[dict[str, object]] = st.builds(
    dict,
    labels=LABELS,
    streams_max=st.sampled_from([None, None, 1, 2, 4]),
    streams=st.sampled_from([(), (), (), ("db.t",), ("db.u/s0",)]),
    features=st.sampled_from([("new",), ()]),
    is_leaving=st.sampled_from([False, False, False, True]),
)
STREAMS = st.dictionaries(
    st.sampled_from([f"db.{table}/s{n}" for table in "tu" for n in range(5)]),
    st.tuples(LABELS, st.booleans(), st.floats(0, 1)),
    max_size=8,
)


@st.composite
def fleets(
    draw: st.DrawFn,
) -> tuple[Assignment, dict[str, NeededStream], set[str], dict[str, float]]:
    """An assignment as any history may have left it, what is needed, who is alive, and the loads."""
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
    runners = {name: member(name, **draw(MEMBERS)) for name in names}
    drawn = draw(STREAMS)
    streams = {
        key: NeededStream(key=key, labels=labels, features=frozenset({"new"} if is_new else set()))
        for key, (labels, is_new, _) in drawn.items()
    }
    holders = [*(one.owner for one in runners.values()), "gone-1"]
    places: dict[str, Place] = {}
    for key in draw(st.lists(st.sampled_from([*streams, "db.v/old"]), unique=True)):
        place = Place(owner=draw(st.sampled_from(holders)), state=draw(st.sampled_from(PlaceState)))
        bound = next(
            (one.streams_max for one in runners.values() if one.owner == place.owner), None
        )
        if bound is None or [one.owner for one in places.values()].count(place.owner) < bound:
            places[key] = place
    alive = {one.owner for one in runners.values() if draw(st.integers(0, 3))}
    drained = tuple(sorted(draw(st.sets(st.sampled_from("abcd"), max_size=1))))
    current = Assignment(runners=runners, streams=places, drained=drained)
    return current, streams, alive, {key: load for key, (_, _, load) in drawn.items()}


@settings(max_examples=150)
@given(fleets())
def test_what_may_be_assigned_is_and_by_the_rules(
    fleet: tuple[Assignment, dict[str, NeededStream], set[str], dict[str, float]],
) -> None:
    current, streams, alive, loads = fleet

    def moves_one(before: Assignment, after: Assignment) -> None:
        named = {one.owner: one for one in after.runners.values()}
        for key, place in before.streams.items():
            if place.owner in named and key in after.streams:
                assert after.streams[key].owner == place.owner, (
                    "the living give streams up themselves"
                )
        new = [
            key
            for key, place in after.streams.items()
            if place.state is PlaceState.REVOKING
            and before.streams[key].state is PlaceState.ASSIGNED
            and admits(named[place.owner], streams[key])
        ]
        assert len(new) <= 1, "one voluntary move at a time"

    final = settled(current, streams, alive=alive, loads=loads, each=moves_one)

    by_owner = {one.owner: (name, one) for name, one in final.runners.items()}
    assert by_owner.keys() == alive & {one.owner for one in current.runners.values()}
    weights = dict.fromkeys(by_owner, 0.0)
    for key, place in final.streams.items():
        weights[place.owner] += weight_of(loads.get(key))
        if key in streams:
            assert admits(by_owner[place.owner][1], streams[key])
    open_to = {
        owner: one
        for owner, (name, one) in by_owner.items()
        if name not in final.drained and not one.is_leaving
    }
    room = {
        owner: one.streams_max is None or len(final.streams_of(owner)) < one.streams_max
        for owner, one in open_to.items()
    }
    assert all(
        one.streams_max is None or len(final.streams_of(one.owner)) <= one.streams_max
        for _, one in by_owner.values()
    )
    for key, stream in streams.items():
        takers = [owner for owner, one in open_to.items() if admits(one, stream) and room[owner]]
        if key not in final.streams:
            assert not takers, "a stream waits only where nobody may have it"
            assert why_unassigned(stream, final, alive=alive) != "a runner is about to take it"
            continue
        owner = final.streams[key].owner
        if owner not in open_to:
            assert not takers, "who drains keeps only what nobody else may have"
        least = min((weights[one] for one in takers if one != owner), default=weights[owner])
        gap = weights[owner] - least
        is_small = gap < max(GAP_MIN, GAP_FRACTION * weights[owner])
        assert is_small or weight_of(loads[key]) > MOVED_FRACTION_MAX * gap


@settings(max_examples=30)
@given(fleets())
def test_without_measurements_only_what_has_to_move_moves(
    fleet: tuple[Assignment, dict[str, NeededStream], set[str], dict[str, float]],
) -> None:
    current, streams, alive, _ = fleet
    planned = plan_assignment(current, streams, alive=alive)

    named = {one.owner: one for one in current.runners.values() if one.owner in alive}
    for key, place in current.streams.items():
        if place.owner in named and (
            key not in streams or admits(named[place.owner], streams[key])
        ):
            assert planned.streams[key] == place
    assert plan_assignment(planned, streams, alive=alive) == planned


def test_the_streams_of_a_dead_runner_alone_move_and_at_once() -> None:
    runners = {name: member(name) for name in "abc"}
    streams = needed(*(f"db.t/s{n}" for n in range(12)))
    before = settled(Assignment(runners=runners), streams, alive={"a-1", "b-1", "c-1"})

    after = plan_assignment(before, streams, alive={"a-1", "c-1"})

    lost = {key for key, owner in owners(before).items() if owner == "b-1"}
    assert len(lost) == 4
    assert after.streams.keys() == streams.keys()
    assert {key for key in streams if before.streams[key] != after.streams[key]} == lost
    assert set(owners(after).values()) == {"a-1", "c-1"}


def test_a_drained_runner_gives_one_stream_at_a_time() -> None:
    runners = {name: member(name) for name in "ab"}
    streams = needed("db.t/x", "db.t/y")
    places = {key: Place(owner="a-1") for key in streams}
    current = Assignment(runners=runners, streams=places, drained=("a",))
    both = {"alive": {"a-1", "b-1"}}

    first = plan_assignment(current, streams, **both, measured=Measured(started=set(streams)))
    waiting = plan_assignment(first, streams, **both, measured=Measured(started=set(streams)))
    moved = plan_assignment(let_go(first), streams, **both, measured=Measured(started={"db.t/y"}))
    starting = plan_assignment(moved, streams, **both, measured=Measured(started={"db.t/y"}))
    second = plan_assignment(moved, streams, **both, measured=Measured(started=set(streams)))

    assert {key: place.state.value for key, place in first.streams.items()} == {
        "db.t/x": "revoking",
        "db.t/y": "assigned",
    }
    assert waiting == first
    assert owners(moved) == {"db.t/x": "b-1", "db.t/y": "a-1"}
    assert starting == moved
    assert second.streams["db.t/y"].state is PlaceState.REVOKING


def test_a_stream_makes_room_for_one_that_has_no_other_place() -> None:
    runners = {
        "a": member("a", labels={"zone": "eu"}, streams_max=1),
        "b": member("b"),
    }
    streams = needed("db.t/any") | needed("db.t/eu", labels={"zone": "eu"})
    current = Assignment(runners=runners, streams={"db.t/any": Place(owner="a-1")})

    final = settled(current, streams, alive={"a-1", "b-1"})

    assert owners(final) == {"db.t/any": "b-1", "db.t/eu": "a-1"}


def test_a_runner_that_joins_relieves_the_others_until_they_are_in_balance() -> None:
    streams = needed(*(f"db.t/s{n}" for n in range(10)))
    alone = {key: Place(owner="a-1") for key in streams}
    current = Assignment(runners={"a": member("a"), "b": member("b")}, streams=alone)
    both = {"a-1", "b-1"}

    idle = settled(current, streams, alive=both, loads=dict.fromkeys(streams, 0.0))
    busy = settled(current, streams, alive=both, loads=dict.fromkeys(streams, 0.15))

    assert sorted(list(owners(busy).values()).count(one) for one in both) == [5, 5]
    assert sorted(list(owners(idle).values()).count(one) for one in both) == [3, 7]


def test_streams_that_fail_or_are_not_measured_are_not_moved_for_balance() -> None:
    streams = needed(*(f"db.t/s{n}" for n in range(4)))
    places = {key: Place(owner="a-1") for key in streams}
    current = Assignment(runners={"a": member("a"), "b": member("b")}, streams=places)
    both = {"a-1", "b-1"}
    loads = dict.fromkeys(streams, 0.5)

    failing = Measured(loads=loads, started=set(streams), unsteady=set(streams))
    assert plan_assignment(current, streams, alive=both, measured=failing) == current
    assert (
        plan_assignment(current, streams, alive=both, measured=Measured(started=set(streams)))
        == current
    )


@pytest.mark.parametrize(
    ("runners", "drained", "alive", "reason"),
    [
        ({}, (), (), "no runner is alive"),
        ({"a": {}}, (), (), "no runner is alive"),
        ({"a": {"streams": ("db.u",)}}, (), "a", "no living runner may run it: each is restricted"),
        ({"a": {}}, (), "a", "no living runner that may run it has the labels zone=eu"),
        ({"a": {"labels": {"zone": "eu"}}}, (), "a", "is of a version that is too old"),
        ({"a": "all"}, ("a",), "a", "may run it is drained or ending: a"),
        ({"a": "all", "b": {}}, (), "ab", "may run it is full: a (1 of 1)"),
        ({"a": "all", "b": "all"}, (), "b", "a runner is about to take it"),
        ({"a": "all", "here": "all"}, (), ("a", "here"), "the runner here is about to start it"),
    ],
)
def test_the_reason_is_told(
    runners: Mapping[str, object], drained: tuple[str, ...], alive: Sequence[str], reason: str
) -> None:
    stream = NeededStream(key="db.t/s", labels={"zone": "eu"}, features=frozenset({"new"}))
    every = {"labels": {"zone": "eu", "disk": "fast"}, "features": ("new",), "streams_max": 1}
    members = {
        name: member(name, **(every if given == "all" else given))  # type: ignore[arg-type]
        for name, given in runners.items()
    }
    assignment = Assignment(
        runners=members,
        streams={"db.t/other": Place(owner="a-1"), "db.t/s": Place(owner="here-1")},
        drained=drained,
    )

    assert reason in why_unassigned(stream, assignment, alive={f"{name}-1" for name in alive})
