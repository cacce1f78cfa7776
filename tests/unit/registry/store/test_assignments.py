"""The assignment is changed by compare-and-swap, and its readers make one request while nothing changes."""

import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO
from braid.registry.placement.assignment import Assignment, Member, Place
from braid.registry.store.assignments import NONE, AssignmentStore
from tests.support.faulty_file_io import FaultyFileIO

FIRST = "/w/_braid/assignment/00000000000000000001.json"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def file_io(clock: ManualClock) -> FaultyFileIO:
    return FaultyFileIO(MemoryFileIO(clock=clock))


def with_stream(one: Assignment, name: str) -> Assignment:
    return one.model_copy(update={"streams": {**one.streams, name: Place(owner="a-1")}})


def test_a_version_is_read_by_others(file_io: FaultyFileIO, clock: ManualClock) -> None:
    store, other = AssignmentStore(file_io, "/w", clock), AssignmentStore(file_io, "/w", clock)
    assert store.read() is NONE
    member = Member(owner="a-1", labels={"zone": "eu"})
    written = store.change(lambda one: with_stream(one.with_runner("a", member), "db.t/s"))

    assert other.newer(NONE) == written
    assert written.version == 1


def test_of_two_writers_one_creates_the_version(file_io: FaultyFileIO, clock: ManualClock) -> None:
    store, other = AssignmentStore(file_io, "/w", clock), AssignmentStore(file_io, "/w", clock)
    assert other.put(NONE, with_stream(NONE.value, "db.t/x")) is not None
    assert store.put(NONE, with_stream(NONE.value, "db.t/y")) is None
    both = store.change(lambda one: with_stream(one, "db.t/y"))

    assert both.value.streams.keys() == {"db.t/x", "db.t/y"}


def test_a_reader_makes_one_request_while_nothing_changes(
    file_io: FaultyFileIO, clock: ManualClock
) -> None:
    store = AssignmentStore(file_io, "/w", clock)
    known = store.change(lambda one: with_stream(one, "db.t/s"))
    store.newer(known)
    file_io.calls.clear()

    assert store.newer(known) is known
    assert [method for method, _ in file_io.calls] == ["read_bytes"]


def test_a_reader_that_slept_looks_for_versions_whose_predecessors_are_gone(
    file_io: FaultyFileIO, clock: ManualClock
) -> None:
    reader, writer = AssignmentStore(file_io, "/w", clock), AssignmentStore(file_io, "/w", clock)
    known = reader.newer(NONE)
    for number in range(30):
        clock.advance(ms=10_000)
        last = writer.change(lambda one, number=number: with_stream(one, f"db.t/{number}"))  # type: ignore[misc]
    assert not file_io.exists(FIRST)

    assert reader.newer(known) == last


def test_what_a_newer_version_has_added_is_kept(file_io: FaultyFileIO, clock: ManualClock) -> None:
    file_io.write_new(FIRST, b'{"runners":{"a":{"owner":"a-1","later":1}},"future":[2]}')
    store = AssignmentStore(file_io, "/w", clock)
    store.change(lambda one: with_stream(one, "db.t/s").with_drained("a", is_drained=True))
    stored = file_io.read_bytes(FIRST.replace("1.json", "2.json"))

    assert b'"later":1' in stored
    assert b'"future":[2]' in stored


def test_an_unreadable_assignment_names_the_version(
    file_io: FaultyFileIO, clock: ManualClock
) -> None:
    file_io.write_new(FIRST, b"{")

    with pytest.raises(CorruptData, match="version 1, cannot be read"):
        AssignmentStore(file_io, "/w", clock).read()


def test_the_streams_of_the_process_that_had_the_name_are_free() -> None:
    before = Assignment(
        runners={"a": Member(owner="a-1"), "b": Member(owner="b-1")},
        streams={"db.t/x": Place(owner="a-1"), "db.t/y": Place(owner="b-1")},
    )

    after = before.with_runner("a", Member(owner="a-2"))

    assert after.owners == {"a-2": "a", "b-1": "b"}
    assert after.streams.keys() == {"db.t/y"}
