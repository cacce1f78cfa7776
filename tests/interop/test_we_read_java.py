"""We return exactly the rows of tables that Java wrote, at every snapshot."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.lake import Machine
from tests.conformance.case import parse_case
from tests.conformance.compare import difference
from tests.conformance.execute import run_table_case, write_rows
from tests.interop import java_reader
from tests.interop.generators import (
    deduplicate_case,
    more_rows,
    partial_update_case,
    sequence_group_case,
    with_retracts,
)
from tests.interop.ours import json_rows, open_table, write_case

pytestmark = pytest.mark.interop

MAKERS = (deduplicate_case, partial_update_case, sequence_group_case)
BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Twelve tables written by Java, half of them with deletes: the folder that holds them, and its answers."""
    folder = tmp_path_factory.mktemp("java")
    made = [
        (make(f"{make.__name__}_{seed}", seed), seed) for make in MAKERS for seed in range(200, 204)
    ]
    cases = [with_retracts(case, seed) if seed >= 202 else case for case, seed in made]
    answers = java_reader.run_cases(
        lines(folder / "cases.jsonl", cases), folder / "out.jsonl", keep=folder / "kept"
    )
    return folder / "kept" / "t.db", answers


@BOTH
def test_every_snapshot_of_javas_tables_reads_as_java_says(
    machine: Machine, answered: tuple[Path, list[dict[str, Any]]]
) -> None:
    database, answers = answered

    for case in map(parse_case, answers):
        table = open_table(database / case.id)
        for step in case.steps:
            assert step.expected is not None
            rows = table.scan(at=step.number, machine=machine).to_arrow()
            expected = step.expected["rows"]
            found = difference(expected, rows, schema=case.arrow_schema, hints={})
            assert found is None, f"{case.id}, snapshot {step.number}"


@BOTH
def test_our_writers_and_readers_end_where_javas_do(
    machine: Machine, answered: tuple[Path, list[dict[str, Any]]]
) -> None:
    for answer in answered[1]:
        run_table_case(parse_case(answer), machine)


def test_a_large_compacted_table_of_java_reads_right(tmp_path: Path) -> None:
    path = tmp_path / "bulk"
    java_reader.write_bulk(
        path, rows=20_000, keys=3_000, commits=4, buckets=3, engine="deduplicate", is_compacted=True
    )

    files = java_reader.read_to_parquet(path, tmp_path / "rewritten")

    theirs = pa.concat_tables([pq.read_table(file) for file in files])
    for snapshot_id, machine in itertools.product((None, 5), Machine):
        ours = open_table(path).scan(at=snapshot_id, machine=machine).to_arrow()
        found = difference(json_rows(ours), theirs, schema=ours.schema, hints={})
        assert found is None


def test_java_and_we_take_turns_on_one_table(tmp_path: Path) -> None:
    """Ours, then Java's commits and a full compaction, ours again: both read the same each time."""
    raw = sequence_group_case("turns", 221)
    case = parse_case(raw)
    table = write_case(case, tmp_path)
    steps = [
        {"write": more_rows(raw, seed=1, row_count=50)},
        {"compact": "full"},
        {"write": more_rows(raw, seed=2, row_count=50)},
    ]
    (tmp_path / "steps.json").write_text(json.dumps({"steps": steps}), encoding="utf-8")

    theirs = java_reader.append(Path(table.path), tmp_path / "steps.json")

    first = len(case.steps) + 1
    for snapshot_id, expected in enumerate(theirs, start=first):
        for machine in Machine:
            rows = table.scan(at=snapshot_id, machine=machine).to_arrow()
            assert difference(expected, rows, schema=case.arrow_schema, hints={}) is None

    ours = more_rows(raw, seed=3, row_count=50)
    assert write_rows(table, ours, case.arrow_schema, machine=Machine.COLUMN) == first + len(steps)
    read = java_reader.read_rows(Path(table.path))
    assert read.rows is not None
    rows = table.scan().to_arrow()
    assert difference(read.rows, rows, schema=case.arrow_schema, hints={}) is None


def lines(path: Path, cases: Sequence[dict[str, Any]]) -> Path:
    """Write one case a line and return the file."""
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path
