"""A compaction changes files, never rows: random commits with compactions anywhere between them.

The model is that of the table: a dictionary to which every record is applied in order of arrival. It
holds where the merge does not depend on how records meet in files: deduplicate with deletes,
partial-update without any, and first-row, whose newest commits are hidden until a compaction.
"""

import itertools

from hypothesis import given, settings, strategies as st

from braid.lake import Machine, Table
from braid.lake.format.binary_row import decode_rows
from braid.lake.format.manifest import ManifestEntry
from braid.lake.merge.order.key_order import key_codes
from tests.property.test_table_model import (
    COLUMNS,
    ENGINES,
    Engine,
    Record,
    State,
    commits,
    create,
    write,
)


def keep_first(state: State, record: Record, _: int) -> None:
    """First-row: the first record is the row."""
    row = dict(zip(COLUMNS, record, strict=True))
    state.setdefault((row["k"], row["p"]), row)


COMPACTED = {
    **ENGINES,
    "first-row": Engine(options={"merge-engine": "first-row"}, apply=keep_first, has_deletes=False),
}


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_a_compaction_never_changes_what_a_scan_gives(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(COMPACTED)), label="engine")
    engine = with_options(
        COMPACTED[name],
        {
            "compaction.small-file-ratio": data.draw(st.sampled_from(["0.01", "0.7"])),
            "num-levels": data.draw(st.sampled_from(["2", "6"])),
        },
    )
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 2]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
    )
    state: State = {}
    seen: dict[int, list[tuple[object, ...]]] = {}
    visible: list[tuple[object, ...]] = []
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=6), label="commits"):
        snapshot_id = write(table, commit, flush_after=data.draw(st.integers(0, len(commit.rows))))
        for record, kind in zip(commit.rows, commit.kinds, strict=True):
            engine.apply(state, record, kind)
        visible = visible if name == "first-row" else rows_of(state)
        seen[snapshot_id] = visible
        if data.draw(st.booleans(), label="compacts"):
            result = table.compact(machine=data.draw(st.sampled_from(Machine)))
            visible = rows_of(state)
            seen[result.snapshot_id or snapshot_id] = visible
            assert_compacted(table)

    for snapshot_id, expected in seen.items():
        assert scanned(table, snapshot_id) == expected


def with_options(engine: Engine, options: dict[str, str]) -> Engine:
    """Return the engine with further table options."""
    return Engine(
        options={**engine.options, **options}, apply=engine.apply, has_deletes=engine.has_deletes
    )


def rows_of(state: State) -> list[tuple[object, ...]]:
    """Return the rows of the model, sorted."""
    return sorted((tuple(row.values()) for row in state.values()), key=repr)


def scanned(table: Table, snapshot_id: int) -> list[tuple[object, ...]]:
    """Return the rows of a snapshot, sorted."""
    rows = table.scan(at=snapshot_id).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def assert_compacted(table: Table) -> None:
    """Check that each bucket is one run on the highest level, without retracts."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    def place(entry: ManifestEntry) -> tuple[bytes, int]:
        return entry.partition, entry.bucket

    entries = sorted(table.live_files(snapshot), key=place)
    for _, members in itertools.groupby(entries, key=place):
        files = [entry.file for entry in members]
        assert {file.level for file in files} == {table.schema.table_options.num_levels - 1}
        assert {file.delete_row_count for file in files} == {0}
        keys = [key for file in files for key in (file.min_key, file.max_key)]
        codes = key_codes(decode_rows(keys, table.schema.key_fields).columns).tolist()
        bounds = sorted(zip(codes[::2], codes[1::2], strict=True))
        assert all(high < low for (_, high), (low, _) in itertools.pairwise(bounds))
