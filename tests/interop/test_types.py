"""Every column type in every place, against Java: its tables in our hands, ours in its."""

import re
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from braid.lake import Machine
from braid.lake.read.lookup.python_rows import python_rows
from tests.conformance.case import parse_case
from tests.conformance.compare import difference
from tests.conformance.execute import run_table_case
from tests.interop import java_reader
from tests.interop.ours import open_table, write_case
from tests.interop.test_we_read_java import lines
from tests.interop.type_cases import (
    ATOMIC_TYPES,
    NESTED_TYPES,
    OPAQUE_TYPES,
    composite_key_case,
    descending_case,
    group_case,
    key_case,
    sequence_field_case,
    value_case,
)

pytestmark = [pytest.mark.interop]

ALL_TYPES: dict[str, Any] = {name: name for name in ATOMIC_TYPES} | NESTED_TYPES
OTHER_DIGITS = re.compile(r"TIME(STAMP(_LTZ)?)?\([124578]\)")
"""Of times; those with 0, 3, 6 and 9 meet every way to store, compare and hash them."""
DESCENDING = ("BIGINT", "DOUBLE", "STRING", "DECIMAL(38, 10)", "TIMESTAMP(9)", "map", "row")


def all_cases() -> list[dict[str, Any]]:
    """Return a case for each type and place; values and groups of several types share a table.

    The others are of one type a table, and leave out digits of times that are stored as others are.
    """
    types = list(ALL_TYPES.values())
    cases = []
    for index, some in enumerate(_batches(types)):
        cases += [value_case(f"values_{index}", some), group_case(f"groups_{index}", some)]
    cases.append(value_case("values_opaque", OPAQUE_TYPES))
    for name, column_type in ALL_TYPES.items():
        if OTHER_DIGITS.search(name):
            continue
        end = re.sub(r"\W+", "_", name).lower()
        cases.append(sequence_field_case(f"sequence_{end}", column_type))
        if name in DESCENDING:
            cases.append(descending_case(f"descending_{end}", column_type))
        if name in ATOMIC_TYPES:
            cases.append(key_case(f"key_{end}", column_type))
        if name in ATOMIC_TYPES and "BINARY" not in name and name != "BYTES":
            cases.append(key_case(f"partition_{end}", column_type, is_partition=True))
    return cases


def _batches(types: Sequence[Any]) -> list[Sequence[Any]]:
    return [types[start : start + 8] for start in range(0, len(types), 8)]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Java's tables, one a case, and what it reads in them after each commit."""
    folder = tmp_path_factory.mktemp("types")
    answers = java_reader.run_cases(
        lines(folder / "cases.jsonl", all_cases()), folder / "out.jsonl", keep=folder / "kept"
    )
    assert not [answer["id"] for answer in answers if "error" in str(answer["expect"])]
    return folder / "kept" / "t.db", answers


@pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())
def test_types_written_by_java_are_read_as_java_reads_them(
    machine: Machine, answered: tuple[Path, list[dict[str, Any]]]
) -> None:
    database, answers = answered
    differences = {}
    for case in map(parse_case, answers):
        table = open_table(database / case.id)
        for step in case.steps:
            assert step.expected is not None
            rows = table.scan(at=step.number, machine=machine).to_arrow()
            schema = case.arrow_schema
            found = difference(step.expected["rows"], rows, schema=schema, hints={})
            if found is not None:
                differences[f"{case.id}, snapshot {step.number}"] = found

    assert differences == {}


def test_types_written_by_us_end_where_javas_do(
    answered: tuple[Path, list[dict[str, Any]]],
) -> None:
    for answer, machine in zip(answered[1], cycle(Machine), strict=False):
        run_table_case(parse_case(answer), machine)


def test_keys_of_each_type_are_found_in_the_buckets_that_java_chose(
    answered: tuple[Path, list[dict[str, Any]]],
) -> None:
    database, answers = answered
    keyed = [case for case in map(parse_case, answers) if "t" in case.primary_key]
    for case in keyed:
        table = open_table(database / case.id)
        rows = [row for batch in table.scan().to_batches() for row in python_rows(batch)]
        found = [table.get({"t": row["t"], "n": row["n"]}) for row in rows]
        assert found == rows, case.id


@pytest.mark.parametrize(
    "case",
    [
        value_case("values", [*ALL_TYPES.values(), *OPAQUE_TYPES]),
        group_case("groups", list(ALL_TYPES.values())),
        composite_key_case("keys", ATOMIC_TYPES),
    ],
    ids=lambda case: case["id"],
)
def test_java_reads_every_type_that_we_wrote(case: dict[str, Any], tmp_path: Path) -> None:
    parsed = parse_case(case)
    table = write_case(parsed, tmp_path)

    read = java_reader.read_rows(Path(table.path))

    assert read.rows is not None
    for machine in Machine:
        ours = table.scan(machine=machine).to_arrow()
        assert difference(read.rows, ours, schema=parsed.arrow_schema, hints={}) is None
