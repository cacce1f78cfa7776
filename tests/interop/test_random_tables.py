"""Random tables of every engine and function go both ways between Java's library and ours."""

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import LakeError, Machine, Table
from tests.conformance.case import Case, parse_case, read_cases
from tests.conformance.compare import difference
from tests.conformance.execute import run_table_case
from tests.conformance.outcome import Mismatch
from tests.conformance.test_conformance import CASES
from tests.interop import java_reader
from tests.interop.ours import open_table, write_case
from tests.interop.random_tables import cases_of_every_kind
from tests.interop.test_we_read_java import lines
from tests.interop.version_differences import DIFFERENCES
from tests.property.function_columns import FUNCTION_COLUMNS

# Java does a few hundred commits in one go, which on a busy machine takes minutes.
pytestmark = [pytest.mark.interop]

Answers = tuple[Path, list[Case]]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The folder of the tables as Java wrote them, and the cases with its rows after each step."""
    folder = tmp_path_factory.mktemp("random")
    cases = lines(folder / "cases.jsonl", list(cases_of_every_kind()))
    answers = java_reader.run_cases(cases, folder / "out.jsonl", keep=folder / "kept")
    return folder / "kept" / "t.db", [parse_case(answer) for answer in answers]


def test_every_function_and_engine_is_exchanged(answered: Answers) -> None:
    """A case whose table Java refuses, or that fails at once, would exchange nothing."""
    cases = answered[1]
    options = [set(case.options.values()) for case in cases]

    assert all(case.create_error is None for case in cases)
    assert sum(ends_with_rows(case) for case in cases) > len(cases) * 0.7
    for function in FUNCTION_COLUMNS:
        found = [function.name in values for values in options]
        assert any(itertools.compress(map(ends_with_rows, cases), found)), function.name


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_our_tables_have_javas_rows_after_every_step(machine: Machine, answered: Answers) -> None:
    differences = {}
    for case in answered[1]:
        try:
            run_table_case(case, machine)
        except Mismatch as mismatch:
            differences[case.id] = str(mismatch)

    assert differences == {}


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_we_read_javas_tables(machine: Machine, answered: Answers) -> None:
    database, cases = answered
    differences = {}
    for case in filter(ends_with_rows, cases):
        rows = open_table(database / case.id).scan(machine=machine).to_arrow()
        found = difference_from_java(case, rows)
        if found is not None:
            differences[case.id] = found

    assert differences == {}


def test_java_reads_our_tables_at_every_snapshot(answered: Answers, tmp_path: Path) -> None:
    """Java reads its own rows out of our files, and what we read at each snapshot."""
    cases = [case for case in answered[1] if ends_with_rows(case)]
    tables = [write_case(case, tmp_path) for case in cases]

    theirs = java_reader.read_tables([Path(table.path) for table in tables], tmp_path)

    differences = {}
    for case, table, snapshots in zip(cases, tables, theirs, strict=True):
        ours = {number: rows_of_snapshot(table, number) for number in snapshots}
        for number, rows in snapshots.items():
            found = difference_of_reads(case, rows, ours[number])
            if found is not None:
                differences[f"{case.id}, snapshot {number}"] = found
        found = difference_from_java(case, table.scan().to_arrow())
        if found is not None:
            differences[case.id] = found
    assert differences == {}


def test_what_tables_leave_out_is_judged_by_cases() -> None:
    cases = [case.id for file in CASES.glob("*.jsonl") for case in read_cases(file)]

    assert all(difference.judged_by for difference in DIFFERENCES)
    assert {case for known in DIFFERENCES for case in known.judged_by} <= set(cases)


def ends_with_rows(case: Case) -> bool:
    """Return whether no step of the case fails."""
    return all(step.expected is not None and "rows" in step.expected for step in case.steps)


def rows_of_snapshot(table: Table, number: int) -> pa.Table | None:
    """Return what we read at a snapshot, None where that fails."""
    try:
        return table.scan(at=number).to_arrow()
    except LakeError:
        return None


def difference_from_java(case: Case, rows: pa.Table) -> str | None:
    """Return how rows differ from those that Java had in the end."""
    expected = case.steps[-1].expected
    assert expected is not None
    return difference_of_reads(case, expected["rows"], rows)


def difference_of_reads(case: Case, expected: list[Any] | str, rows: pa.Table | None) -> str | None:
    """Return how two reads differ; both may have failed."""
    if rows is None or isinstance(expected, str):
        return None if rows is None and isinstance(expected, str) else f"Java: {expected}"
    return difference(expected, rows, schema=case.arrow_schema, hints=case.compare)
