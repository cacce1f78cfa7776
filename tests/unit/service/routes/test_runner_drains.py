"""Runners are drained over HTTP, and the status of a stream says why no runner has it."""

import pytest

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.placement.assignment import Member, Place
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.progress import ProgressStore
from braid.registry.store.stored_documents import FEATURES
from braid.schemas import RunnerProgress
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
DRAIN = "/v1/runners/r1/drain"


@pytest.fixture
def assignments(client: HttpClient, file_io: MemoryFileIO, clock: ManualClock) -> AssignmentStore:
    """A runner in the zone `us`, which has one stream and room for no other."""
    client.put(TABLE, json=ORDERS).raise_for_status()
    store = AssignmentStore(file_io, "/w", clock)
    member = Member(
        owner="r1-1", labels={"zone": "us"}, streams_max=1, features=tuple(sorted(FEATURES))
    )
    store.change(
        lambda one: one.with_runner("r1", member).model_copy(
            update={"streams": {"shop.items/clicks": Place(owner="r1-1")}}
        )
    )
    report = RunnerProgress(runner="r1", started_ms=0, updated_ms=clock.now_ms(), owner="r1-1")
    ProgressStore(file_io, "/w", clock).write(report)
    return store


def test_a_drain_is_stored_shown_and_in_the_audit_log(
    client: HttpClient, assignments: AssignmentStore
) -> None:
    for _ in range(2):
        drained = client.put(DRAIN)
        drained.raise_for_status()
    (runner,) = client.get("/v1/runners").json()["runners"]
    entries = client.get("/v1/audit").json()["entries"]

    assert drained.json() == client.get(DRAIN).json()
    assert drained.json() == {
        "runner": "r1",
        "drained": True,
        "joined": True,
        "streams": ["shop.items/clicks"],
    }
    assert assignments.read().value.drained == ("r1",)
    shown = {name: runner[name] for name in ("labels", "streams_max", "drained", "ending")}
    assert shown == {"labels": {"zone": "us"}, "streams_max": 1, "drained": True, "ending": False}
    actions = [one["action"] for one in entries if one["action"].endswith("drain_runner")]
    assert actions == ["drain_runner"]


def test_a_drain_ends(client: HttpClient, assignments: AssignmentStore) -> None:
    client.put(DRAIN).raise_for_status()

    assert client.delete(DRAIN).json()["drained"] is False
    assert assignments.read().value.drained == ()


def test_a_runner_that_is_not_running_can_be_drained(
    client: HttpClient, assignments: AssignmentStore
) -> None:
    drain = client.put("/v1/runners/later/drain").json()

    assert (drain["drained"], drain["joined"], drain["streams"]) == (True, False, [])
    assert client.put("/v1/runners/.x/drain").status_code == 422


@pytest.mark.parametrize(
    ("placement", "trace"),
    [
        ({"labels": {"zone": "eu"}}, "no living runner that may run it has the labels zone=eu"),
        ({"labels": {"zone": "us"}}, "each living runner that may run it is full: r1 (1 of 1)"),
    ],
)
@pytest.mark.usefixtures("assignments")
def test_the_status_says_why_no_runner_has_a_stream(
    client: HttpClient, placement: dict[str, object], trace: str
) -> None:
    body = {"topic": "sales", "placement": placement}
    client.put(f"{TABLE}/streams/sales", json=body).raise_for_status()
    status = client.get(f"{TABLE}/streams/sales/status").json()

    assert (status["state"], status["trace"]) == ("UNASSIGNED", trace)
