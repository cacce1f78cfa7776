"""Pruning by value statistics, of each file by the columns that its statistics cover."""

import dataclasses

from braid.lake.format.statistics import EMPTY_STATS
from tests.given_tables import GivenTable, given_schema


def test_files_with_different_columns_are_pruned_by_their_own_statistics() -> None:
    columns = {"k": "INT", "v": "INT", "w": "INT"}
    table = GivenTable(schema=given_schema(columns, key=["k"]))
    table.write([1, 10, None])
    table.write([2, 20, 200])
    table.write([3, None, 300])
    without_stats = dataclasses.replace(table.entries[1].file, value_stats=EMPTY_STATS)
    table.entries[1] = dataclasses.replace(table.entries[1], file=without_stats)

    assert table.read(("v", ">", 15)) == [(2, 20, 200)]
    assert table.plan(("v", ">", 15)).files_read == 1
    assert table.plan(("v", "<", 15)).files_read == 2
    assert table.plan(("w", "is_null", None)).files_read == 2
    assert table.plan(("v", ">", 15), ("w", "<", 0)).files_read == 1
