"""The reference says what the service does."""

import json
import re
from pathlib import Path

from service.problem_table import STATUS_AND_TITLE
from tests.unit.service.http_client import HttpClient

DOC = (Path(__file__).parents[3] / "docs" / "reference" / "http-api.md").read_text()


def test_every_address_is_in_the_reference_and_no_other(client: HttpClient) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    served = {
        f"{method.upper()} {path}" for path, operations in paths.items() for method in operations
    }

    assert set(re.findall(r"^\| `([A-Z]+ [^`?]+)", DOC, re.MULTILINE)) == served


def test_every_code_is_in_the_reference_with_its_status() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", DOC, re.MULTILINE))

    assert documented == {code.value: str(status) for code, (status, _) in STATUS_AND_TITLE.items()}


def test_the_example_of_a_table_can_be_created(client: HttpClient) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOC, re.DOTALL)

    assert client.put("/v1/tables/shop/orders", json=json.loads(example)).status_code == 201


def test_a_topic_is_enough_for_a_stream_that_is_called_like_its_group(client: HttpClient) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOC, re.DOTALL)
    client.put("/v1/tables/shop/orders", json=json.loads(example))

    answer = client.put("/v1/tables/shop/orders/streams/sales", json={"topic": "orders"})

    assert answer.status_code == 201
