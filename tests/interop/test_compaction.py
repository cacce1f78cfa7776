"""Java and we compact each other's tables, and both read the same rows from them."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from braid.lake import CompactionResult, Machine, Snapshot, Table
from tests.conformance.case import Case, parse_case
from tests.conformance.compare import difference
from tests.interop import java_reader
from tests.interop.generators import (
    deduplicate_case,
    more_rows,
    partial_update_case,
    sequence_group_case,
    with_retracts,
)
from tests.interop.ours import json_rows, open_table, write_case

pytestmark = [pytest.mark.interop, pytest.mark.slow]

CaseMaker = Callable[[str, int], dict[str, Any]]

MAKERS: dict[str, tuple[CaseMaker, int]] = {
    "deduplicate": (deduplicate_case, 301),
    "partial_update": (partial_update_case, 302),
    "sequence_group": (sequence_group_case, 303),
    "sequence_group_removing": (sequence_group_case, 305),
}


def first_row_case(case_id: str, seed: int) -> dict[str, Any]:
    """Return a first-row table with a value of every type; nothing compacts it in passing."""
    case = deduplicate_case(case_id, seed)
    options = {**case["options"], "merge-engine": "first-row", "write-only": "true"}
    return {**case, "options": options}


def given_case(name: str) -> dict[str, Any]:
    if name == "first_row":
        return first_row_case(name, 311)
    make, seed = MAKERS[name]
    return with_retracts(make(name, seed), seed)


@dataclass(frozen=True)
class Compacted:
    """A table that we compacted.

    Attributes:
        case: Ends with Java's own full compaction where Java wrote the table, which has not had it.
        path: Of the table.
        result: Of our compaction.
        levels: Of the files before it.
        read: What Java reads at each snapshot.
    """

    case: Case
    path: Path
    result: CompactionResult
    levels: set[int]
    read: dict[int, list[list[Any]] | str]


NAMES = [*MAKERS, "first_row"]


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Compacted]:
    """Tables of ours and tables of Java, by writer and name, compacted by us and read by Java."""
    folder = tmp_path_factory.mktemp("compacted-by-us")
    found: dict[str, tuple[Case, Path]] = {}
    for name in NAMES:
        case = parse_case(given_case(name))
        found[f"ours-{name}"] = case, Path(write_case(case, folder / "ours").path)
    found |= java_tables(folder / "java")
    compactions = {key: compact(path) for key, (_, path) in found.items()}
    read = java_reader.read_tables([path for _, path in found.values()], folder)
    return {
        key: Compacted(case, path, *compactions[key], rows)
        for (key, (case, path)), rows in zip(found.items(), read, strict=True)
    }


def java_tables(folder: Path) -> dict[str, tuple[Case, Path]]:
    """Let Java write tables with several levels, or level 0 alone (first-row)."""
    folder.mkdir()
    cases = []
    for name in NAMES:
        raw = given_case(name)
        if name != "first_row":
            raw["options"]["num-sorted-run.compaction-trigger"] = "2"
            raw["options"] |= {"num-levels": "5", "write-only": "false"}
        steps = [*raw["steps"]]
        steps += [{"write": more_rows(raw, seed=seed, row_count=15)} for seed in range(6)]
        plain = {**raw, "steps": steps}
        cases += [plain, {**plain, "id": f"{name}-full", "steps": [*steps, {"compact": "full"}]}]
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    answers = java_reader.run_cases(file, folder / "out.jsonl", keep=folder / "kept")
    by_id = {answer["id"]: parse_case(answer) for answer in answers}
    database = folder / "kept" / "t.db"
    return {f"java-{name}": (by_id[f"{name}-full"], database / name) for name in NAMES}


def compact(path: Path) -> tuple[CompactionResult, set[int]]:
    """Compact with the column machine after checking that the row machine gives the same rows."""
    by_rows = path.with_name(f"{path.name}-by-rows")
    shutil.copytree(path, by_rows)
    open_table(by_rows).compact(machine=Machine.ROW)
    table = open_table(path)
    levels = {entry.file.level for entry in table.live_files(newest(table))}
    result = table.compact(machine=Machine.COLUMN)
    assert json_rows(open_table(by_rows).scan().to_arrow()) == json_rows(table.scan().to_arrow())
    return result, levels


@pytest.mark.parametrize("name", NAMES)
def test_java_reads_what_we_compacted(name: str, compacted: dict[str, Compacted]) -> None:
    ours = compacted[f"ours-{name}"]
    table = open_table(ours.path)

    assert ours.result.snapshot_id == max(ours.read)
    for snapshot_id, rows in ours.read.items():
        assert isinstance(rows, list), rows
        assert_same(ours.case, table, rows, snapshot_id)
    assert ours.read[max(ours.read)]


@pytest.mark.parametrize("name", NAMES)
def test_our_compaction_of_javas_tables_gives_what_javas_does(
    name: str, compacted: dict[str, Compacted]
) -> None:
    java = compacted[f"java-{name}"]
    table = open_table(java.path)
    expected = java.case.steps[-1].expected

    assert expected is not None
    assert java.levels == {0} if name == "first_row" else java.levels > {0}, java.levels
    assert java.result.dropped == ()
    highest = table.schema.table_options.num_levels - 1
    assert {entry.file.level for entry in table.live_files(newest(table))} == {highest}
    assert_same(java.case, table, expected["rows"])
    rows = java.read[max(java.read)]
    assert isinstance(rows, list), rows
    assert_same(java.case, table, rows)


def test_java_continues_a_table_that_we_compacted(tmp_path: Path) -> None:
    raw = given_case("sequence_group_removing")
    case = parse_case(raw)
    table = write_case(case, tmp_path)
    table.compact()
    steps: list[dict[str, Any]] = [
        {"write": more_rows(raw, seed=1, row_count=40)},
        {"compact": "full"},
    ]
    (tmp_path / "steps.json").write_text(json.dumps({"steps": steps}), encoding="utf-8")

    theirs = java_reader.append(Path(table.path), tmp_path / "steps.json")

    assert_same(case, table, theirs[-1])


def test_java_reads_a_table_that_keeps_its_deletes(tmp_path: Path) -> None:
    raw = deduplicate_case("kept_deletes", 321)
    stamp = {"name": "stamp", "type": "TIMESTAMP(3)"}
    raw["schema"]["columns"].append(stamp)
    raw["options"] |= {
        "braid.delete-retention": "100000 d",
        "braid.delete-retention.time-fields": "stamp",
    }
    for step in raw["steps"]:
        step["write"] = [[*row, "2024-01-02T03:04:05.678"] for row in step["write"]]
    case = parse_case(with_retracts(raw, 321))
    table = write_case(case, tmp_path)
    expected = json_rows(table.scan().to_arrow())

    table.compact()

    files = [entry.file for entry in table.live_files(newest(table))]
    assert {file.level for file in files} == {table.schema.table_options.num_levels - 1}
    assert sum(file.delete_row_count or 0 for file in files) > 0
    assert json_rows(table.scan().to_arrow()) == expected
    (read,) = java_reader.read_tables([Path(table.path)], tmp_path)
    rows = read[max(read)]
    assert isinstance(rows, list), rows
    assert_same(case, table, rows)


def newest(table: Table) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def assert_same(
    case: Case, table: Table, expected: list[list[Any]], snapshot_id: int | None = None
) -> None:
    """Check that both machines read these rows from the table."""
    for machine in Machine:
        rows = table.scan(at=snapshot_id, machine=machine).to_arrow()
        assert difference(expected, rows, schema=case.arrow_schema, hints={}) is None
