"""Requests drawn from the OpenAPI document get answers that it documents, and never a failure of the service.

Of each operation some requests are as the document describes them, and as many break it. Rules that a schema cannot state, such as
those of declarations, make a 422 of a request that is described; this is documented, too.
"""

import os
import random
from typing import Any, TypeAlias

import httpx
import pyarrow as pa
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.settings import ServiceSettings
from tests.support.soaking import soak
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

AnyOperation: TypeAlias = APIOperation[Any, Any, Any, Any]
AnyCase: TypeAlias = Case[AnyOperation]

TABLE = "/v1/tables/{database}/{table}"
WITHOUT_END = f"{TABLE}/rows/events"
EXAMPLES = 4
CHECKS = [
    content_type_conformance,
    missing_required_header,
    not_a_server_error,
    status_code_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def app_with_rows() -> BraidApp:
    """Return an app whose table `shop.orders` has rows and a stream."""
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    app = create_app(ServiceSettings(warehouse="/w"), catalog=catalog, file_io=file_io, clock=clock)
    client = HttpClient(app)
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    sales = {"topic": "sales", "partitioned_by_key": True}
    client.put("/v1/tables/shop/orders/streams/sales", json=sales).raise_for_status()
    catalog.table("shop.orders").write_and_commit(pa.table({"region": ["eu", "eu"], "id": [1, 7]}))
    return app


def without_security(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a service without access control: a request without a token is not refused."""
    paths = {
        path: {
            method: {name: part for name, part in operation.items() if name != "security"}
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    return {name: part for name, part in document.items() if name != "security"} | {"paths": paths}


APP = app_with_rows()
# What is not as described is refused: mostly with 422, if there is too much of it with 413.
CONFIG = SchemathesisConfig.from_str("""
[checks.negative_data_rejection]
expected-statuses = [400, 404, 409, 412, 413, 415, 422]
""")
SCHEMA = schemathesis.openapi.from_dict(without_security(APP.openapi()), config=CONFIG)
FOUND = list(SCHEMA.get_all_operations())
OPERATIONS = [
    one for found in FOUND if isinstance(found, Ok) and (one := found.ok()).path != WITHOUT_END
]


def check_operation(operation: AnyOperation, *, chosen: int, examples: int) -> None:
    """Send requests of one operation, and check the answers.

    Args:
        operation: The operation.
        chosen: The seed.
        examples: The number of requests as described, and of those that break the description if any can.
    """
    chance = random.Random(chosen)

    # The values of a query are texts, some of which the library takes for values of other types.
    is_body_alone = operation.body.items and not operation.query.items
    checks = [*CHECKS, negative_data_rejection] if is_body_alone else CHECKS

    def check(case: AnyCase) -> None:
        aimed(case, chance)
        try:
            answer = answer_of(case)
        except httpx.InvalidURL:  # too long to be sent by this client
            reject()
        case.validate_response(answer, checks=checks)

    modes = [GenerationMode.POSITIVE]
    if operation.query.items or operation.body.items:
        modes.append(
            GenerationMode.NEGATIVE
        )  # every text is a name, so a path alone cannot break its description
    for mode in modes:
        drawn = given(case=operation.as_strategy(generation_mode=mode))(check)
        settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )(seed(chosen)(drawn))()


def answer_of(case: AnyCase) -> httpx.Response:
    """Return the answer to a request; the library's own call would end the app after it."""
    arguments = case.as_transport_kwargs(base_url="http://braid")
    sent = requests.Request(**arguments).prepare()
    assert sent.url is not None
    headers = {"content-type": "application/json", **sent.headers}
    return HttpClient(APP).request(case.method, sent.url, headers=headers, content=sent.body)


def aimed(case: AnyCase, chance: random.Random) -> None:
    """Let most of the requests for a table be for the one that exists."""
    names = {"database": "shop", "table": "orders", "stream": "sales", "view": "snapshots"}
    if chance.random() < 0.7:
        for name, value in names.items():
            if name in case.path_parameters:
                case.path_parameters[name] = value
        if operation_reads_key(case) and chance.random() < 0.7:
            case.query |= {"region": "eu", "id": chance.choice(["1", "7", "8", "x"])}


def operation_reads_key(case: AnyCase) -> bool:
    return case.method == "GET" and "/rows" in case.path


def test_every_operation_can_be_drawn_from() -> None:
    assert [found for found in FOUND if not isinstance(found, Ok)] == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.label)
def test_answers_are_documented(operation: AnyOperation) -> None:
    check_operation(operation, chosen=1, examples=EXAMPLES)


@pytest.mark.soak
def test_answers_are_documented_for_long() -> None:
    def some(turn: int) -> None:
        operation = OPERATIONS[turn % len(OPERATIONS)]
        check_operation(operation, chosen=turn + int(os.environ.get("SEED", "0")), examples=50)

    soak(some)
