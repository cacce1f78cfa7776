"""pypaimon returns exactly the rows of our tables that have no sequence groups (it reads no others)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.case import parse_case
from tests.conformance.compare import difference
from tests.interop.generators import (
    ATOMIC_TYPES,
    NESTED_TYPES,
    deduplicate_case,
    partial_update_case,
)
from tests.interop.ours import json_rows, write_case
from tests.interop.pypaimon_reader import read_table

pytestmark = pytest.mark.interop

# pypaimon 2.1.0 drops the nanoseconds of INT96 timestamps, of Java's files too.
_READABLE = [column_type for column_type in ATOMIC_TYPES if column_type != "TIMESTAMP(9)"]


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
