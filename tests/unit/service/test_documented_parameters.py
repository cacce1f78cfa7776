"""Every parameter and every field of the OpenAPI document says what it means."""

from typing import Any

import pytest

from braid.service.documented_parameters import describe_parameters
from tests.unit.service.http_client import HttpClient


@pytest.fixture
def document(client: HttpClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v1/openapi.json").json()
    return found


def test_every_parameter_says_what_it_means(document: dict[str, Any]) -> None:
    untold = {
        f"{method.upper()} {path}: {parameter['name']}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    }

    assert untold == set()


def test_every_field_of_a_contract_says_what_it_means(document: dict[str, Any]) -> None:
    untold = {
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if not described.get("description")
    }

    assert untold == set()


def test_a_route_may_describe_its_parameter_itself() -> None:
    parameters = [{"name": "limit"}, {"name": "limit", "description": "Its own."}, {"name": "x"}]

    describe_parameters(parameters)

    assert [one.get("description") for one in parameters] == [
        "Largest number of entries in the answer.",
        "Its own.",
        None,
    ]
