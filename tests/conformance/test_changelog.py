"""The comparison of changelogs finds what differs, and nothing else."""

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, Table
from tests.conformance.changelog import changelog_difference

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.list_(pa.int32()))])
ROWS: list[list[object]] = [["+I", 1, [1, 2]], ["+U", 1, [3]], ["+I", 2, None]]
TOLD: list[list[object]] = [[1, ROWS]]


@pytest.fixture
def table() -> Table:
    """A table whose only snapshot tells what `TOLD` says."""
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "ARRAY<INT>")],
        primary_key=["k"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    rows = pa.table({"k": [2, 1, 1], "v": [None, [1, 2], [3]]}, schema=SCHEMA)
    table.write_and_commit(rows, kinds=pa.array([0, 0, 2], pa.int8()))
    return table


def difference(table: Table, expected: list[list[object]], hint: str | None = None) -> str | None:
    return changelog_difference(
        expected,
        table.changes(0),
        schema=SCHEMA,
        key=["k"],
        hints={} if hint is None else {"v": hint},
    )


def test_equal_changes_do_not_differ_whatever_the_order_of_keys(table: Table) -> None:
    assert difference(table, TOLD) is None
    assert difference(table, [[1, [ROWS[2], *ROWS[:2]]]]) is None


def test_elements_without_an_order_may_come_in_any(table: Table) -> None:
    turned: list[list[object]] = [[1, [["+I", 1, [2, 1]], ["+U", 1, [3]], ["+I", 2, None]]]]

    assert difference(table, turned, hint="multiset") is None
    assert "expected" in (difference(table, turned) or "")


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param([], id="no changes"),
        pytest.param([[2, ROWS]], id="another snapshot"),
        pytest.param([[1, ROWS[:2]]], id="a row less"),
        pytest.param([[1, [*ROWS, ["-D", 2, None]]]], id="a row more"),
        pytest.param(
            [[1, [["+U", 1, [1, 2]], ["+U", 1, [3]], ["+I", 2, None]]]], id="another kind"
        ),
        pytest.param(
            [[1, [["+U", 1, [3]], ["+I", 1, [1, 2]], ["+I", 2, None]]]], id="a key's rows turned"
        ),
    ],
)
def test_every_difference_is_found(table: Table, expected: list[list[object]]) -> None:
    assert difference(table, expected) is not None
