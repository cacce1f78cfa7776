"""pypaimon returns exactly the rows of our tables that have no sequence groups (it reads no others)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, LocalFileIO, Machine
from tests.conformance.case import parse_case
from tests.conformance.compare import difference
from tests.conformance.execute import create_declared, write_rows
from tests.interop.generators import (
    ATOMIC_TYPES,
    NESTED_TYPES,
    deduplicate_case,
    partial_update_case,
)
from tests.interop.ours import json_rows, write_case
from tests.interop.pypaimon_reader import read_table, read_tables
from tests.interop.test_file_formats import for_orc

pytestmark = pytest.mark.interop

# pypaimon 2.1.0 drops the nanoseconds of INT96 timestamps, of Java's files too.
_READABLE = [column_type for column_type in ATOMIC_TYPES if column_type != "TIMESTAMP(9)"]

FORMATS = {
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "by_level": {"file.format.per.level": "0:avro,5:orc"},
}


@pytest.mark.parametrize(
    ("make", "types"),
    [(deduplicate_case, [*_READABLE, *NESTED_TYPES]), (partial_update_case, _READABLE)],
    ids=["deduplicate", "partial-update"],
)
def test_pypaimon_reads_exactly_our_rows(
    make: Callable[..., dict[str, Any]], types: list[Any], tmp_path: Path
) -> None:
    case = parse_case(make("ours", 301, types=types))
    table = write_case(case, tmp_path)

    theirs = read_table(tmp_path, "t.ours")

    ours = json_rows(table.scan().to_arrow())
    assert difference(ours, theirs, schema=case.arrow_schema, hints={}) is None


def test_pypaimon_reads_our_orc_and_avro_files(tmp_path: Path) -> None:
    cases = {}
    for name, options in FORMATS.items():
        raw = deduplicate_case(name, 303, types=[*_READABLE, *NESTED_TYPES])
        raw["steps"] = [{"write": [for_orc(row) for row in s["write"]]} for s in raw["steps"]]
        raw["options"] |= options
        cases[f"t.{name}"] = parse_case(raw)
    tables = [write_case(case, tmp_path) for case in cases.values()]
    tables[-1].compact()

    found = read_tables(tmp_path, [(name, {}) for name in cases])

    for table, case, theirs in zip(tables, cases.values(), found, strict=True):
        assert isinstance(theirs, pa.Table), theirs
        ours = json_rows(table.scan().to_arrow())
        assert difference(ours, theirs, schema=case.arrow_schema, hints={}) is None, case.id


def test_pypaimon_sees_neither_marked_nor_waiting_rows(tmp_path: Path) -> None:
    raw = deduplicate_case("marked", 302, types=["INT", "STRING"])
    raw["options"] |= {
        "deletion-vectors.enabled": "true",
        "compaction.max-size-amplification-percent": "100000",
    }
    case = parse_case(raw)
    table = create_declared(case, Catalog(str(tmp_path), file_io=LocalFileIO()), case.id)
    *steps, last = case.steps
    for step in steps:
        write_rows(table, step.action["write"], case.arrow_schema, machine=Machine.COLUMN)
        table.compact(full=False)
    ours = json_rows(table.scan().to_arrow())
    write_rows(table, last.action["write"], case.arrow_schema, machine=Machine.COLUMN)

    theirs = read_table(tmp_path, "t.marked")

    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.index_manifest is not None, "no row is marked"
    assert json_rows(table.scan().to_arrow()) == ours
    assert difference(ours, theirs, schema=case.arrow_schema, hints={}) is None
