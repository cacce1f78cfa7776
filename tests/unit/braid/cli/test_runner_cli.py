"""`braid runner list` and `braid runner drain` against a service; `braid runner` alone is the process."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from braid.registry.placement.assignment import Member, Place
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, StreamProgress, StreamState
from tests.support.fed_table import FedTable

Run = Callable[..., Any]


@pytest.fixture
def assignments(bed: FedTable) -> AssignmentStore:
    """A runner that has a stream."""
    clock = bed.clock
    store = AssignmentStore(bed.file_io, "/w", clock)
    member = Member(owner="r1-1", labels={"zone": "eu"}, streams_max=4)
    store.change(
        lambda one: one.with_runner("r1", member).model_copy(
            update={"streams": {"shop.orders/orders": Place(owner="r1-1")}}
        )
    )
    report = RunnerProgress(
        runner="r1",
        started_ms=0,
        updated_ms=clock.now_ms(),
        streams={"shop.orders/orders": StreamProgress(state=StreamState.RUNNING)},
        owner="r1-1",
    )
    ProgressStore(bed.file_io, "/w", clock).write(report)
    clock.advance(ms=1_000)  # what the service has read before is as of the last second
    return store


@pytest.mark.usefixtures("assignments")
def test_runners_are_listed(braid: Run) -> None:
    found = braid("runner", "list")
    header, line = found.stdout.splitlines()

    assert header.split() == ["runner", "state", "streams", "labels", "reported", "at"]
    assert line.split()[:6] == ["r1", "alive", "1", "of", "4", "zone=eu"]


def test_a_runner_is_drained_and_undrained(braid: Run, assignments: AssignmentStore) -> None:
    drained = braid("runner", "drain", "r1", "--output", "json")
    in_vain = braid("runner", "drain", "r1", "--wait", "--seconds", "0")
    assignments.change(lambda one: one.without_streams("r1-1", ["shop.orders/orders"]))
    waited = braid("runner", "drain", "r1", "--wait")
    listed = braid("runner", "list")
    undone = braid("runner", "drain", "r1", "--undo", "--output", "json")

    assert json.loads(drained.stdout)["drained"] is True
    assert in_vain.exit_code == 75
    assert dict(line.split(maxsplit=1) for line in waited.stdout.splitlines())["streams"] == "-"
    assert listed.exit_code == 0, listed.output
    assert listed.stdout.splitlines()[1].split()[1] == "drained"
    assert json.loads(undone.stdout)["drained"] is False
    assert assignments.read().value.drained == ()


@pytest.mark.usefixtures("assignments")
def test_a_drain_says_what_may_surprise(braid: Run, bed: FedTable) -> None:
    """A name that nobody has is a slip as a rule, and streams of the only runner do not move."""
    unknown = braid("runner", "drain", "r-1")
    in_vain = braid("runner", "drain", "r-1", "--wait")
    mended = braid("runner", "drain", "r-1", "--undo")
    again = braid("runner", "drain", "r-1", "--undo")
    no_name = braid("runner", "drain", "r/1")
    alone = braid("runner", "drain", "r1")
    undone = braid("runner", "drain", "r1", "--undo")
    store = AssignmentStore(bed.file_io, "/w", bed.clock)
    store.change(lambda one: one.without_owner("r1-1"))
    gone = braid("runner", "drain", "r1")

    assert unknown.exit_code == 0
    assert "no runner has ever reported as r-1; running: r1." in unknown.stderr
    assert in_vain.exit_code == 3
    assert mended.stderr == ""
    assert "r-1 was not drained" in again.stderr
    assert (no_name.exit_code, no_name.stderr) == (
        2,
        "error: expected the name of a runner, found 'r/1'\n",
    )
    assert "no other runner is there to take its streams" in alone.stderr
    assert undone.stderr == ""
    assert "r1 is not running: it gets no stream when it starts again" in gone.stderr
