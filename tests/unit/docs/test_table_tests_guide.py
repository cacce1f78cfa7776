"""The definition file of the guide to table tests, run as the guide says, and the answers that it prints."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT, doc_examples
from tests.unit.service.http_client import HttpClient

PAGE = ROOT / "docs" / "guides" / "table-tests.md"
GUIDE = PAGE.read_text(encoding="utf-8")
(FILE,) = doc_examples(PAGE, "file")
ANSWER = json.loads(re.findall(r"^```json\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[-1])
PRINTED = re.findall(r"^```text\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)
TABLE = "/v1/tables/shop/orders"


def with_wrong_total(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition whose first test expects what the guide says."""
    changed = deepcopy(definition)
    first = changed["table"]["tests"]["cases"][0]
    first["expect"]["rows"][0]["row"]["total"] = ANSWER["cases"][0]["differences"][0]["expected"]
    return changed


def run(folder: Path, definition: dict[str, Any]) -> tuple[int, str]:
    path = folder / FILE.kind.removeprefix("file ")
    path.write_text(json.dumps(definition), encoding="utf-8")
    result = CliRunner().invoke(app, ["test", str(path)])
    return result.exit_code, result.stdout


def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    definition = json.loads(FILE.text)

    assert run(tmp_path, definition) == (0, PRINTED[0])
    assert run(tmp_path, with_wrong_total(definition)) == (1, PRINTED[1])


@pytest.fixture
def client() -> HttpClient:
    clock = ManualClock()
    storage = MemoryFileIO(clock=clock)
    return HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=storage, clock=clock))


def test_the_service_answers_what_the_page_says(client: HttpClient) -> None:
    definition = json.loads(FILE.text)
    client.put(TABLE, json=definition["table"]).raise_for_status()
    for name, stream in definition["streams"].items():
        client.put(f"{TABLE}/streams/{name}", json=stream).raise_for_status()
    wrong = with_wrong_total(definition)["table"]

    cases = wrong["tests"]["cases"][:1]
    assert client.post(f"{TABLE}:test", json={"cases": cases}).json() == ANSWER
    assert client.post(f"{TABLE}:test", json={}).json()["passed"] is True
    refused = client.put(TABLE, json=wrong)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert ANSWER["cases"][0]["differences"][0]["message"] in error["message"]


def test_every_field_of_a_record_and_of_what_is_expected_is_on_the_page(
    client: HttpClient,
) -> None:
    models = client.get("/v1/openapi.json").json()["components"]["schemas"]
    of_records, of_expect = (
        re.findall(r"^\| (`\w+`.*?) \|", table, re.MULTILINE)
        for table in re.findall(r"^\| field .*?\n\n", GUIDE, re.DOTALL | re.MULTILINE)
    )
    described = set(re.findall(r"`(\w+)`", GUIDE))

    assert set(models["GivenRecord"]["properties"]) <= described
    assert {name.strip("`") for name in of_expect} == set(models["Expectation"]["properties"])
    assert {name for line in of_records for name in re.findall(r"`(\w+)`", line)} <= set(
        models["GivenRecord"]["properties"]
    )
    assert set(models["ExpectedRow"]["properties"]) <= described
