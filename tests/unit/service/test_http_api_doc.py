"""The HTTP reference agrees with the service."""

import json
import re
from pathlib import Path

import pytest

from braid.lake.merge.functions.registry import FUNCTIONS
from braid.schemas import OPTION_OF_FIELD
from braid.service.problems.problem_table import STATUS_AND_TITLE
from tests.unit.service.http_client import HttpClient

DOC = (Path(__file__).parents[3] / "docs" / "reference" / "http-api.md").read_text()
EXAMPLES = re.findall(r"```json\n(.*?)```", DOC, re.DOTALL)


def test_every_address_is_in_the_reference_and_no_other(client: HttpClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    served = {
        f"{method.upper()} {path}" for path, operations in paths.items() for method in operations
    }

    assert set(re.findall(r"^\| `([A-Z]+ [^`?]+)", DOC, re.MULTILINE)) == served


def test_every_code_is_in_the_reference_with_its_status() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", DOC, re.MULTILINE))

    assert documented == {code.value: str(status) for code, (status, _) in STATUS_AND_TITLE.items()}


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_tables_can_be_created(client: HttpClient, example: str) -> None:
    assert client.put("/v1/tables/shop/orders", json=json.loads(example)).status_code == 201


def test_every_field_of_an_aggregate_is_in_the_reference_with_its_option() -> None:
    (table,) = re.findall(r"^\| field of `aggregate` .*?\n\n", DOC, re.DOTALL | re.MULTILINE)
    documented = dict(re.findall(r"^\| `(\w+)` \|.*\| `([\w.-]+)` \|$", table, re.MULTILINE))

    assert documented == {"function": "aggregate-function", **OPTION_OF_FIELD}


def test_the_order_free_functions_are_those_that_are_declared_so() -> None:
    (listed,) = re.findall(r"any order of arrival gives the same value: (.*)\.$", DOC, re.MULTILINE)

    assert set(re.findall(r"`(\w+)`", listed)) == {
        name for name, declaration in FUNCTIONS.items() if declaration.order_free
    }


def test_a_topic_is_enough_for_a_stream_that_is_called_like_its_group(client: HttpClient) -> None:
    client.put("/v1/tables/shop/orders", json=json.loads(EXAMPLES[0]))

    answer = client.put("/v1/tables/shop/orders/streams/sales", json={"topic": "orders"})

    assert answer.status_code == 201
