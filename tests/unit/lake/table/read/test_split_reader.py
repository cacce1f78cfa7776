"""Splits of a scan, read in any order and in other processes."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from braid.lake import Catalog, Condition, InvalidRequest, LeaseLost, ManualClock, Table
from braid.lake.snapshots.lease import LEASE_MS
from braid.lake.table.read.scan import Scan


def integers(*values: int) -> pa.Array:
    """Return values of an INT column."""
    return pa.array(values, pa.int32())


def given_table(folder: Path, *, clock: ManualClock | None = None) -> Table:
    """Return a table of two buckets: three stretches of keys, and a newer version of one key."""
    table = Catalog(str(folder), clock=clock).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "2", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"},
    )
    for first in (0, 100, 200):
        keys = integers(*range(first, first + 100))
        table.write_and_commit(pa.table({"k": keys, "v": keys}))
    table.write_and_commit(pa.table({"k": integers(5), "v": integers(-5)}))
    return table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of two buckets."""
    return given_table(tmp_path)


def read_apart(scan: Scan, *, target_bytes: int | None = None) -> list[dict[str, object]]:
    """Return the rows of a scan, each split read by a copy that was sent."""
    reader = pickle.dumps(scan.reader())
    rows: list[dict[str, object]] = []
    for split in scan.splits(target_bytes=target_bytes):
        sent = pickle.loads(reader)
        for batch in sent.batches(pickle.loads(pickle.dumps(split))):
            rows += batch.to_pylist()
    return rows


def by_key(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows in the order of their keys."""
    return sorted(rows, key=lambda row: int(str(row["k"])))


@pytest.mark.parametrize("target_bytes", [None, 1])
def test_splits_read_in_other_processes_are_the_scan(
    table: Table, target_bytes: int | None
) -> None:
    scan = table.scan(where=[Condition(column="k", op="<", value=150)])

    assert by_key(read_apart(scan, target_bytes=target_bytes)) == by_key(
        scan.to_arrow().to_pylist()
    )
    assert len(scan.splits(target_bytes=target_bytes)) == (2 if target_bytes is None else 4)


def test_splits_stay_at_the_snapshot_of_the_plan(table: Table) -> None:
    scan = table.scan(columns=["v"])
    before = scan.to_arrow().to_pylist()
    table.write_and_commit(pa.table({"k": integers(6), "v": integers(0)}))

    assert read_apart(scan) == before


def test_marked_rows_are_left_out(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "1", "deletion-vectors.enabled": "true"},
    )
    for version in (1, 2):
        keys = integers(1, version + 1)
        table.write_and_commit(pa.table({"k": keys, "v": integers(version, version)}))
        table.compact(full=version == 1)

    rows = by_key(read_apart(table.scan(), target_bytes=1))
    assert rows == [{"k": 1, "v": 2}, {"k": 2, "v": 1}, {"k": 3, "v": 2}]


def test_an_invalid_size_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequest, match="target_bytes"):
        table.scan().splits(target_bytes=0)


def test_an_empty_table_has_no_splits(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table("db.t", columns=[("k", "INT")], primary_key=["k"])

    assert table.scan().splits() == ()
    assert table.scan().reader(is_leased=True).lease is None


def test_a_leased_reader_keeps_its_snapshot_until_some_time_after_the_last_split(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    table = given_table(tmp_path, clock=clock)
    scan = table.scan()
    reader = scan.reader(is_leased=True)
    splits = scan.splits(target_bytes=1)
    expected = scan.to_arrow().num_rows
    table.compact(full=True)
    table.write_and_commit(pa.table({"k": integers(7), "v": integers(0)}))

    rows = 0
    for split in splits:
        clock.advance(ms=LEASE_MS * 9 // 10)
        table.expire()
        rows += sum(batch.num_rows for batch in reader.batches(split))
    assert rows == expected

    clock.advance(ms=10 * LEASE_MS)
    table.expire()
    with pytest.raises(LeaseLost, match="has expired"):
        list(reader.batches(splits[0]))
