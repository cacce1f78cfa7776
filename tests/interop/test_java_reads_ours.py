"""Java's reader returns exactly the rows of tables that we wrote."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake import Catalog, Machine
from braid.registry.layout.physical_table import physical_table
from tests.conformance.case import parse_case
from tests.conformance.compare import difference
from tests.conformance.execute import write_rows
from tests.interop import java_reader
from tests.interop.generators import (
    deduplicate_case,
    more_rows,
    partial_update_case,
    sequence_group_case,
)
from tests.interop.ours import json_rows, write_case
from tests.property.record_kinds_model import (
    CASES,
    as_batch,
    ingest,
    random_records,
    rows_of_model,
    rows_of_table,
    spec_of,
)

pytestmark = pytest.mark.interop

CaseMaker = Callable[[str, int], dict[str, Any]]


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        (deduplicate_case, 101),
        (partial_update_case, 102),
        (sequence_group_case, 103),
        (sequence_group_case, 104),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_java_reads_exactly_our_rows(make: CaseMaker, seed: int, tmp_path: Path) -> None:
    case = parse_case(make("ours", seed))
    table = write_case(case, tmp_path)

    read = java_reader.read_rows(Path(table.path))

    assert read.rows is not None
    for machine in Machine:
        ours = table.scan(machine=machine).to_arrow()
        assert difference(read.rows, ours, schema=case.arrow_schema, hints={}) is None
    assert [(snapshot["id"], snapshot["kind"]) for snapshot in read.snapshots] == [
        (number, "APPEND") for number in range(1, len(case.steps) + 1)
    ]


def test_java_travels_to_our_snapshots(tmp_path: Path) -> None:
    case = parse_case(sequence_group_case("travel", 111))
    table = write_case(case, tmp_path)

    read = java_reader.read_rows(Path(table.path), snapshot=2)

    assert read.rows is not None
    ours = table.scan(at=2).to_arrow()
    assert difference(read.rows, ours, schema=case.arrow_schema, hints={}) is None


def test_java_reads_the_deletes_of_streams(tmp_path: Path) -> None:
    chance = random.Random(131)
    tables, expected = [], []
    for name, case in CASES.items():
        definition = physical_table(spec_of(case))
        table = Catalog(str(tmp_path / "warehouse")).create_table(
            f"db.{name.replace(' ', '_')}",
            columns=definition.columns,
            primary_key=definition.primary_key,
            options=definition.options,
        )
        records = random_records(chance, 40)
        ingest(table, case, as_batch(records), chance)
        tables.append(table)
        expected.append(rows_of_model(case, records))

    read = java_reader.read_tables([Path(table.path) for table in tables], tmp_path)

    for table, snapshots, rows in zip(tables, read, expected, strict=True):
        newest = snapshots[max(snapshots)]
        assert not isinstance(newest, str), newest
        names = table.schema.field_names
        found = [dict(zip(names, row, strict=True)) for row in newest]
        assert rows_of_table(found) == rows


@pytest.mark.parametrize("make", [deduplicate_case, sequence_group_case])
def test_java_rewrites_thousands_of_our_rows_unchanged(make: CaseMaker, tmp_path: Path) -> None:
    raw = make("many", 121)
    case = parse_case(raw)
    table = write_case(case, tmp_path)
    for commit in range(3):
        rows = more_rows(raw, seed=commit, row_count=2_000)
        write_rows(table, rows, case.arrow_schema, machine=Machine.COLUMN)

    files = java_reader.read_to_parquet(Path(table.path), tmp_path / "rewritten")

    ours = json_rows(table.scan().to_arrow())
    theirs = pa.concat_tables([pq.read_table(file) for file in files])
    assert len(ours) > 500
    assert difference(ours, theirs, schema=case.arrow_schema, hints={}) is None
