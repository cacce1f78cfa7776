"""The changes of a table by snapshot: which there are, in which order, and what is refused."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    ChangesExpired,
    CorruptData,
    InvalidRequest,
    MemoryFileIO,
    ReadCounters,
    Table,
)
from tests.unit.lake.table.given_changes import changes_by_snapshot, write


def given_table(producer: str = "none", **options: str) -> Table:
    """Return a table (k, v)."""
    return Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1", "changelog-producer": producer, **options},
    )


def test_without_a_producer_the_changes_are_the_rows_that_appends_wrote() -> None:
    table = given_table()
    write(table, ("+I", 2, "b"), ("+I", 1, "a"))
    write(table, ("+U", 1, "a2"), ("-D", 2, "b"))
    table.compact()
    write(table, ("+I", 3, "c"), ("+I", 3, "c2"))

    assert changes_by_snapshot(table.changes(0)) == [
        (1, [("+I", 1, "a"), ("+I", 2, "b")]),
        (2, [("+U", 1, "a2"), ("-D", 2, "b")]),
        (4, [("+I", 3, "c2")]),
    ]


def test_input_changes_are_the_records_before_folding() -> None:
    table = given_table("input")
    write(table, ("+I", 2, "b"), ("+I", 1, "a"), ("+U", 2, "b2"), ("-D", 2, "b2"))
    write(table, ("+U", 1, "a2"))

    assert changes_by_snapshot(table.changes(0)) == [
        (1, [("+I", 1, "a"), ("+I", 2, "b"), ("+U", 2, "b2"), ("-D", 2, "b2")]),
        (2, [("+U", 1, "a2")]),
    ]


def test_a_range_continues_where_the_one_before_ended() -> None:
    table = given_table("input")
    for number in range(1, 5):
        write(table, ("+I", number, str(number)))

    first = table.changes(0, 2)
    second = table.changes(first.until_snapshot_id)

    assert [part.snapshot_id for part in first] == [1, 2]
    assert [part.snapshot_id for part in second] == [3, 4]
    assert (second.after_snapshot_id, second.until_snapshot_id) == (2, 4)
    assert changes_by_snapshot(table.changes(4)) == []


def test_what_comes_later_is_not_in_the_range() -> None:
    table = given_table()
    write(table, ("+I", 1, "a"))
    changes = table.changes(0)
    write(table, ("+I", 2, "b"))

    assert [part.snapshot_id for part in changes] == [1]


def test_a_table_without_snapshots_has_no_changes() -> None:
    table = given_table()

    changes = table.changes(0)

    assert changes_by_snapshot(changes) == []
    assert changes.to_arrow().schema == changes.arrow_schema


def test_columns_come_after_the_kinds_in_the_order_asked_for() -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"))
    counters = ReadCounters()

    found = table.changes(0, columns=["v"], counters=counters).to_arrow()

    assert found.schema == pa.schema(
        [pa.field("_VALUE_KIND", pa.int8(), nullable=False), pa.field("v", pa.string())]
    )
    assert found.column("v").to_pylist() == ["a"]
    assert "k" not in {name for _, name in counters.columns}


def test_changes_replay_into_a_table_of_their_own() -> None:
    table, copy = given_table("input"), given_table()
    write(table, ("+I", 1, "a"), ("+I", 2, "b"))
    write(table, ("-D", 1, "a"), ("+I", 3, "c"))

    for part in table.changes(0):
        rows = part.to_arrow()
        copy.write_and_commit(rows.drop_columns(["_VALUE_KIND"]), kinds=rows["_VALUE_KIND"])

    assert copy.scan().to_arrow() == table.scan().to_arrow()


def test_rows_are_counted_without_opening_a_file() -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"), ("+U", 1, "b"))
    counters = ReadCounters()

    (part,) = table.changes(0, counters=counters)

    assert part.row_count == 2
    assert counters.files == 0


def test_batches_are_bounded() -> None:
    table = given_table()
    write(table, *[("+I", key, "v") for key in range(10)])

    (part,) = table.changes(0, batch_rows=4)

    assert [batch.num_rows for batch in part.to_batches()] == [4, 4, 2]


def test_changes_come_from_every_bucket_and_partition() -> None:
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT")],
        primary_key=["p", "k"],
        partition_keys=["p"],
        options={"bucket": "2", "changelog-producer": "input"},
    )
    rows = [(p, k) for p in ("y", "x") for k in range(20)]
    table.write_and_commit(
        pa.table({"p": [p for p, _ in rows], "k": pa.array([k for _, k in rows], pa.int32())})
    )

    found = table.changes(0).to_arrow()

    pairs = list(zip(found["p"].to_pylist(), found["k"].to_pylist(), strict=True))
    assert sorted(pairs) == sorted(rows)
    assert [p for p, _ in pairs] == ["x"] * 20 + ["y"] * 20


def expire(table: Table, snapshot_id: int, *, keep_changes: bool) -> None:
    """Remove a snapshot's file, and its lists unless its changes are kept."""
    snapshot = table.snapshot(snapshot_id)
    if keep_changes:
        kept = table.file_io.read_bytes(table.paths.snapshot(snapshot_id))
        table.file_io.write_new(table.paths.changelog(snapshot_id), kept)
    table.file_io.delete(table.paths.snapshot(snapshot_id))
    table.file_io.delete(table.paths.manifest(snapshot.base_manifest_list))


def test_changes_outlive_their_snapshot_where_they_are_kept() -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"))
    write(table, ("+I", 2, "b"))
    expire(table, 1, keep_changes=True)

    fresh = Table.open(table.path, file_io=table.file_io)

    assert [part.snapshot_id for part in fresh.changes(0)] == [1, 2]
    assert changes_by_snapshot(fresh.changes(0))[0] == (1, [("+I", 1, "a")])


def test_expired_changes_are_refused_by_name() -> None:
    table = given_table()
    write(table, ("+I", 1, "a"))
    write(table, ("+I", 2, "b"))
    expire(table, 1, keep_changes=False)

    with pytest.raises(InvalidRequest, match=r"snapshot 1 are not kept; .* those of snapshot 2"):
        table.changes(0)


def test_changes_that_expire_meanwhile_are_an_honest_error() -> None:
    table = given_table()
    write(table, ("+I", 1, "a"))
    write(table, ("+I", 2, "b"))
    parts = iter(table.changes(0))
    next(parts)
    expire(table, 2, keep_changes=False)

    with pytest.raises(InvalidRequest, match="snapshot 2 are not kept"):
        next(parts)


@pytest.mark.parametrize(
    ("after", "until", "field"),
    [
        (-1, None, "after_snapshot_id"),
        (2, None, "after_snapshot_id"),
        ("1", None, "after_snapshot_id"),
        (True, None, "after_snapshot_id"),
        (1, 0, "until_snapshot_id"),
        (0, 2, "until_snapshot_id"),
    ],
)
def test_an_invalid_range_is_refused(after: int, until: int | None, field: str) -> None:
    table = given_table()
    write(table, ("+I", 1, "a"))

    with pytest.raises(InvalidRequest) as caught:
        table.changes(after, until)

    (problem,) = caught.value.problems
    assert problem.field == field


@pytest.mark.parametrize("columns", [["nothing"], [], ["k", "k"]])
def test_unknown_columns_are_refused(columns: Sequence[str]) -> None:
    with pytest.raises(InvalidRequest):
        given_table().changes(0, columns=columns)


def test_changelog_files_have_names_of_their_own() -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"))

    (part,) = table.changes(0)

    assert all(PurePosixPath(e.file.file_name).name.startswith("changelog-") for e in part.entries)
    assert [e.file.file_name.startswith("data-") for e in table.live_files(part.snapshot)] == [True]


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_expiry_leaves_the_changes_that_are_to_outlive_snapshots(producer: str) -> None:
    kept = {
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "1",
        "changelog.num-retained.max": "10",
    }
    table = given_table(producer, **kept)
    for value in "abc":
        write(table, ("+I", 1, value), ("+I", 2, value))
        table.compact()
    before = changes_by_snapshot(table.changes(0))

    result = table.expire()

    assert result.snapshots == (1, 2, 3, 4, 5)
    assert changes_by_snapshot(Table.open(table.path, file_io=table.file_io).changes(0)) == before
    with pytest.raises(InvalidRequest):
        table.scan(at=1)


@pytest.mark.parametrize(
    ("is_expired", "error"), [(True, ChangesExpired), (False, CorruptData)], ids=["expired", "lost"]
)
def test_a_file_that_is_gone_is_expired_only_if_its_snapshot_is(
    is_expired: bool, error: type[Exception]
) -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"))
    write(table, ("+I", 2, "b"))
    part = next(iter(table.changes(0)))
    (entry,) = part.entries
    table.file_io.delete(f"{table.path}/bucket-0/{entry.file.file_name}")
    if is_expired:
        expire(table, 1, keep_changes=False)

    with pytest.raises(error) as caught:
        part.to_arrow()

    assert type(caught.value) is error


@pytest.mark.parametrize("skip_rows", range(8))
def test_rows_that_are_done_are_passed_over(skip_rows: int) -> None:
    table = given_table("input", bucket="2")
    write(table, *(("+I", number, "a") for number in range(7)))
    (part,) = table.changes(0, batch_rows=2)

    found = pa.Table.from_batches(
        part.to_batches(skip_rows=skip_rows), schema=part.changes.arrow_schema
    )

    assert found.equals(part.to_arrow().slice(skip_rows).combine_chunks())


@pytest.mark.parametrize("skip_rows", [-1, 1.5, True])
def test_what_is_no_number_of_rows_is_refused(skip_rows: Any) -> None:
    table = given_table("input")
    write(table, ("+I", 1, "a"))
    (part,) = table.changes(0)

    with pytest.raises(InvalidRequest, match="an argument is of the wrong kind"):
        part.to_batches(skip_rows=skip_rows)


def test_files_that_are_done_are_not_opened() -> None:
    table = given_table("input", bucket="2")
    write(table, *(("+I", number, "a") for number in range(7)))
    counters = ReadCounters()
    (part,) = table.changes(0, counters=counters)

    list(part.to_batches(skip_rows=part.entries[0].file.row_count))

    assert counters.files == 1


def test_a_range_is_leased_and_another_range_continues_its_lease() -> None:
    table = given_table("input")
    for number in range(1, 5):
        write(table, ("+I", number, str(number)))

    first = table.changes(1).lease(what="a page")
    second = table.changes(2).lease(what="a page", lease_id=first.id)
    table.expire(retain_min=1, retain_max=1)

    assert second.id == first.id
    assert [part.snapshot_id for part in table.changes(2)] == [3, 4]
    with pytest.raises(ChangesExpired, match="snapshot 2 are not kept"):
        table.changes(1)


def test_changes_whose_snapshot_is_gone_are_leased_where_they_are_kept() -> None:
    table = given_table(
        "input", **{"snapshot.num-retained.max": "10", "changelog.num-retained.max": "100"}
    )
    for number in range(1, 5):
        write(table, ("+I", number, str(number)))
    table.expire(retain_min=1, retain_max=1)
    lease = table.changes(1).lease(what="a page")

    assert lease.snapshot_id == 2
    lease.refresh()
    lease.release()
    assert table.consumers() == []
