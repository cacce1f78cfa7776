"""The requests of the guide on safe changes give the answers that the guide shows."""

import json
import re
from pathlib import Path
from typing import Any

from braid.lake import ManualClock, MemoryFileIO
from braid.registry.live_fields import FOR_PEOPLE, LIVE_FIELDS
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "change-safely.md").read_text()
SALES = "/v1/tables/shop/orders/streams/sales"


def shows(shown: Any, answer: Any) -> bool:
    """Return whether an answer has what is shown of it: of objects some fields, of lists all entries."""
    if isinstance(shown, dict):
        return all(name in answer and shows(value, answer[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(answer) and all(map(shows, shown, answer))
    return bool(shown == answer)


def test_the_requests_have_the_answers_that_are_shown() -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    client = HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    client.put(SALES, json={"topic": "orders"}).raise_for_status()
    etag = client.get(SALES).headers["etag"]

    examples = re.findall(r"```http\n(.*?)```\n\n(?:[^`]*?)```json\n(.*?)```", GUIDE, re.DOTALL)
    assert len(examples) == GUIDE.count("```http") == GUIDE.count("```json")
    for request, shown in examples:
        head, _, body = request.partition("\n\n")
        line, *headers = head.splitlines()
        method, path = line.split(" ")
        answer = client.request(
            method,
            path,
            headers={
                name: value.replace("<etag>", etag)
                for name, value in (header.split(": ") for header in headers)
            },
            content=body,
        )
        assert shows(json.loads(shown), answer.json()), answer.json()


def test_the_fields_that_a_running_query_takes_up_are_named() -> None:
    (sentence,) = re.findall(r"The columns, (.*?) of a stream are taken up", GUIDE, re.DOTALL)

    assert {"columns", *FOR_PEOPLE, *re.findall(r"`(\w+)`", sentence)} == LIVE_FIELDS
