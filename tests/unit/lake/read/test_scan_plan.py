"""The plan of a scan: which files it leaves out, and which it must keep."""

import dataclasses
from collections.abc import Mapping

import pytest

from braid.lake.errors import InvalidRequest, UnsupportedFeature
from braid.lake.format.binary_row import decode_row
from braid.lake.format.statistics import EMPTY_STATS
from braid.lake.read.scan_plan import plan_scan
from tests.given_tables import GivenTable, given_conditions, given_schema
from tests.support.snapshots import given_snapshot

COLUMNS = {"k": "INT", "v": "INT"}


def given_table(*, bucket: int = 1, engine: str = "deduplicate") -> GivenTable:
    """Return an empty table (k, v)."""
    options = {"bucket": str(bucket), "merge-engine": engine}
    return GivenTable(schema=given_schema(COLUMNS, key=["k"], options=options))


def test_an_empty_table_has_nothing_to_read() -> None:
    plan = given_table().plan()

    assert (plan.splits, plan.files_total, plan.files_read) == ((), 0, 0)


def test_the_plan_names_its_snapshot() -> None:
    table = given_table()

    assert plan_scan(given_snapshot(7), table.schema, []).snapshot_id == 7


def test_key_conditions_drop_files_by_their_key_range() -> None:
    table = given_table()
    for start in (0, 10, 20):
        table.write(*[[k, k] for k in range(start, start + 10)])

    assert table.plan(("k", "=", 15)).files_read == 1
    assert table.plan(("k", ">=", 10)).files_read == 2
    assert table.plan(("k", "in", [5, 25])).files_read == 2
    assert table.plan(("k", "=", 99)).splits == ()
    assert table.plan(("k", "=", 15)).files_total == 3


def test_key_conditions_drop_files_of_overlapping_sections_too() -> None:
    table = given_table()
    table.write([1, 1], [5, 5])
    table.write([4, 4], [9, 9])

    assert table.plan(("k", "<=", 3)).files_read == 1
    assert table.read(("k", "<=", 3)) == [(1, 1)]


def test_value_conditions_drop_a_file_that_overlaps_no_other() -> None:
    table = given_table()
    table.write([1, 10])
    table.write([2, 20])

    assert table.plan(("v", "=", 20)).files_read == 1


def test_value_conditions_keep_files_that_are_merged() -> None:
    """The newer record does not match, but without it the older one would come to light."""
    table = given_table()
    table.write([1, 10])
    table.write([1, 20])

    assert table.plan(("v", "=", 10)).files_read == 2
    assert table.read(("v", "=", 10)) == []


def test_equality_on_the_key_leaves_one_bucket() -> None:
    table = given_table(bucket=4)
    table.write(*[[k, k] for k in range(100)])

    assert len(table.plan().splits) == 4
    assert len(table.plan(("k", "=", 42)).splits) == 1
    assert table.read(("k", "=", 42)) == [(42, 42)]


def test_buckets_are_pruned_with_the_count_the_files_were_written_with() -> None:
    table = given_table(bucket=4)
    table.write(*[[k, k] for k in range(100)])
    table.schema = dataclasses.replace(table.schema, options={"bucket": "64"})

    assert table.read(("k", "=", 42)) == [(42, 42)]


def test_dynamic_buckets_are_not_pruned() -> None:
    table = given_table(bucket=4)
    table.write(*[[k, k] for k in range(100)])
    table.schema = dataclasses.replace(table.schema, options={"bucket": "-1"})
    table.entries = [dataclasses.replace(entry, total_buckets=-1) for entry in table.entries]

    assert len(table.plan(("k", "=", 42)).splits) > 1
    assert table.read(("k", "=", 42)) == [(42, 42)]


def test_partitions_are_pruned_by_value() -> None:
    schema = given_schema({"k": "INT", "p": "STRING"}, key=["k", "p"], partition=["p"])
    table = GivenTable(schema=schema)
    table.write([1, "a"], [2, "b"], [3, "c"])

    plan = table.plan(("p", ">", "a"))

    assert [decode_row(split.partition, schema.partition_fields) for split in plan.splits] == [
        ("b",),
        ("c",),
    ]
    assert table.read(("p", ">", "a")) == [(2, "b"), (3, "c")]


def test_splits_are_ordered_by_directory_and_bucket() -> None:
    schema = given_schema(
        {"k": "INT", "p": "STRING"}, key=["k", "p"], partition=["p"], options={"bucket": "2"}
    )
    table = GivenTable(schema=schema)
    table.write(*[[k, p] for p in "ba" for k in range(20)])

    found = [
        (decode_row(split.partition, schema.partition_fields)[0], split.bucket)
        for split in table.plan().splits
    ]

    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_files_without_statistics_are_kept() -> None:
    table = given_table()
    table.write([1, 10])
    table.entries = [
        dataclasses.replace(
            entry,
            file=dataclasses.replace(
                entry.file, key_stats=EMPTY_STATS, value_stats=EMPTY_STATS, value_stats_cols=()
            ),
        )
        for entry in table.entries
    ]

    assert table.plan(("k", "=", 5), ("v", "=", 5)).files_read == 1


def test_conditions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="nope: the table has no such column"):
        plan_scan(None, given_table().schema, [], where=given_conditions([("nope", "=", 1)]))


VECTORS = {"deletion-vectors.enabled": "true"}


def given_levels(options: Mapping[str, str], *levels: int) -> GivenTable:
    """Return a table of two rows per file, each file of the keys 1 and 9, on the given levels."""
    table = GivenTable(schema=given_schema(COLUMNS, key=["k"], options=options))
    for number, level in enumerate(levels):
        table.write([1, number], [9, number])
        table.move(number, level)
    return table


def runs_by_section(table: GivenTable, *where: tuple[object, ...]) -> list[int]:
    return [len(section.runs) for split in table.plan(*where).splits for section in split.sections]


@pytest.mark.parametrize(
    ("options", "levels", "expected"),
    [
        # Whoever compacted has marked or left out what is on several levels.
        (VECTORS, [1, 3, 5], [1, 1, 1]),
        ({"merge-engine": "first-row"}, [1, 3, 5], [1, 1, 1]),
        # Level 0 is passed over, so what is left is read raw all the same.
        (VECTORS, [0, 3, 5], [1, 1]),
        ({"merge-engine": "first-row"}, [0, 3, 5], [1, 1]),
        ({**VECTORS, "deletion-vectors.merge-on-read": "true"}, [0, 3, 5], [3]),
        ({**VECTORS, "deletion-vectors.merge-on-read": "true"}, [1, 3, 5], [1, 1, 1]),
        ({}, [1, 3, 5], [3]),
        ({"changelog-producer": "lookup"}, [1, 3, 5], [3]),
        ({"force-lookup": "true"}, [1, 3, 5], [3]),
    ],
)
def test_files_are_read_raw_where_no_two_records_are_of_one_key(
    options: dict[str, str], levels: list[int], expected: list[int]
) -> None:
    assert runs_by_section(given_levels(options, *levels)) == expected


@pytest.mark.parametrize(("retracts", "expected"), [(0, [1, 1]), (None, [1, 1]), (1, [2])])
def test_a_file_with_retracts_is_not_read_raw(retracts: int | None, expected: list[int]) -> None:
    table = given_levels(VECTORS, 3, 5)
    entry = table.entries[0]
    file = dataclasses.replace(entry.file, delete_row_count=retracts)
    table.entries[0] = dataclasses.replace(entry, file=file)

    assert runs_by_section(table) == expected


def test_value_conditions_drop_files_that_are_read_raw() -> None:
    """A marked row does not make a file's bounds wrong, it only makes them wider than need be."""
    table = given_levels(VECTORS, 3, 5)
    table.mark({0: [1], 1: [0]})

    assert table.plan(("v", "=", 1)).files_read == 1
    assert table.plan(("v", "=", 7)).files_read == 0


def test_value_conditions_drop_merged_files_together_where_rows_are_records() -> None:
    table = given_levels({"force-lookup": "true"}, 3, 5)

    assert table.plan(("v", "=", 0)).files_read == 2
    assert table.plan(("v", "=", 7)).files_read == 0


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_value_conditions_drop_no_file_that_is_merged_into_rows(engine: str) -> None:
    table = given_levels({"merge-engine": engine, "fields.v.aggregate-function": "sum"}, 3, 5)

    assert table.plan(("v", "=", 7)).files_read == 2


def test_splits_name_the_index_file_of_their_vectors() -> None:
    table = given_levels(VECTORS, 3, 5)
    table.mark({0: [1]})

    assert [split.vectors for split in table.plan().splits] == table.indexes


def test_a_bucket_with_two_files_of_vectors_is_refused() -> None:
    table = given_levels(VECTORS, 3, 5)
    table.mark({0: [1]})
    table.indexes *= 2

    with pytest.raises(UnsupportedFeature, match="expected one file"):
        table.plan()


def test_scans_of_first_row_tables_skip_level_0() -> None:
    table = given_table()
    table.write((1, 1))
    fresh = table.entries[0]
    moved = dataclasses.replace(fresh.file, file_name="compacted", level=5)
    table.entries.append(dataclasses.replace(fresh, file=moved))
    schema = given_table(engine="first-row").schema

    plan = plan_scan(None, schema, table.entries)

    assert [file.file_name for split in plan.splits for file in split.files] == ["compacted"]
    assert plan.files_total == 2
