"""Compactions remove expired rows, whole and only once nothing older of their key is left."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, Table, UnsupportedFeature

NOW_S = 1_700_000_000
HOUR_MS = 3_600_000
FRESH, OLD = NOW_S, NOW_S - 7_200


def given_table(clock: ManualClock, **options: str) -> Table:
    ttl = {"record-level.expire-time": "1 h", "record-level.time-field": "t"}
    return Catalog("/wh", file_io=MemoryFileIO(), clock=clock).create_table(
        "db.t",
        columns=[("k", "INT"), ("t", "INT"), ("a", "INT"), ("b", "INT")],
        primary_key=["k"],
        options={"bucket": "1"} | ttl | {key.replace("_", "-"): v for key, v in options.items()},
    )


def given_clock() -> ManualClock:
    return ManualClock(start_ms=NOW_S * 1_000)


def write(table: Table, *rows: Sequence[int | None]) -> None:
    columns = list(zip(*rows, strict=True))
    names = ("k", "t", "a", "b")
    table.write_and_commit(
        pa.table({n: pa.array(c, pa.int32()) for n, c in zip(names, columns, strict=True)})
    )


def read(table: Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def stored(table: Table) -> list[tuple[int, int]]:
    """Return level and number of rows of each live file."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sorted((e.file.level, e.file.row_count) for e in table.live_files(snapshot))


def test_the_merged_time_decides_not_that_of_a_record() -> None:
    """The record with the old time goes only with its row, and the row with all of its columns."""
    table = given_table(given_clock(), merge_engine="partial-update")
    write(table, (1, OLD, 10, None), (2, OLD, 20, None), (3, FRESH, 30, None))
    write(table, (1, FRESH, None, None), (2, None, None, 21), (3, None, None, 31))
    before = read(table)

    table.compact()

    assert before == read(table) == [(1, FRESH, 10, None), (3, FRESH, 30, 31)]
    assert stored(table) == [(5, 2)]


def test_a_row_expires_without_a_snapshot_in_scans_and_in_cached_lookups() -> None:
    clock = given_clock()
    table = given_table(clock)
    write(table, (1, FRESH, 10, 11), (2, None, 20, 21))
    lookup = table.lookup_at()
    lookup.load()
    scan = table.scan(columns=["a"])

    clock.advance(ms=HOUR_MS + 1_000)

    assert lookup.is_cached()
    assert lookup.get_many([{"k": 1}, {"k": 2}], columns=["a"]) == [None, {"a": 20}]
    assert table.get({"k": 1}) is None
    assert read(table) == [(2, None, 20, 21)]
    # A scan keeps the rows of its moment, so that tasks which read it at several times agree.
    (split,) = scan.splits()
    assert sum(batch.num_rows for batch in scan.reader().batches(split)) == 2
    assert table.scan().count() == 1


def test_an_expired_row_of_an_upper_level_stays_while_it_hides_an_older_one() -> None:
    """Were the new record dropped alone, the older one, without a time, would show again."""
    table = given_table(given_clock(), **{"num-sorted-run.compaction-trigger": "3"})
    # Values that do not compress, so that the lowest level is too large to be compacted with the new files.
    write(table, *((key, None, key * 7_919 % 65_521, -(key**3) % 65_521) for key in range(5_000)))
    table.compact()
    for number in range(3):
        write(table, (7, OLD, number, None))
    result = table.compact(full=False)

    assert result.files_in == 3
    assert {count for _, count in stored(table)} == {1, 5_000}
    assert len(read(table)) == 4_999
    assert table.get({"k": 7}) is None
    table.compact()
    assert [count for _, count in stored(table)] == [4_999]
    assert table.get({"k": 7}) is None


def test_a_file_is_due_once_half_of_the_lowest_rows_are_expired() -> None:
    clock = given_clock()
    table = given_table(clock)
    write(table, *((key, FRESH + 60 * key, 1, 1) for key in range(101)))
    table.compact()

    due = []
    for _ in range(5):
        clock.advance(ms=HOUR_MS // 2)
        due.append(len(table.buckets_to_compact(full=False)))
        table.compact(full=False)

    # A row expires every minute from minute 60 on: 30 % after 90 minutes, 60 % after 120; then 30 of 41.
    assert due == [0, 0, 0, 1, 1]
    assert stored(table) == [(5, 11)]


def test_a_full_compaction_rewrites_only_files_with_expired_rows() -> None:
    table = given_table(given_clock(), target_file_size="400 b")
    write(table, (1, FRESH, 1, 1), (2, FRESH, 1, 1))
    write(table, (3, FRESH, 1, 1), (4, OLD, 1, 1))
    write(table, (5, OLD, 1, 1))

    result = table.compact()

    assert (result.files_in, result.files_moved, result.rows_out) == (3, 1, 3)
    assert stored(table) == [(5, 1), (5, 2)]
    assert table.compact().snapshot_id is None


def test_a_wholly_expired_file_is_not_read() -> None:
    table = given_table(given_clock())
    write(table, (1, FRESH, 1, 1), (2, None, 1, 1))
    write(table, (3, OLD, 1, 1))
    write(table, (4, OLD, 1, 1), (5, None, 1, 1))

    plan = table.scan().plan()

    assert (plan.files_total, plan.files_read) == (3, 2)


@pytest.mark.parametrize(
    ("is_compacted", "row"),
    [(False, (1, FRESH, 10, 12)), (True, (1, FRESH, None, 12))],
    ids=["before", "after"],
)
def test_a_late_record_revives_an_expired_row_until_it_is_removed(
    is_compacted: bool, row: tuple[object, ...]
) -> None:
    """A newer time revives the row with its values; after the removal the record is a new row."""
    table = given_table(given_clock(), merge_engine="partial-update")
    write(table, (1, OLD, 10, 11))
    assert read(table) == []
    if is_compacted:
        table.compact()

    write(table, (1, FRESH, None, 12))

    assert read(table) == [row]


def test_the_removal_is_no_change_of_the_records() -> None:
    """Incremental reads give records as they were written; a removal is in none."""
    table = given_table(given_clock())
    write(table, (1, OLD, 10, 11))
    table.compact()

    changes = table.changes(0).to_arrow()

    assert changes.num_rows == 1
    assert read(table) == []


def test_another_engines_table_with_a_changelog_is_read_and_not_compacted() -> None:
    table = given_table(given_clock())
    write(table, (1, OLD, 10, 11), (2, FRESH, 20, 21))
    schema = table.schema
    options = {**schema.options, "changelog-producer": "full-compaction"}
    foreign = type(schema)(
        id=schema.id + 1,
        fields=schema.fields,
        highest_field_id=schema.highest_field_id,
        partition_keys=schema.partition_keys,
        primary_keys=schema.primary_keys,
        options=options,
        comment=None,
    )
    assert table.publish_schema(foreign)
    again = Table.open(table.path, file_io=table.file_io)

    with pytest.raises(UnsupportedFeature) as caught:
        again.compact()

    assert [problem.field for problem in caught.value.problems] == ["record-level.expire-time"]
