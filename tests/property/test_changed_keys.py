"""Every key with another row than before is among the changed keys: every engine, whatever was compacted or rescaled.

A reader starts at the rows of some snapshot, and looks up the changed keys of each part at the newest snapshot. However
large its parts are, and wherever it continues, its rows are in the end those of a scan.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import ChangedKeysPosition, Table
from tests.property.test_lookup import ENGINES, scanned
from tests.property.test_table_model import Engine, commits, create, write

Rows = dict[tuple[int, str], dict[str, Any]]


@pytest.mark.parametrize("name", ENGINES)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_rows_of_changed_keys_make_the_rows_of_a_scan(name: str, data: st.DataObject) -> None:
    options, has_deletes = ENGINES[name]
    engine = Engine(
        options={**options, "num-sorted-run.compaction-trigger": "3"},
        apply=lambda *_: None,
        has_deletes=has_deletes,
    )
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 2]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
    )
    position, rows = ChangedKeysPosition(), Rows()
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=6), label="commits"):
        write(table, commit, flush_after=data.draw(st.integers(0, len(commit.rows))))
        step = data.draw(st.sampled_from(["none", "due", "full", "rescale"]), label="then")
        if step in ("due", "full"):
            table.compact(full=step == "full")
        elif step == "rescale":
            table.rescale(data.draw(st.sampled_from([1, 2, 3]), label="rescaled to"))
        if data.draw(st.booleans(), label="reads on"):
            records_max = data.draw(st.sampled_from([1, 2, 5, 1_000]), label="records of a part")
            position = read_part(table, position, rows, records_max)
    while position != ChangedKeysPosition.after(table.latest_snapshot()):
        position = read_part(table, position, rows, 3)

    newest = table.latest_snapshot()
    assert newest is not None
    there = {(row["k"], row["p"]): row for row in scanned(table, newest.id)}
    assert _told(rows, options) == _told(there, options)


def _told(rows: Rows, options: Mapping[str, str]) -> Rows:
    """Return rows without the difference that `listagg` makes by a merge alone: of a single empty text it makes null.

    A compaction that rewrites such a record changes its value, in the reference as well, and no key is reported for it.
    """
    if options.get("fields.s.aggregate-function") != "listagg":
        return rows
    return {key: {**row, "s": row["s"] or None} for key, row in rows.items()}


def read_part(
    table: Table, position: ChangedKeysPosition, rows: Rows, records_max: int
) -> ChangedKeysPosition:
    """Bring the rows of one part up to date."""
    lookup = table.lookup_at()
    part = table.changed_keys(position, lookup.snapshot, records_max=records_max)
    keys = part.keys.to_pylist()
    assert len({(key["k"], key["p"]) for key in keys}) == len(keys) <= records_max
    for key, row in zip(keys, lookup.get_many(keys), strict=True):
        rows.pop((key["k"], key["p"]), None)
        if row is not None:
            rows[key["k"], key["p"]] = dict(row)
    return part.end
