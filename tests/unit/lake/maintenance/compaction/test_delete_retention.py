"""Retracts of deleted rows stay until they are old, so that a late record does not bring a row back."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.lake import Catalog, InvalidRequest, ManualClock, MemoryFileIO, Table
from braid.lake.format.system_columns import VALUE_KIND
from braid.lake.lsm.tombstones import drop_old_retracts

DAY_MS = 86_400_000
NOW_MS = 1_790_000_000_000
OPTIONS = {
    "bucket": "1",
    "sequence.field": "version",
    "braid.delete-retention": "2 d",
    "braid.delete-retention.time-fields": "at",
}
AT = "TIMESTAMP(3) WITH LOCAL TIME ZONE"
INSERT, DELETE = 0, 3


def given_table(clock: ManualClock, **options: str) -> Table:
    return Catalog("/warehouse", file_io=MemoryFileIO(), clock=clock).create_table(
        "shop.orders",
        columns=[("k", "INT"), ("version", "INT"), ("v", "STRING"), ("at", AT)],
        primary_key=["k"],
        options={**OPTIONS, **options},
    )


def write(table: Table, kind: int, version: int, at_ms: int | None, key: int = 1) -> None:
    at = None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, tz=UTC)
    schema = table.schema.arrow_schema
    rows = pa.table({"k": [key], "version": [version], "v": [f"v{version}"], "at": [at]}, schema)
    table.write_and_commit(rows, kinds=pa.array([kind], pa.int8()))


def versions(table: Table) -> list[Any]:
    return [row["version"] for row in table.scan(columns=["version"]).to_arrow().to_pylist()]


def held(table: Table) -> int:
    """Return the retracts in files above level 0."""
    newest = table.latest_snapshot()
    assert newest is not None
    files = [entry.file for entry in table.live_files(newest)]
    return sum(file.delete_row_count or 0 for file in files if file.level > 0)


def test_a_late_record_does_not_bring_a_deleted_row_back() -> None:
    table = given_table(ManualClock(start_ms=NOW_MS))
    write(table, INSERT, 1, NOW_MS)
    write(table, DELETE, 5, NOW_MS)

    table.compact()
    write(table, INSERT, 3, NOW_MS)

    assert versions(table) == []
    assert held(table) == 1
    table.compact()
    assert versions(table) == []
    write(table, INSERT, 6, NOW_MS)
    assert versions(table) == [6]


def test_an_old_tombstone_goes_with_the_next_full_compaction() -> None:
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock)
    write(table, DELETE, 5, NOW_MS)
    write(table, INSERT, 1, NOW_MS, key=2)
    table.compact()
    assert held(table) == 1

    clock.advance(ms=2 * DAY_MS)
    table.compact()
    assert held(table) == 1
    clock.advance(ms=1)
    table.compact()

    assert held(table) == 0
    write(table, INSERT, 3, NOW_MS)
    assert versions(table) == [3, 1]


def test_a_young_tombstone_is_no_reason_to_compact_again() -> None:
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock)
    write(table, DELETE, 5, NOW_MS)
    write(table, INSERT, 1, NOW_MS, key=2)
    table.compact()

    clock.advance(ms=2 * DAY_MS)

    assert table.compact().snapshot_id is None
    assert table.compact(full=False).snapshot_id is None


@pytest.mark.parametrize("is_written_since", [False, True])
def test_an_old_tombstone_makes_a_compaction_due(is_written_since: bool) -> None:
    """It is dropped where nothing else is due."""
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock)
    write(table, DELETE, 5, NOW_MS)
    write(table, INSERT, 1, NOW_MS, key=2)
    table.compact()
    clock.advance(ms=2 * DAY_MS + 1)
    if is_written_since:
        write(table, INSERT, 2, NOW_MS, key=3)

    result = table.compact(full=False)

    assert result.rows_in - result.rows_out == 1
    assert held(table) == 0
    assert table.compact(full=False).snapshot_id is None
    assert versions(table) == ([1, 2] if is_written_since else [1])


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
@pytest.mark.parametrize("full", [False, True])
def test_a_record_that_lost_stays_lost_when_the_tombstone_goes(producer: str, full: bool) -> None:
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock, **{"changelog-producer": producer})
    write(table, DELETE, 5, NOW_MS)
    write(table, INSERT, 1, NOW_MS, key=2)
    table.compact()
    clock.advance(ms=DAY_MS)
    write(table, INSERT, 3, clock.now_ms())
    clock.advance(ms=DAY_MS + 1)

    table.compact(full=full)

    assert held(table) == 0
    assert versions(table) == [1]


def test_a_tombstone_that_came_while_the_file_was_written_is_checked_again() -> None:
    """Its time is later than the file's, so it is not old yet when the file is."""
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock)
    write(table, DELETE, 5, NOW_MS + DAY_MS)
    write(table, INSERT, 1, NOW_MS, key=2)
    table.compact()

    clock.advance(ms=2 * DAY_MS + 1)
    assert table.compact(full=False).rows_out == 2
    assert held(table) == 1
    clock.advance(ms=2 * DAY_MS + 1)
    table.compact(full=False)

    assert held(table) == 0


def test_a_delete_without_a_time_is_not_kept() -> None:
    table = given_table(ManualClock(start_ms=NOW_MS))
    write(table, DELETE, 5, None)
    write(table, INSERT, 1, NOW_MS, key=2)

    table.compact()

    assert held(table) == 0


def test_a_table_without_retention_keeps_nothing() -> None:
    table = Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
        "shop.orders",
        columns=[("k", "INT"), ("version", "INT"), ("v", "STRING"), ("at", AT)],
        primary_key=["k"],
        options={"bucket": "1", "sequence.field": "version"},
    )
    write(table, DELETE, 5, NOW_MS)
    write(table, INSERT, 1, NOW_MS, key=2)

    table.compact()

    assert held(table) == 0


@pytest.mark.parametrize(
    ("options", "field", "message"),
    [
        ({"deletion-vectors.enabled": "true"}, "braid.delete-retention", "deletion-vectors"),
        (
            {"braid.delete-retention.time-fields": ""},
            "braid.delete-retention.time-fields",
            "needs the time of a delete",
        ),
        (
            {"braid.delete-retention.time-fields": "at,v"},
            "braid.delete-retention.time-fields",
            "expected a TIMESTAMP",
        ),
        (
            {"braid.delete-retention.time-fields": "ad"},
            "braid.delete-retention.time-fields",
            "no such column",
        ),
        ({"braid.delete-retention": "soon"}, "braid.delete-retention", "expected a duration"),
    ],
    ids=["vectors", "no field", "type", "unknown", "duration"],
)
def test_a_retention_that_cannot_be_is_refused(
    options: dict[str, str], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        given_table(ManualClock(start_ms=NOW_MS), **options)

    (problem,) = caught.value.problems
    assert problem.field == field
    assert message in problem.message


def test_first_rows_are_never_deleted() -> None:
    with pytest.raises(InvalidRequest, match="never deleted"):
        Catalog("/warehouse", file_io=MemoryFileIO()).create_table(
            "shop.orders",
            columns=[("k", "INT"), ("at", AT)],
            primary_key=["k"],
            options={
                "bucket": "1",
                "merge-engine": "first-row",
                "braid.delete-retention": "1 d",
                "braid.delete-retention.time-fields": "at",
            },
        )


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3), st.none() | st.integers(-5, 5), st.none() | st.integers(-5, 5)
        ),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=40)
def test_retracts_past_their_retention_are_dropped(
    unit: str, rows: list[tuple[int, int | None, int | None]]
) -> None:
    kinds = [kind for kind, _, _ in rows]
    times = [
        pa.array([row[i] for row in rows], pa.timestamp("ms")).cast(pa.timestamp(unit, tz))
        for i, tz in ((1, None), (2, "UTC"))
    ]
    table = pa.table(
        {
            VALUE_KIND: pa.array(kinds, pa.int8()),
            "n": list(range(len(rows))),
            "a": times[0],
            "b": times[1],
        }
    )

    kept = drop_old_retracts(table, ["a", "b"], oldest_ms=2)

    expected = [
        number
        for number, (kind, *found) in enumerate(rows)
        if kind in (0, 2) or any(time is not None and time >= 2 for time in found)
    ]
    assert kept["n"].to_pylist() == expected


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_the_newest_version_wins_in_any_order_within_the_retention(data: st.DataObject) -> None:
    clock = ManualClock(start_ms=NOW_MS)
    table = given_table(clock)
    changes = data.draw(st.lists(st.sampled_from([INSERT, DELETE]), min_size=1, max_size=6))
    order = data.draw(st.permutations(range(len(changes))))
    for version in order:
        write(table, changes[version], version, NOW_MS)
        clock.advance(ms=data.draw(st.integers(0, DAY_MS // 4)))
        if data.draw(st.booleans(), label="compacts"):
            table.compact(full=data.draw(st.booleans(), label="full"))

    newest = len(changes) - 1
    expected = [newest] if changes[newest] == INSERT else []
    assert versions(table) == expected
    clock.advance(ms=2 * DAY_MS + 1)
    table.compact(full=data.draw(st.booleans(), label="full"))
    assert versions(table) == expected
