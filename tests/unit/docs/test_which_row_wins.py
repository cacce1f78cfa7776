"""The picture of the guide to merging, compared with the rows that the engine returns."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, SchemaMismatch, Table
from tests.support.doc_examples import ROOT

GUIDE = (ROOT / "docs" / "guides" / "which-row-wins.md").read_text(encoding="utf-8")
PICTURE = GUIDE.partition("```\n")[2].partition("```")[0]
RECORD = re.compile(r"^ [ABC] +(\d) +([\d.]+) +(\S+)", re.MULTILINE)
ROW = re.compile(r"──►  (\S.*?) {2,}(\d) +([\d.]+) +(\S+)")

OPTIONS = {
    "deduplicate": {},
    "deduplicate … with sequence.field": {"sequence.field": "version"},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update … with sequence group": {
        "merge-engine": "partial-update",
        "fields.version.sequence-group": "paid,note",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.version.aggregate-function": "max",
        "fields.paid.aggregate-function": "sum",
    },
    "first-row": {"merge-engine": "first-row"},
}


def rows() -> dict[str, tuple[object, ...]]:
    """Return the rows of the picture by engine; `…` continues the engine above."""
    found: dict[str, tuple[object, ...]] = {}
    engine = ""
    for label, *values in ROW.findall(PICTURE):
        engine = engine if label.startswith("…") else label
        found[f"{engine} {label}" if label.startswith("…") else label] = cells(values)
    return found


def cells(values: list[str]) -> tuple[object, ...]:
    version, paid, note = values
    return int(version), float(paid), None if note == "-" else note


def test_the_picture_shows_every_engine() -> None:
    assert list(rows()) == list(OPTIONS)


@pytest.mark.parametrize("label", OPTIONS)
def test_the_row_is_the_one_that_wins(label: str) -> None:
    records = [cells(list(found)) for found in RECORD.findall(PICTURE)]
    assert len(records) == 3
    table = Catalog("/w", file_io=MemoryFileIO()).create_table(
        "t.t",
        columns=[("id", "INT"), ("version", "INT"), ("paid", "DOUBLE"), ("note", "STRING")],
        primary_key=["id"],
        options={"bucket": "1", **OPTIONS[label]},
    )
    schema = table.schema.arrow_schema
    for record in records:
        row = dict(zip(schema.names, (7, *record), strict=True))
        table.write_and_commit(pa.Table.from_pylist([row], schema=schema))
    if label == "first-row":
        table.compact()

    (row,) = table.scan().to_arrow().to_pylist()
    assert tuple(row.values()) == (7, *rows()[label])


REPAIRS = [
    (
        {"merge-engine": "aggregation", "fields.best.aggregate-function": "max"},
        {"fields.best.ignore-retract": "true"},
    ),
    ({"merge-engine": "partial-update"}, {"ignore-delete": "true"}),
]


@pytest.mark.parametrize(("options", "repair"), REPAIRS, ids=["ignore-retract", "ignore-delete"])
def test_options_that_another_engine_changes_mend_a_table_whose_merging_fails(
    options: Mapping[str, str], repair: Mapping[str, str], tmp_path: Path
) -> None:
    catalog = Catalog(str(tmp_path))
    broken = catalog.create_table(
        "t.t",
        columns=[("id", "INT"), ("best", "INT")],
        primary_key=["id"],
        options={"bucket": "1", **options},
    )
    add(broken, 7, 40, kind=0)
    add(broken, 7, 40, kind=3)
    with pytest.raises(SchemaMismatch):
        broken.scan().to_arrow()
    with pytest.raises(SchemaMismatch):
        broken.compact()

    schemas = tmp_path / "t.db" / "t" / "schema"
    changed = json.loads((schemas / "schema-0").read_text(encoding="utf-8"))
    changed |= {"id": 1, "options": {**changed["options"], **repair}}
    (schemas / "schema-1").write_text(json.dumps(changed), encoding="utf-8")
    mended = catalog.table("t.t")

    assert mended.scan().to_arrow().to_pylist() == [{"id": 7, "best": 40}]
    assert mended.compact().rows_out == 1


def add(table: Table, key: int, best: int, *, kind: int) -> None:
    rows = pa.table({"id": [key], "best": [best]}, schema=table.schema.arrow_schema)
    table.write_and_commit(rows, kinds=pa.array([kind], pa.int8()))
