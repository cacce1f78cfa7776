"""The package of the guide to custom aggregate functions, installed from the page and used."""

import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, UnsupportedFeature
from braid.lake.merge.functions.extension import GROUP, reset_installed_functions
from braid.registry.errors import DefinitionRefused
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import TableSpec
from tests.support.doc_examples import ROOT, doc_examples, run_python

GUIDE = ROOT / "docs" / "guides" / "custom-aggregate-functions.md"
MODULE = "acme_aggregates"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    reset_installed_functions()
    yield
    reset_installed_functions()
    sys.modules.pop(MODULE, None)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the page's files as pip does: the module, and the metadata of its entry points."""
    files = {e.kind.removeprefix("file "): e.text for e in doc_examples(GUIDE, "file")}
    project = tomllib.loads(files["pyproject.toml"])["project"]
    place = tmp_path / "site"
    metadata = place / f"{MODULE}-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    (place / f"{MODULE}.py").write_text(files[f"{MODULE}.py"])
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"][GROUP].items()
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in points)]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(place))
    reset_installed_functions()


@pytest.fixture
def catalog() -> Catalog:
    return Catalog("/w", file_io=MemoryFileIO(), clock=ManualClock())


@pytest.fixture
def registrar(catalog: Catalog) -> Registrar:
    clock = ManualClock()
    return Registrar(RegistryStore(MemoryFileIO(), "/w", clock), catalog, clock)


def declaration() -> TableSpec:
    (example,) = doc_examples(GUIDE, "table")
    return TableSpec.model_validate(json.loads(example.text))


@pytest.mark.usefixtures("installed")
def test_the_examples_print_the_output_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    run_python(GUIDE)


@pytest.mark.usefixtures("installed")
def test_a_registered_table_merges_with_it(registrar: Registrar, catalog: Catalog) -> None:
    registrar.put_table("shop", "orders", declaration())
    table = catalog.table("shop.orders")

    for value in (0b0110, 0b0011):
        table.write_and_commit(pa.table({"id": [7], "lines": [value]}))
    table.compact()

    row = table.get({"id": 7})
    assert row is not None
    assert row["lines"] == 0b0101


@pytest.mark.usefixtures("installed")
def test_a_table_that_has_it_is_not_read_without_the_package(
    registrar: Registrar, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    registrar.put_table("shop", "orders", declaration())
    table = catalog.table("shop.orders")
    for value in (0b0110, 0b0011):
        table.write_and_commit(pa.table({"id": [7], "lines": [value]}))

    monkeypatch.setattr(sys, "path", sys.path[1:])
    reset_installed_functions()

    with pytest.raises(UnsupportedFeature, match="aggregate function that is unknown") as refused:
        catalog.table("shop.orders").scan().to_arrow()
    assert refused.value.problems[0].value == "acme.xor"


def test_without_the_package_it_is_refused(registrar: Registrar, catalog: Catalog) -> None:
    with pytest.raises(DefinitionRefused, match="there is no such aggregate function") as refused:
        registrar.put_table("shop", "orders", declaration())
    assert refused.value.problems[0].value == "acme.xor"

    with pytest.raises(InvalidRequest, match=r"acme\.xor"):
        catalog.create_table(
            "shop.orders",
            columns=[("id", "BIGINT"), ("lines", "BIGINT")],
            primary_key=["id"],
            options={
                "merge-engine": "aggregation",
                "fields.lines.aggregate-function": "acme.xor",
            },
        )
