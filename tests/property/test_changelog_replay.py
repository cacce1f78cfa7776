"""A changelog is complete: its changes, applied to an empty table, give the rows of a scan.

Whatever the producer, the deletion vectors, the compactions in between and the buckets: after a
compaction that has left no record on level 0, the changes of all snapshots so far add up to the rows,
an update's and a delete's old values are those that were there, and a key is inserted only once.
"""

from hypothesis import given, settings, strategies as st

from braid.lake import Machine, Table
from braid.lake.format.system_columns import VALUE_KIND, RowKind
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from tests.property.test_compaction import COMPACTED, rows_of, scanned, with_options
from tests.property.test_table_model import State, commits, create, write

Row = tuple[object, ...]
LOOKUP = {"changelog-producer": "lookup"}
FULL = {"changelog-producer": "full-compaction"}
VECTORS = {"deletion-vectors.enabled": "true"}
VECTORS_64 = {**VECTORS, "deletion-vectors.bitmap64": "true"}
PRODUCERS = {
    "deduplicate": [LOOKUP, FULL, VECTORS, {**LOOKUP, **VECTORS_64}],
    "partial-update": [LOOKUP, FULL, VECTORS_64, {**LOOKUP, **VECTORS}],
    "first-row": [LOOKUP],
}


@settings(deadline=None, max_examples=32)
@given(data=st.data())
def test_changes_add_up_to_the_rows(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PRODUCERS)), label="engine")
    options = data.draw(st.sampled_from(PRODUCERS[name]), label="producer")
    engine = with_options(
        COMPACTED[name],
        {
            **options,
            "num-levels": data.draw(st.sampled_from(["2", "4"])),
            "num-sorted-run.compaction-trigger": data.draw(st.sampled_from(["1", "2", "3"])),
            "compaction.small-file-ratio": data.draw(st.sampled_from(["0.01", "0.7"])),
        },
    )
    table = create(
        engine,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
        bucket=data.draw(st.sampled_from([1, 2]), label="buckets"),
        target=data.draw(st.sampled_from(["128 mb", "400 b"]), label="target size"),
    )
    memory = CompactionMemory()
    state: State = {}
    followed: dict[object, Row] = {}
    at = 0
    for commit in data.draw(st.lists(commits(engine), min_size=1, max_size=8), label="commits"):
        write(table, commit, flush_after=data.draw(st.integers(0, len(commit.rows))))
        for record, kind in zip(commit.rows, commit.kinds, strict=True):
            engine.apply(state, record, kind)
        kind_of = data.draw(st.sampled_from(["none", "due", "due", "full"]), label="compacts")
        if kind_of == "none":
            continue
        machine = data.draw(st.sampled_from(Machine))
        table.compact(full=kind_of == "full", memory=memory, machine=machine)
        newest = table.latest_snapshot()
        assert newest is not None
        if any(entry.file.level == 0 for entry in table.live_files(newest)):
            continue
        assert scanned(table, newest.id) == rows_of(state)
        if "changelog-producer" not in options:
            continue
        if options is FULL and not is_compacted_fully(table):
            continue
        follow(table, followed, after=at)
        at = newest.id
        assert sorted(followed.values(), key=repr) == rows_of(state)


def is_compacted_fully(table: Table) -> bool:
    """Return whether all files are on the highest level."""
    newest = table.latest_snapshot()
    assert newest is not None
    highest = table.schema.table_options.num_levels - 1
    return all(entry.file.level == highest for entry in table.live_files(newest))


def follow(table: Table, rows: dict[object, Row], *, after: int) -> None:
    """Apply the changes after a snapshot; each has to fit what is there."""
    for changed in table.changes(after):
        for batch in changed.to_batches():
            for record in batch.to_pylist():
                kind = RowKind(record.pop(VALUE_KIND))
                row = tuple(record.values())
                key = (record["k"], record["p"])
                if kind.is_retract:
                    assert rows.pop(key) == row, (kind, row)
                else:
                    assert key not in rows, (kind, row)
                    rows[key] = row
