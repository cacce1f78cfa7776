"""Bodies are parsed and validated outside the event loop, and the listed findings are bounded."""

import importlib
import json
import pkgutil
import threading
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from braid.service import routes
from braid.service.checked_body import FINDINGS_MAX, CheckedBody, body_model
from braid.service.problems.error_handlers import FINDINGS_REPORTED
from braid.service.problems.problem_response import ERRORS_MAX
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"


class Probed(BaseModel):
    """A body that notes where it is checked."""

    name: str

    @model_validator(mode="before")
    @classmethod
    def note(cls, value: Any) -> Any:
        THREADS.append(threading.current_thread().name)
        return value


THREADS: list[str] = []


def test_a_body_is_checked_in_the_thread_for_bodies(client: HttpClient) -> None:
    app = client.app
    app.router.route_class = CheckedBody

    @app.put("/probed")
    async def put(body: Probed) -> str:
        return body.name

    THREADS.clear()
    answer = client.put("/probed", json={"name": "x"})

    assert (answer.status_code, answer.json()) == (200, "x")
    assert {name.split("_")[0] for name in THREADS} == {"bodies"}


def test_a_missing_body_is_reported(client: HttpClient) -> None:
    answer = client.put(TABLE)

    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (
        422,
        "this field is missing",
    )


def wrong_columns(count: int) -> bytes:
    return json.dumps(ORDERS | {"columns": [1] * count}).encode()


def test_of_many_findings_the_first_are_listed(client: HttpClient) -> None:
    answer = client.put(TABLE, content=wrong_columns(FINDINGS_REPORTED + 500)).json()

    assert answer["code"] == "invalid_request"
    assert answer["detail"].startswith(f"at least {FINDINGS_REPORTED} fields are not as declared")
    assert len(answer["errors"]) == ERRORS_MAX


@pytest.mark.parametrize(
    "body",
    [
        {f"x{number}": 1 for number in range(FINDINGS_MAX + 1)},
        ORDERS | {"columns": [{"a": 1, "b": 1}] * 4_000},
    ],
    ids=["unknown fields", "columns"],
)
def test_a_body_with_too_many_findings_is_refused_as_too_large(
    client: HttpClient, body: dict[str, Any]
) -> None:
    answer = client.put(TABLE, json=body)

    assert (answer.status_code, answer.json()["code"]) == (413, "limit_exceeded")
    assert f"more than {FINDINGS_MAX} mistakes" in answer.json()["detail"]


def test_many_wrong_values_of_a_key_are_one_error(shop: HttpClient) -> None:
    keys: list[dict[str, object]] = [{f"c{number}": [] for number in range(60)}] * 900

    answer = shop.post(f"{TABLE}/rows/lookup", json={"keys": keys}).json()

    assert answer["errors"][0]["pointer"] == "/keys/0"
    assert answer["errors"][0]["message"].startswith(
        "60 values are neither text, number nor boolean"
    )
    assert answer["detail"].startswith("900 fields")


@pytest.mark.parametrize("name", [r"\ud800", r"\uDFFF", r"a\uD83D"])
@pytest.mark.parametrize("path", [TABLE, f"{TABLE}/validate"])
def test_a_name_that_has_no_utf8_is_refused(client: HttpClient, path: str, name: str) -> None:
    body = json.dumps(ORDERS | {"options": {"NAME": "x"}}).replace("NAME", name).encode()

    answer = client.request("PUT" if path == TABLE else "POST", path, content=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["field"]) == ("/options", "options")
    assert problem["value"] == name[:-6] + "?"
    assert "a name has half of a surrogate pair" in problem["message"]
    assert "write the character itself" in problem["hint"]


def test_a_whole_surrogate_pair_is_text(client: HttpClient) -> None:
    body = json.dumps(ORDERS | {"options": {"\U0001f600": "x"}}).encode()

    answer = client.post(f"{TABLE}/validate", content=body)

    assert (answer.status_code, answer.json()["valid"]) == (200, False)


@pytest.mark.parametrize("body", [b'{"a": "\xed\xa0\x80"}', b"\xff", b'"\xfe'])
def test_what_is_not_utf8_is_no_json(client: HttpClient, body: bytes) -> None:
    answer = client.put(TABLE, content=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")
    assert "not UTF-8" in answer.json()["detail"]


def test_every_route_with_a_body_has_it_checked_there() -> None:
    modules = [
        importlib.import_module(f"{routes.__name__}.{found.name}")
        for found in pkgutil.iter_modules(routes.__path__)
    ]
    with_body = [
        route
        for module in modules
        if hasattr(module, "router")
        for route in module.router.routes
        if body_model(route) is not None
    ]

    assert len({route.path for route in with_body}) > 5
    assert all(isinstance(route, CheckedBody) for route in with_body)
