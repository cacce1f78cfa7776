"""Tables whose rows are marked or looked up: what Java wrote we read, what we wrote Java reads, at every snapshot."""

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, LocalFileIO, Machine, Table
from tests.conformance.case import Case, parse_case
from tests.conformance.compare import difference
from tests.conformance.execute import create_declared, write_rows
from tests.interop import java_reader
from tests.interop.generators import (
    deduplicate_case,
    more_rows,
    partial_update_case,
    sequence_group_case,
    with_retracts,
)
from tests.interop.ours import open_table

pytestmark = pytest.mark.interop

# Every other type is for the tests of types; a few columns are read faster.
_TYPES = ("INT", "STRING", "DECIMAL(18, 4)", "TIMESTAMP(6)")
MAKERS: Mapping[str, Callable[[str, int], dict[str, Any]]] = {
    "deduplicate": partial(deduplicate_case, types=_TYPES),
    "partial-update": partial(partial_update_case, types=_TYPES),
    "groups": sequence_group_case,
}
KINDS: Mapping[str, Mapping[str, str]] = {
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors-64": {"deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    "vectors-told": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "lookup": {"changelog-producer": "lookup"},
    "forced": {"force-lookup": "true"},
}
LEVELS = {"write-only": "false", "num-sorted-run.compaction-trigger": "4", "num-levels": "4"}


def given_cases() -> Iterator[Case]:
    """Yield a case of every kind, by makers in turns, with retracts where a seed is odd."""
    numbered = enumerate(zip(KINDS, itertools.cycle(MAKERS), strict=False), start=400)
    for seed, (kind, maker) in numbered:
        raw = MAKERS[maker](f"{maker}-{kind}", seed)
        raw["steps"] += [{"write": more_rows(raw, seed=more, row_count=25)} for more in range(2)]
        if seed % 2:
            raw = with_retracts(raw, seed)
        raw["options"] |= {**LEVELS, **KINDS[kind]}
        yield parse_case(raw)


def assert_same(case: Case, table: Table, theirs: Mapping[int, Any]) -> None:
    """Compare what both read at every snapshot, and what we count."""
    newest = table.latest_snapshot()
    assert newest is not None
    assert theirs.keys() == set(range(1, newest.id + 1))
    for snapshot_id, expected in theirs.items():
        assert isinstance(expected, list), f"{case.id}, snapshot {snapshot_id}: {expected}"
        # The machines differ in merging, of which the newest snapshot needs most.
        for machine in Machine if snapshot_id == newest.id else [Machine.COLUMN]:
            rows = table.scan(at=snapshot_id, machine=machine).to_arrow()
            found = difference(expected, rows, schema=case.arrow_schema, hints={})
            assert found is None, f"{case.id}, snapshot {snapshot_id}: {found}"
        count = table.scan(at=snapshot_id).count()
        assert count == len(expected), f"{case.id}, snapshot {snapshot_id}"


def test_we_read_what_java_wrote(tmp_path: Path) -> None:
    cases = list(given_cases())
    listed = tmp_path / "cases.jsonl"
    listed.write_text("".join(json.dumps(case.raw) + "\n" for case in cases), encoding="utf-8")
    java_reader.run_cases(listed, tmp_path / "out.jsonl", keep=tmp_path / "kept")
    paths = [tmp_path / "kept" / "t.db" / case.id for case in cases]

    read = java_reader.read_tables(paths, tmp_path)

    for case, path, theirs in zip(cases, paths, read, strict=True):
        assert_same(case, open_table(path), theirs)


def test_java_reads_what_we_wrote(tmp_path: Path) -> None:
    cases = list(given_cases())
    tables = [write_case(case, tmp_path) for case in cases]

    read = java_reader.read_tables([Path(table.path) for table in tables], tmp_path)

    for case, table, theirs in zip(cases, tables, read, strict=True):
        assert_same(case, table, theirs)


def write_case(case: Case, warehouse: Path) -> Table:
    """Write with both machines by turns, and compact what is due after each commit."""
    table = create_declared(case, Catalog(str(warehouse), file_io=LocalFileIO()), case.id)
    for step, machine in zip(case.steps, itertools.cycle(Machine), strict=False):
        write_rows(table, step.action["write"], case.arrow_schema, machine=machine)
        table.compact(full=False, machine=machine)
    return table


@pytest.mark.parametrize(
    ("bitmap64", "is_java_first"),
    [("false", False), ("true", True)],
    ids=["32 bits, ours first", "64 bits, java first"],
)
def test_long_vectors_are_taken_over(bitmap64: str, tmp_path: Path, *, is_java_first: bool) -> None:
    """Marks of every density, so that bitmaps have containers of each kind."""
    table = Catalog(str(tmp_path), file_io=LocalFileIO()).create_table(
        "t.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "deletion-vectors.enabled": "true",
            "deletion-vectors.bitmap64": bitmap64,
            "compaction.max-size-amplification-percent": "100000",
        },
    )
    chance = random.Random(5)
    sparse = chance.sample(range(60_000, 100_000), 200)
    dense = chance.sample(range(20_000, 60_000), 20_000)
    commits = [range(100_000), [*range(10_000), *dense], sparse]
    expected: dict[int, int] = {}
    for number, keys in enumerate(commits):
        rows = dict.fromkeys(keys, number)
        expected |= rows
        if (number % 2 == 0) is is_java_first:
            append(Path(table.path), rows, tmp_path)
        else:
            columns = {"k": [*rows], "v": [*rows.values()]}
            table.write_and_commit(pa.table(columns, schema=table.schema.arrow_schema))
            table.compact(full=False)
        ours = table.scan().to_arrow()
        assert dict(zip(*ours.to_pydict().values(), strict=True)) == expected
        assert len(ours) == table.scan().count() == len(expected)

    theirs = java_reader.read_rows(Path(table.path)).rows
    assert theirs is not None
    assert dict(theirs) == expected


def append(path: Path, rows: Mapping[int, int], work: Path) -> None:
    """Let Java commit rows and compact what is due."""
    steps = work / "steps.json"
    written = [["+I", key, value] for key, value in rows.items()]
    steps.write_text(json.dumps({"steps": [{"write": written}]}), encoding="utf-8")
    java_reader.append(path, steps)
