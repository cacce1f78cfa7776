"""POST requests with an idempotency key have their effect once, whatever becomes of the processes that carry them out."""

import asyncio
import re
from functools import partial
from typing import Any

import httpx
import pytest
from starlette.types import Message

from braid.lake import FileIO, ManualClock, MemoryFileIO
from braid.registry.errors import KeyReused
from braid.registry.registrar import REPEATED
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.remembered_requests import (
    CLAIM_MS,
    KEPT_MS,
    Claim,
    RememberedAnswer,
    RememberedRequests,
)
from braid.service.app import create_app
from braid.service.guard.idempotent_posts import KEY_LENGTH_MAX, IdempotentPosts
from braid.service.principal import ANYONE
from braid.service.request_slot import CURRENT, SlotNotFree
from braid.service.settings import ServiceSettings
from tests.support.faulty_file_io import Died, FaultyFileIO, Moment
from tests.support.table_files import copied
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
STREAM = f"{TABLE}/streams/sales"
KEY = {"idempotency-key": "deploy 7"}
ADD = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}

ONLY_READ = {
    "/v1/streams:{verb}/validate",
    "/v1/tables/{database}/{table}/validate-delete",
    "/v1/tables/{database}/{table}/rollback/validate",
    "/v1/tables/{database}/{table}/streams/{stream}/validate-delete",
    "/v1/tables/{database}/{table}/streams/{stream}/{verb}/validate",
    "/v1/tables/{database}/{table}/streams/{stream}/dead-letters/replay/validate",
    "/v1/declarations:validate",
    "/v1/tables/{database}/{table}/validate-patch",
    "/v1/tables/{database}/{table}/streams/{stream}/validate-patch",
    "/v1/tables/{database}/{table}/validate",
    "/v1/tables/{database}/{table}:test",
    "/v1/tables/{database}/{table}/schema-changes/validate",
    "/v1/tables/{database}/{table}/streams/{stream}/validate",
    "/v1/tables/{database}/{table}/streams/{stream}/offsets/validate",
    "/v1/tables/{database}/{table}/rows/lookup",
    "/v1/tables/{database}/{table}/rows/scan",
    "/v1/tables/{database}/{table}/rows/events",
    "/v1/tables/{database}/{table}/rows/explain",
    "/v1/tables/{database}/{table}/views/{view}/lookup",
}
PUSH = "/v1/tables/{database}/{table}/streams/{stream}/records"


def another_process(file_io: FileIO, clock: ManualClock) -> HttpClient:
    return HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))


@pytest.fixture
def stream(shop: HttpClient) -> HttpClient:
    shop.put(STREAM, json={"topic": "sales"}).raise_for_status()
    return shop


def generation(client: HttpClient) -> int:
    found: int = client.get(STREAM).json()["restart_generation"]
    return found


def test_the_answer_is_repeated_by_any_process_and_the_effect_is_not(
    stream: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    first = stream.post(f"{STREAM}/restart", headers=KEY)
    again = stream.post(f"{STREAM}/restart", headers=KEY)
    elsewhere = another_process(file_io, clock).post(f"{STREAM}/restart", headers=KEY)

    assert generation(stream) == 1
    assert (first.status_code, "idempotent-replayed" in first.headers) == (202, False)
    for one in (again, elsewhere):
        assert (one.status_code, one.content) == (202, first.content)
        assert one.headers["content-type"] == first.headers["content-type"]
        assert one.headers["idempotent-replayed"] == "true"
    assert stream.post(f"{STREAM}/restart").status_code == 202
    assert generation(stream) == 2


def test_a_body_that_is_written_otherwise_is_the_same_request(stream: HttpClient) -> None:
    address = f"{TABLE}/schema-changes"

    first = stream.post(address, headers=KEY, json={"changes": [ADD]})
    again = stream.post(address, headers=KEY, json={"changes": [dict(reversed(ADD.items()))]})

    assert first.headers["etag"] == again.headers["etag"]
    assert again.content == first.content


@pytest.mark.parametrize(
    ("address", "body"),
    [(f"{STREAM}/stop", {}), (f"{TABLE}/schema-changes", {"changes": [ADD]})],
)
def test_another_request_with_the_key_is_refused(
    stream: HttpClient, address: str, body: dict[str, Any]
) -> None:
    stream.post(f"{STREAM}/restart", headers=KEY).raise_for_status()

    refused = stream.post(address, headers=KEY, json=body)

    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    (problem,) = refused.json()["errors"]
    assert (problem["field"], problem["value"]) == ("idempotency-key", "deploy 7")
    assert stream.get(STREAM).json()["desired_state"] == "RUNNING"


def test_only_an_answer_of_success_is_remembered(stream: HttpClient) -> None:
    stream.post(f"{STREAM}/stop").raise_for_status()
    refused = stream.post(f"{STREAM}/restart", headers=KEY)
    stream.post(f"{STREAM}/start").raise_for_status()

    done = stream.post(f"{STREAM}/restart", headers=KEY)

    assert (refused.status_code, done.status_code) == (409, 202)
    assert generation(stream) == 2


def test_of_two_requests_at_once_one_is_carried_out(stream: HttpClient) -> None:
    transport = httpx.ASGITransport(stream.app)

    async def at_once() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=transport, base_url="http://braid") as client:
            headers = {"content-type": "application/json", **KEY}
            return await asyncio.gather(
                *(client.post(f"{STREAM}/restart", headers=headers) for _ in range(5))
            )

    answers = asyncio.run(at_once())

    assert {(one.status_code, one.content) for one in answers} == {(202, answers[0].content)}
    assert [one.headers.get("idempotent-replayed") for one in answers].count("true") == 4
    assert generation(stream) == 1


def test_while_another_process_carries_it_out_the_client_is_told_to_try_again(
    stream: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    file_io.create_exclusive(*claim_of_restart(stream, file_io, clock))

    busy = stream.post(f"{STREAM}/restart", headers=KEY)
    clock.advance(ms=CLAIM_MS)
    done = stream.post(f"{STREAM}/restart", headers=KEY)

    assert (busy.status_code, busy.json()["code"]) == (409, "conflict")
    assert busy.headers["retry-after"] == "1"
    assert done.status_code == 202
    assert generation(stream) == 1


def claim_of_restart(
    client: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> tuple[str, bytes]:
    """Return path and content of the claim that a process makes for the request, on a copy of the storage."""
    copy = copied(file_io)
    dying = FaultyFileIO(copy)
    dying.before = die_at_the_answer
    with pytest.raises(Died):
        another_process(dying, clock).post(f"{STREAM}/restart", headers=KEY)
    (path,) = (one.path for one in copy.list("/w/_braid/requests") if "claim" in one.name)
    return path, copy.read_bytes(path)


def test_a_request_that_finds_no_slot_after_its_wait_gives_its_claim_back(
    stream: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    file_io.create_exclusive(*claim_of_restart(stream, file_io, clock))
    layer = IdempotentPosts(never, RememberedRequests(file_io, "/w", clock))
    sent: list[Message] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{STREAM}/restart",
        "query_string": b"",
        "headers": [(b"idempotency-key", KEY["idempotency-key"].encode())],
        "app": stream.app,
        "state": {"request_id": "one", "principal": ANYONE},
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    async def answered() -> None:
        CURRENT.set(TakenSlot(clock))
        await layer(scope, receive, send)

    asyncio.run(answered())
    again = stream.post(f"{STREAM}/restart", headers=KEY)

    assert (sent[0]["status"], again.status_code) == (503, 202)


async def never(*_: object) -> None:
    message = "the request is refused before"
    raise AssertionError(message)


class TakenSlot:
    """A slot that another request takes; the claim of an ended process becomes old meanwhile."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def give_back(self) -> None:
        self._clock.advance(ms=CLAIM_MS)

    async def take_again(self) -> None:
        message = "other requests are running"
        raise SlotNotFree(message)


def die_at_the_answer(_number: int, method: str, path: str) -> None:
    if method == "create_exclusive" and path.endswith(".answer.json"):
        raise Died


@pytest.mark.parametrize("digest", ["one", "another"])
def test_an_answer_that_comes_between_the_look_for_it_and_the_claim_is_the_answer(
    file_io: MemoryFileIO, clock: ManualClock, digest: str
) -> None:
    requests = RememberedRequests(file_io, "/w", clock)
    request = NamedRequest(key="deploy 7", digest="one")
    claim = requests.begin("shop.orders", request)
    assert isinstance(claim, Claim)
    answer = RememberedAnswer(digest="one", status=202, headers={}, body="{}")
    late = FaultyFileIO(file_io)

    def finish(_number: int, method: str, _path: str) -> None:
        if method == "create_exclusive":
            requests.finish(claim, answer)

    late.before = finish
    begin = partial(RememberedRequests(late, "/w", clock).begin, "shop.orders")

    if digest == "one":
        assert begin(request) == answer
    else:
        with pytest.raises(KeyReused):
            begin(NamedRequest(key="deploy 7", digest=digest))
    (left,) = file_io.list("/w/_braid/requests")
    assert left.name.endswith(".answer.json")


@pytest.mark.parametrize(
    ("address", "body"),
    [(f"{STREAM}/restart", {}), (f"{TABLE}/schema-changes", {"changes": [ADD]})],
    ids=["verb", "schema"],
)
def test_a_process_that_is_killed_at_any_call_of_storage_is_followed_by_one_that_acts_at_most_once(
    stream: HttpClient,
    file_io: MemoryFileIO,
    clock: ManualClock,
    address: str,
    body: dict[str, Any],
) -> None:
    given = copied(file_io)
    counted = FaultyFileIO(copied(given))
    another_process(counted, clock).post(address, json=body, headers=KEY).raise_for_status()
    messages = set()
    for number in range(len(counted.calls)):
        left = copied(given)
        dying = FaultyFileIO(left)
        dying.die_at(number, Moment.BEFORE)  # and after the call before
        with pytest.raises(Died):
            another_process(dying, clock).post(address, json=body, headers=KEY)

        clock.advance(ms=CLAIM_MS)
        client = another_process(left, clock)
        answer = client.post(address, json=body, headers=KEY)

        assert answer.status_code in (200, 202), (number, counted.calls[number])
        made = client.get(STREAM).json(), client.get(TABLE).json()
        assert (made[0]["restart_generation"], made[1]["schema_id"]) in ((1, 0), (0, 1))
        messages.add(answer.json().get("message"))
    if body == {}:
        # Before the change, and between the change and the remembered answer.
        assert f"sales: {REPEATED}" in messages
        assert len(messages) >= 2


def test_a_key_in_the_document_is_enough_without_a_remembered_answer(
    stream: HttpClient, file_io: MemoryFileIO
) -> None:
    first = stream.post(f"{STREAM}/restart", headers=KEY)
    for one in file_io.list("/w/_braid/requests"):
        file_io.delete(one.path)

    again = stream.post(f"{STREAM}/restart", headers=KEY)

    assert (first.status_code, again.status_code) == (202, 202)
    assert "idempotent-replayed" not in again.headers
    assert again.json()["message"] == f"sales: {REPEATED}"
    assert generation(stream) == 1


def test_a_dropped_table_takes_its_keys_along(stream: HttpClient) -> None:
    stream.post(f"{STREAM}/stop", headers=KEY).raise_for_status()
    stream.delete(f"{TABLE}?confirm=shop.orders").raise_for_status()
    stream.put(TABLE, json=ORDERS).raise_for_status()
    stream.put(STREAM, json={"topic": "sales"}).raise_for_status()

    stopped = stream.post(f"{STREAM}/stop", headers=KEY)

    assert "idempotent-replayed" not in stopped.headers
    assert stream.get(STREAM).json()["desired_state"] == "STOPPED"


@pytest.mark.parametrize("key", ["", "x" * (KEY_LENGTH_MAX + 1)], ids=len)
def test_every_route_that_posts_a_change_takes_a_key(client: HttpClient, key: str) -> None:
    document = client.get("/v1/openapi.json").json()
    posts = {path: one["post"] for path, one in document["paths"].items() if "post" in one}

    assert posts.keys() >= {*ONLY_READ, PUSH}
    for path in posts.keys() - ONLY_READ - {PUSH}:
        refused = client.post(re.sub(r"\{\w+\}", "x", path), headers={"idempotency-key": key})
        assert refused.status_code == 422, path
        (problem,) = refused.json()["errors"]
        assert problem["field"] == "idempotency-key", path
        assert f"found {len(key)}" in problem["message"]
        assert "idempotency-key" in [one["name"] for one in posts[path]["parameters"]]
    for path in ONLY_READ:
        answer = client.post(re.sub(r"\{\w+\}", "x", path), headers={"idempotency-key": key})
        assert "idempotency-key" not in answer.text, path


def test_answers_are_removed_after_a_day(
    stream: HttpClient, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    stream.post(f"{STREAM}/restart", headers=KEY).raise_for_status()
    requests = RememberedRequests(file_io, "/w", clock)
    name = NamedRequest(key="deploy 7", digest="another")

    clock.advance(ms=KEPT_MS)
    requests.remove_old()
    kept = len(file_io.list("/w/_braid/requests"))
    clock.advance(ms=1)
    requests.remove_old()

    assert (kept, file_io.list("/w/_braid/requests")) == (1, [])
    assert isinstance(requests.begin("shop.orders", name), Claim)
