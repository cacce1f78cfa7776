"""A lookup, one row, a page and what the service answers are the scan filtered to the key or the range: every
engine and snapshot, whatever was compacted, with and without the records that a table hides.

Each table is asked for all keys that a commit may have and for some that none has, in any order and
repeatedly, one by one and together, from copies in memory and on disk, and from row groups where there is
no room for a copy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import KeyRange, Table
from braid.schemas.api import RowScan
from braid.service.column_mask import NO_MASK
from braid.service.control.row_pages import read_first_page, read_next_page
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
@settings(deadline=None, max_examples=7)
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
    bounds = data.draw(KEY_RANGES, label="range")
    for snapshot_id in sorted(snapshot_ids):
        assert_same(table, snapshot_id, wanted)
        assert_in_key_order(table, snapshot_id, bounds)
    at = data.draw(st.sampled_from(sorted(snapshot_ids)), label="pages of")
    assert_merged(table, at, wanted)
    assert_paged(table, at, limit=data.draw(st.sampled_from([2, 5, 1_000]), label="limit"))
    assert_served(table, wanted)
    hidden = [row for row in merged(table, max(snapshot_ids)) if table.lookup_at().hidden]
    if hidden and options.get("merge-engine") != "aggregation":
        # What is merged on request is what a compaction makes visible. Under aggregation a compaction merges the single
        # retract of a key into a row of nulls, and a read leaves it out.
        table.compact(full=True)
        assert table.scan().to_arrow().sort_by(BY_KEY).to_pylist() == hidden


BY_KEY = [("k", "ascending"), ("p", "ascending")]
BOUNDS = st.fixed_dictionaries({"k": st.integers(0, 4)}, optional={"p": st.sampled_from(["", "x"])})
KEY_RANGES = st.builds(
    KeyRange,
    prefix=st.just({}) | st.fixed_dictionaries({"k": st.integers(0, 4)}),
    first=st.just({}) | BOUNDS,
    before=st.just({}) | BOUNDS,
    after=st.just({}) | st.sampled_from([{"k": k, "p": p} for k, p in KEYS]),
)


def assert_in_key_order(table: Table, snapshot_id: int, keys: KeyRange) -> None:
    """Check that the rows of a range, in the order of keys, are those of a scan."""
    rows = sorted(scanned(table, snapshot_id), key=lambda row: (row["k"], row["p"]))
    scan = table.scan(at=snapshot_id, batch_rows=2)
    wanted = [
        row
        for row in rows
        if of(row, keys.prefix) == of(keys.prefix, keys.prefix)
        and of(row, keys.first) >= of(keys.first, keys.first)
        and (not keys.before or of(row, keys.before) < of(keys.before, keys.before))
        and (not keys.after or of(row, keys.after) > of(keys.after, keys.after))
    ]
    assert [row for part in scan.in_key_order(keys) for row in part.to_pylist()] == wanted


def assert_paged(table: Table, snapshot_id: int, *, limit: int) -> None:
    """Check that the pages of the service together are a scan."""
    first = RowScan(snapshot_id=snapshot_id, limit=limit)
    page = read_first_page(table, None, first, verified_ms=0, mask=NO_MASK)
    found = page.rows.to_pylist()
    while page.next_page_token is not None:
        following = RowScan(page_token=page.next_page_token, limit=limit)
        page = read_next_page(table, None, following, mask=NO_MASK)
        assert page.rows.num_rows <= limit
        found += page.rows.to_pylist()
    assert found == sorted(scanned(table, snapshot_id), key=lambda row: (row["k"], row["p"]))


def of(values: Mapping[str, Any], bound: Mapping[str, object]) -> tuple[Any, ...]:
    """Return the values of the columns that a bound has, in the order of the key."""
    return tuple(values[name] for name in ("k", "p") if name in bound)


def merged(table: Table, snapshot_id: int) -> list[dict[str, Any]]:
    """Return all rows in the order of keys, with the records that the table hides."""
    rows = table.scan(at=snapshot_id, merged=True).to_arrow().sort_by(BY_KEY)
    return list(rows.to_pylist())


def assert_merged(table: Table, snapshot_id: int, keys: Sequence[tuple[int, str]]) -> None:
    """Check a lookup that sees the records that the table hides against a scan that does."""
    rows = {(row["k"], row["p"]): row for row in merged(table, snapshot_id)}
    at = table.lookup_at(snapshot_id, merged=True)
    assert at.get_many([{"k": k, "p": p} for k, p in keys]) == [rows.get(key) for key in keys]
    for k, p in keys[:3]:
        assert at.get({"k": k, "p": p}) == rows.get((k, p))


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
