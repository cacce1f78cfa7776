"""The example of the guide to backfills does what the guide shows."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from braid.cli.main import app
from braid.lake import Catalog, LocalFileIO, SystemClock
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec

GUIDE = Path("docs/guides/backfill.md").read_text(encoding="utf-8")
SPEC: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "version", "type": "INT"},
        {"name": "city", "type": "STRING"},
        {"name": "weight", "type": "DECIMAL(10, 2)"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "parcels", "ordering": ["version"], "columns": ["city", "weight"]}
    ],
}


def test_the_command_writes_the_rows_that_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((name, text),) = re.findall(r"```csv (\S+)\n(.*?)```", GUIDE, re.DOTALL)
    (command,) = re.findall(r"```sh\nbraid (.*?)\n```", GUIDE)
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    header, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in re.findall(r"^\| id \|.*?\n\n", GUIDE, re.DOTALL | re.MULTILINE)[0].splitlines()
        if line and "---" not in line
    ]
    warehouse = tmp_path / "warehouse"
    given_stream(warehouse)
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "nice", lambda _: None)  # of the tests' process

    arguments = [
        str(warehouse) if one == "/data/warehouse" else one for one in shlex.split(command)
    ]
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 0, result.output
    assert result.stdout == shown
    table = Catalog(str(warehouse)).table("shop.parcels").scan(columns=header).to_arrow()
    found = [[str(row[name]) for name in header] for row in table.to_pylist()]
    assert sorted(found) == rows


def given_stream(warehouse: Path) -> None:
    warehouse.mkdir()
    file_io, clock = LocalFileIO(), SystemClock()
    catalog = Catalog(str(warehouse), file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, str(warehouse), clock), catalog, clock)
    registrar.put_table("shop", "parcels", TableSpec.model_validate(SPEC))
    registrar.put_stream("shop.parcels", "parcels", StreamDefinition(topic="parcels"))
