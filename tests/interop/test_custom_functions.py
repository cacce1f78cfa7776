"""Tables with a custom aggregate function: Java refuses them and names the function."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, LocalFileIO, Table
from braid.lake.merge.functions.extension import GROUP, reset_installed_functions
from tests.interop import java_reader
from tests.support.doc_examples import ROOT, doc_examples

pytestmark = pytest.mark.interop

GUIDE = ROOT / "docs" / "guides" / "custom-aggregate-functions.md"
MODULE = "acme_aggregates"


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """A table with the guide's function; its two commits overlap."""
    metadata = tmp_path / "site" / f"{MODULE}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (source,) = (e.text for e in doc_examples(GUIDE, "file") if e.kind == f"file {MODULE}.py")
    (tmp_path / "site" / f"{MODULE}.py").write_text(source)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\nacme.xor = {MODULE}:XOR\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    reset_installed_functions()
    created = Catalog(str(tmp_path / "warehouse"), file_io=LocalFileIO()).create_table(
        "t.custom",
        columns=[("id", "BIGINT"), ("lines", "BIGINT")],
        primary_key=["id"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.lines.aggregate-function": "acme.xor",
        },
    )
    for value in (0b0110, 0b0011):
        created.write_and_commit(pa.table({"id": [7], "lines": [value]}))
    yield created
    reset_installed_functions()
    sys.modules.pop(MODULE, None)


@pytest.mark.parametrize("is_compacted", [False, True], ids=["unmerged", "compacted"])
def test_java_refuses_a_custom_function_by_name(table: Table, is_compacted: bool) -> None:
    if is_compacted:
        table.compact()

    with pytest.raises(java_reader.JavaReaderFailed, match=r"identifier 'acme\.xor'"):
        java_reader.read_rows(Path(table.path))
