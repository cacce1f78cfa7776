"""The examples of declarations: valid by their JSON Schemas, and registered by `braid apply`."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from braid.cli.documents import read_documents
from braid.cli.main import app
from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT
from tests.support.served_app import served

EXAMPLES = sorted((ROOT / "schemas" / "examples").glob("*.yaml"))
SCHEMAS = sorted((ROOT / "schemas" / "json").glob("*.schema.json"))


def schema_of(path: Path) -> Any:
    """Return the JSON Schema that the first line of an example names."""
    first, _, _ = path.read_text().partition("\n")
    return json.loads((path.parent / first.rpartition("=")[2]).read_text())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_valid_by_the_schema_that_it_names(path: Path) -> None:
    validator = jsonschema_rs.validator_for(schema_of(path))

    for document in read_documents([str(path)]):
        assert list(validator.iter_errors(document.value)) == []
        if isinstance(document.value, dict):  # an editor finds a field that is misspelt
            assert not validator.is_valid(document.value | {"odd": 1})


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_a_schema_is_a_schema_with_a_meaning_of_every_field(path: Path) -> None:
    schema = json.loads(path.read_text())

    jsonschema_rs.meta.validate(schema)
    for name, model in [("", schema), *schema["$defs"].items()]:
        for field, described in model.get("properties", {}).items():
            assert described.get("description"), f"{name}.{field}"


def test_all_examples_are_registered_together_and_stay_as_they_are() -> None:
    clock = ManualClock()
    storage = MemoryFileIO(clock=clock)
    service = create_app(ServiceSettings(warehouse="/w"), file_io=storage, clock=clock)
    folder = str(ROOT / "schemas" / "examples")

    with served(service) as address:
        arguments = ["apply", "-f", folder, "--yes", "--api", address]
        done, again = (CliRunner().invoke(app, arguments) for _ in range(2))

    assert done.exit_code == 0, done.stderr
    assert again.stdout.splitlines()[-1].startswith("0 to create, 0 to change, 0 to delete")
    tables = [line for line in done.stdout.splitlines() if line.startswith("+ table")]
    assert len(tables) == len(EXAMPLES)


def test_the_tests_of_the_examples_pass() -> None:
    done = CliRunner().invoke(
        app, ["test", str(ROOT / "schemas" / "examples" / "tested-table.yaml")]
    )

    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("kind", ["declaration", "definition-file", "table", "stream"])
def test_the_program_prints_the_schemas(kind: str) -> None:
    done = CliRunner().invoke(app, ["schema", kind])

    assert done.stdout == (ROOT / "schemas" / "json" / f"{kind}.schema.json").read_text()
