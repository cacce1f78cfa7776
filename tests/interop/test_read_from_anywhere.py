"""The examples of the guide "Read it from anywhere" that are not Python run as well."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from braid.lake import Catalog
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.interop import java_reader, pypaimon_reader
from tests.support.doc_examples import ROOT, doc_examples, run_python
from tests.unit.service.http_client import HttpClient

PAGE = ROOT / "docs" / "guides" / "other-engines.md"
_CURL = re.compile(r'curl -fsS "\$API(?P<path>[^"]+)" \| jq -c \.(?P<key>\w+)')

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def warehouse() -> Path:
    """Return the warehouse of the page, as its Python leaves it."""
    return Path(str(run_python(PAGE)["warehouse"]))


def commands(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with what the page says that it prints."""
    [example] = doc_examples(PAGE, kind)
    for part in example.text.split("$ ")[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def test_java_reads_the_table(warehouse: Path, tmp_path: Path) -> None:
    [example] = doc_examples(PAGE, "java")
    source = tmp_path / example.kind.split()[1]
    source.write_text(example.text, encoding="utf-8")

    assert java_reader.run_source(source, str(warehouse)) == example.printed


def test_pypaimon_reads_the_table(warehouse: Path) -> None:
    [example] = doc_examples(PAGE, "pypaimon")

    assert pypaimon_reader.run_program(example.text, str(warehouse)) == example.printed


def test_files_are_exported(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    for command, printed in commands("braid"):
        arguments = shlex.split(command.replace("/data/warehouse", str(warehouse)))
        assert CliRunner().invoke(app, arguments[1:]).stdout == printed

    assert {path.name for path in tmp_path.iterdir()} == {"parcels.parquet", "cheap.csv", "parts"}


def test_http_answers(warehouse: Path) -> None:
    catalog = Catalog(str(warehouse))
    client = HttpClient(create_app(ServiceSettings(warehouse=str(warehouse)), catalog=catalog))

    for command, printed in commands("http"):
        found = _CURL.fullmatch(command)
        assert found is not None, command
        answer = client.get(found["path"])
        assert answer.status_code == 200, answer.text
        assert answer.json()[found["key"]] == json.loads(printed)
