"""Validation errors of the framework as problems of fields."""

from typing import Any

import pytest
from fastapi.exceptions import RequestValidationError

from braid.schemas.pushed_records import PushedRecords
from braid.service.problems.request_problems import field_problems
from braid.service.routes.push_bodies import parse_records
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient


def errors(client: HttpClient, **changes: Any) -> list[dict[str, Any]]:
    answer = client.put("/v1/tables/shop/orders", json=ORDERS | changes)
    found = answer.json()["errors"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("changes", "pointer", "field", "value"),
    [
        ({"buckets": "many"}, "/buckets", "buckets", "many"),
        ({"buckets": 0}, "/buckets", "buckets", "0"),
        ({"primary_key": []}, "/primary_key", "primary_key", None),
        ({"primary_key": "id"}, "/primary_key", "primary_key", "id"),
        ({"merge_engine": "last-row"}, "/merge_engine", "merge_engine", "last-row"),
        ({"tracking": "maybe"}, "/tracking", "tracking", "maybe"),
        ({"columns": [{"name": "id"}]}, "/columns/0/type", "columns[0].type", None),
        ({"columns": ["id"]}, "/columns/0", "columns[0]", "id"),
        (
            {"completeness": {"groups": "some"}},
            "/completeness/groups",
            "completeness.groups",
            "some",
        ),
        (
            {"completeness": {"groups": [7]}},
            "/completeness/groups/0",
            "completeness.groups[0]",
            "7",
        ),
        ({"options": {"a/b": 1}}, "/options/a~1b", "options.a/b", "1"),
    ],
    ids=str,
)
def test_one_mistake_is_one_problem_with_location_and_hint(
    client: HttpClient, changes: dict[str, Any], pointer: str, field: str, value: str | None
) -> None:
    (problem,) = errors(client, **changes)

    assert (problem["pointer"], problem["field"], problem["value"]) == (pointer, field, value)
    assert problem["message"]
    assert problem["hint"]


def test_the_problem_of_a_text_that_is_too_long_has_the_bound(client: HttpClient) -> None:
    (problem,) = errors(client, columns=[{"name": "id", "type": "ROW<" * 251}])

    assert problem["pointer"] == "/columns/0/type"
    assert problem["hint"] == "give at most 1000 characters"


def test_the_problem_of_an_unknown_field_lists_the_known_ones(client: HttpClient) -> None:
    (top,) = errors(client, bucket=4)
    (nested,) = errors(client, sequence_groups=[{"name": "g", "columns": ["total"], "order": []}])

    assert top["pointer"] == "/bucket"
    assert "`buckets`" in top["hint"]
    assert nested["pointer"] == "/sequence_groups/0/order"
    assert nested["hint"] == "known fields: `columns`, `deletes`, `keep`, `name`, `ordering`"


def test_all_mistakes_are_reported_at_once(client: HttpClient) -> None:
    found = errors(client, bucket=4, buckets="x", columns=[{"nme": "id", "type": "INT"}])

    assert [problem["pointer"] for problem in found] == [
        "/columns/0/name",
        "/columns/0/nme",
        "/buckets",
        "/bucket",
    ]


def test_the_fields_of_the_objects_of_a_list_are_known() -> None:
    with pytest.raises(RequestValidationError) as refused:
        parse_records(b'[{"valeu": 7}]', "application/json")

    error = refused.value
    (problem,) = field_problems(error.errors(), body=error.body, model=PushedRecords)

    assert problem.pointer == "/0/valeu"
    assert problem.hint is not None
    assert problem.hint.startswith("known fields: `headers`, `key`, `key_base64`")
