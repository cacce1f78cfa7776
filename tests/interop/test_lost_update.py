"""Java reads the newest value, too, where a slow writer was overtaken and compacted."""

from pathlib import Path

import pytest

from lake import Machine
from tests.interop import java_reader
from tests.property.lost_update import GROUPS, NEWEST, NO_GROUPS, overtaken_table

pytestmark = pytest.mark.interop


def test_java_reads_the_newest_value_with_groups_and_the_older_one_without(tmp_path: Path) -> None:
    tables = [
        overtaken_table(tmp_path / name, options, Machine.COLUMN)
        for name, options in (("groups", GROUPS), ("none", NO_GROUPS))
    ]

    with_groups, without = java_reader.read_tables([Path(t.path) for t in tables], tmp_path)

    newest = list(NEWEST.values())
    assert list(with_groups) == list(without) == [1, 2, 3, 4]
    assert row_of_key_1(with_groups[4]) == newest
    assert row_of_key_1(without[4]) == [1, 1, 1, *newest[3:]]


def row_of_key_1(rows: list[list[object]] | str) -> list[object]:
    """Return the row of the key that both streams write."""
    assert not isinstance(rows, str), rows
    (row,) = [row for row in rows if row[0] == 1]
    return row
