"""Rows by the values of columns are the scan filtered by these columns: every engine and snapshot, page by page."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import Table, ValueLookup
from tests.property.test_lookup import ENGINES, ON_DISK, scanned
from tests.property.test_table_model import COLUMNS, Engine, commits, create, write

VALUES: dict[str, tuple[Any, ...]] = {
    "g": (0, 1, 3, 7),
    "a": (0, 2, 3),
    "s": ("", "x", "nothing"),
    "p": ("", "é/b"),
}
INDEXES = (("a",), ("g", "s"), ("p", "a"))
COMPUTED = {
    "aggregation": {"a", "s"},
    "aggregation, lookup": {"a", "s"},
    "aggregation, vectors": {"a", "s"},
}
"""Columns with functions that compute values (sum, listagg): they cannot be indexed."""


@pytest.mark.parametrize("name", ENGINES)
@settings(deadline=None, max_examples=6)
@given(data=st.data())
def test_rows_by_values_are_the_scan_filtered_by_the_columns(
    name: str, data: st.DataObject
) -> None:
    options, has_deletes = ENGINES[name]
    cache = data.draw(st.sampled_from([{}, ON_DISK]), label="cache")
    engine = Engine(
        options={**options, **cache, "num-sorted-run.compaction-trigger": "3"},
        apply=lambda *_: None,
        has_deletes=has_deletes,
    )
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 2]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
    )
    snapshot_ids: set[int] = set()
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=6), label="commits"):
        snapshot_ids.add(write(table, commit, flush_after=0))
        compacts = data.draw(st.sampled_from(["not", "due", "full"]), label="compacts")
        if compacts != "not":
            snapshot_ids.add(table.compact(full=compacts == "full").snapshot_id or 1)
    computed = COMPUTED.get(name, set())
    indexes = [columns for columns in INDEXES if not computed & {*columns}] or [("g",)]
    columns = data.draw(st.sampled_from(indexes), label="indexed columns")
    for snapshot_id in sorted(snapshot_ids):
        values = {column: data.draw(st.sampled_from(VALUES[column])) for column in columns}
        rows_max = data.draw(st.sampled_from([1, 2, 100]), label="rows of a page")
        assert_same(table, snapshot_id, values, rows_max)


def assert_same(table: Table, snapshot_id: int, values: dict[str, Any], rows_max: int) -> None:
    """Compare the pages of an index with a scan."""
    lookup = ValueLookup(table.lookup_at(snapshot_id), tuple(values))
    assert lookup.build()
    assert lookup.is_complete()
    found: list[Any] = []
    after = None
    while True:
        page = lookup.rows(values, columns=COLUMNS, rows_max=rows_max, after=after)
        found += page.rows
        after = page.after
        if after is None:
            break
        assert len(page.rows) <= rows_max
    expected = [
        row
        for row in scanned(table, snapshot_id)
        if all(row[column] == value for column, value in values.items())
    ]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
