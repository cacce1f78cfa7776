"""A lookup, one row and what the service answers are the scan filtered to the key: every engine and
snapshot, whatever was compacted.

Each table is asked for all keys that a commit may have and for some that none has, in any order and
repeatedly, one by one and together, from copies in memory and on disk, and from row groups where there is
no room for a copy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import Table
from tests.property.test_table_model import COLUMNS, TYPES, Engine, commits, create, write

LOOKUP = {"changelog-producer": "lookup"}
VECTORS = {"deletion-vectors.enabled": "true"}
GROUPED = {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b"}
REMOVING = {**GROUPED, "partial-update.remove-record-on-sequence-group": "g"}
SUMMED = {
    "merge-engine": "aggregation",
    "fields.a.aggregate-function": "sum",
    "fields.b.aggregate-function": "max",
    "fields.b.ignore-retract": "true",
    "fields.g.ignore-retract": "true",
    "fields.s.aggregate-function": "listagg",
    "fields.s.ignore-retract": "true",
}
ENGINES = {
    "deduplicate": ({}, True),
    "newest by a": ({"sequence.field": "a"}, True),
    "partial-update": (GROUPED, False),
    "rows removed": (REMOVING, True),
    "aggregation": (SUMMED, True),
    "first-row": ({"merge-engine": "first-row"}, False),
    "deduplicate, lookup": (LOOKUP, True),
    "aggregation, lookup": ({**SUMMED, **LOOKUP}, True),
    "partial-update, forced lookup": ({**GROUPED, "force-lookup": "true"}, False),
    "deduplicate, vectors": (VECTORS, True),
    "newest by a, vectors": ({"sequence.field": "a", **VECTORS}, True),
    "aggregation, vectors": ({**SUMMED, **VECTORS}, True),
    "partial-update, 64-bit vectors": (
        {**GROUPED, **VECTORS, "deletion-vectors.bitmap64": "true"},
        False,
    ),
}
KEYS = [(k, p) for k in (0, 1, 2, 3, 9) for p in ("", "é/b", "x")]


@pytest.mark.parametrize("name", ENGINES)
@settings(deadline=None, max_examples=10)
@given(data=st.data())
def test_a_lookup_is_the_scan_filtered_to_the_key(name: str, data: st.DataObject) -> None:
    options, has_deletes = ENGINES[name]
    cache = data.draw(st.sampled_from([{}, ON_DISK, NO_CACHE]), label="cache")
    ratio = data.draw(st.sampled_from(["200", "100000"]), label="size amplification")
    engine = Engine(
        options={
            **options,
            **cache,
            "compaction.max-size-amplification-percent": ratio,
            "num-sorted-run.compaction-trigger": "3",
        },
        apply=lambda *_: None,
        has_deletes=has_deletes,
    )
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 1, 2]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
    )
    snapshot_ids: set[int] = set()
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=6), label="commits"):
        flush_after = data.draw(st.integers(0, len(commit.rows)), label="flush after")
        snapshot_ids.add(write(table, commit, flush_after=flush_after))
        compacts = data.draw(st.sampled_from(["not", "due", "full"]), label="compacts")
        if compacts != "not":
            snapshot_ids.add(table.compact(full=compacts == "full").snapshot_id or 1)
        if data.draw(st.booleans(), label="looks"):
            assert_same(table, max(snapshot_ids), KEYS)

    wanted = data.draw(st.lists(st.sampled_from(KEYS), max_size=12), label="keys")
    for snapshot_id in sorted(snapshot_ids):
        assert_same(table, snapshot_id, wanted)
    assert_served(table, wanted)


ON_DISK = {"lookup.cache-max-memory-size": "0 b"}
NO_CACHE = {"lookup.cache-max-disk-size": "0 b", "lookup.cache-max-memory-size": "0 b"}


def assert_same(table: Table, snapshot_id: int, keys: Sequence[tuple[int, str]]) -> None:
    """Check a lookup of several keys, and one of each, against scans."""
    wanted = pa.table(
        {
            "k": pa.array([k for k, _ in keys], TYPES["k"]),
            "p": pa.array([p for _, p in keys], TYPES["p"]),
        }
    )
    rows = {(row["k"], row["p"]): row for row in scanned(table, snapshot_id)}
    expected = [rows[key] for key in keys if key in rows]
    at = table.lookup_at(snapshot_id)

    together = at.keyed_rows(wanted)
    assert together.rows.to_pylist() == expected
    assert together.rows.schema.names == list(COLUMNS)
    of_keys = [(row["k"], row["p"]) for row in expected]
    assert [keys[number] for number in together.keys.tolist()] == of_keys
    for number in range(min(3, len(keys))):
        one = at.rows(wanted.slice(number, 1), columns=["s", "a"]).to_pylist()
        found = [rows[key] for key in keys[number : number + 1] if key in rows]
        assert one == [{"s": row["s"], "a": row["a"]} for row in found]
    assert np.all(np.diff(together.keys) >= 0)
    for key in keys[:3]:
        assert table.get({"k": key[0], "p": key[1]}, at=snapshot_id) == rows.get(key)


def assert_served(table: Table, keys: Sequence[tuple[int, str]]) -> None:
    """Compare Python rows by key, which the service returns, with a scan of the newest snapshot."""
    at = table.lookup_at()
    assert at.snapshot is not None
    found = at.get_many([{"k": k, "p": p} for k, p in keys])
    rows = {(row["k"], row["p"]): row for row in scanned(table, at.snapshot.id)}
    assert found == [rows.get(key) for key in keys]


def scanned(table: Table, snapshot_id: int) -> list[dict[str, Any]]:
    """Return all rows, of which keys are picked here: no condition leaves out files or rows."""
    rows: list[dict[str, Any]] = table.scan(at=snapshot_id).to_arrow().to_pylist()
    assert len({(row["k"], row["p"]) for row in rows}) == len(rows)
    return rows
