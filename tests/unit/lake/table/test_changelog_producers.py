"""Changelogs of compactions, read as the changes of a table."""

from hashlib import sha256

import pyarrow as pa
import pytest

from braid.lake import Catalog, MemoryFileIO, Table
from braid.lake.files.data_file_path import live_file_path
from braid.lake.files.data_files import DataFileReader
from braid.lake.format.binary_row import decode_row
from braid.lake.format.data_file import FileSource
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from tests.unit.lake.table.given_changes import changes_by_snapshot, write

FULL = {"changelog-producer": "full-compaction"}
LOOKUP = {"changelog-producer": "lookup"}


def given_table(options: dict[str, str], **engine: str) -> Table:
    """Return a table (k, v)."""
    return Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "STRING")],
        primary_key=["k"],
        options={"bucket": "1", **options, **engine},
    )


@pytest.mark.parametrize("options", [FULL, LOOKUP], ids=["full-compaction", "lookup"])
def test_a_compaction_writes_the_changes_of_rows(options: dict[str, str]) -> None:
    table = given_table(options)
    write(table, ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c"))
    table.compact()
    write(table, ("+I", 1, "a2"), ("-D", 2, "b"), ("-D", 4, "d"))
    write(table, ("+I", 5, "e"), ("+I", 1, "a3"))
    table.compact()

    assert changes_by_snapshot(table.changes(0)) == [
        (2, [("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c")]),
        (5, [("-U", 1, "a"), ("+U", 1, "a3"), ("-D", 2, "b"), ("+I", 5, "e")]),
    ]


@pytest.mark.parametrize("commits", [None, 1, 3])
def test_due_compactions_write_changes_after_the_declared_number_of_commits(
    commits: int | None,
) -> None:
    """However much larger the rows are whose changes were written before."""
    declared = {} if commits is None else {"full-compaction.delta-commits": str(commits)}
    table = given_table({**FULL, **declared})
    write(table, *(("+I", key, sha256(bytes([key])).hexdigest()) for key in range(100)))
    table.compact()
    memory, done = CompactionMemory(), []
    for number in range(3):
        write(table, ("+I", 1, str(number)))
        done.append(table.compact(full=False, memory=memory).buckets)

    assert done == ([0, 0, 1] if commits == 3 else [1, 1, 1])
    last = changes_by_snapshot(table.changes(2))[-1][1]
    assert last[-1] == ("+U", 1, "2")


@pytest.mark.parametrize("options", [FULL, LOOKUP], ids=["full-compaction", "lookup"])
@pytest.mark.parametrize("ignored", ["", "v"], ids=["no column ignored", "v ignored"])
def test_repeated_updates_can_be_left_out(options: dict[str, str], ignored: str) -> None:
    table = given_table(
        {
            **options,
            "changelog-producer.row-deduplicate": "true",
            "changelog-producer.row-deduplicate-ignore-fields": ignored,
        }
    )
    write(table, ("+I", 1, "a"), ("+I", 2, "b"))
    table.compact()
    write(table, ("+I", 1, "a"), ("+I", 2, "b2"), ("+I", 3, "c"))
    table.compact()

    updates = [] if ignored else [("-U", 2, "b"), ("+U", 2, "b2")]
    assert changes_by_snapshot(table.changes(2)) == [(4, [*updates, ("+I", 3, "c")])]
    assert table.get({"k": 2}) == {"k": 2, "v": "b2"}


def test_a_first_row_table_has_one_change_per_key() -> None:
    table = given_table(LOOKUP, **{"merge-engine": "first-row"})
    write(table, ("+I", 1, "a"), ("+I", 1, "a2"))
    table.compact()
    write(table, ("+I", 1, "late"), ("+I", 2, "b"))
    table.compact()

    assert changes_by_snapshot(table.changes(0)) == [(2, [("+I", 1, "a")]), (4, [("+I", 2, "b")])]


@pytest.mark.parametrize("options", [FULL, LOOKUP], ids=["full-compaction", "lookup"])
def test_a_compaction_of_old_rows_alone_writes_no_changelog(options: dict[str, str]) -> None:
    table = given_table(options)
    write(table, ("+I", 1, "a"))
    table.compact()
    last = table.compact()

    assert last.snapshot_id is None
    assert changes_by_snapshot(table.changes(2)) == []


@pytest.mark.parametrize("options", [FULL, LOOKUP], ids=["full-compaction", "lookup"])
def test_every_file_has_its_keys_in_order_and_says_which_they_are(options: dict[str, str]) -> None:
    table = given_table({**options, "compaction.small-file-ratio": "0.0"})
    write(table, *[("+I", key, "moved") for key in range(100, 200)])
    write(table, *[("+I", key, "rewritten") for key in range(50)])
    write(table, *[("+I", key, "rewritten") for key in range(25, 75)])
    write(table, *[("+I", key, "moved as well") for key in range(80, 90)])
    table.compact()

    (part,) = table.changes(0)
    fields = table.schema.key_fields
    ranges = []
    for entry in part.entries:
        path = live_file_path(table.paths, table.schema, entry.partition, entry.bucket, entry.file)
        reader = DataFileReader(table.file_io, path, file_meta=entry.file, schema=table.schema)
        keys = [key for batch in reader.batches(["k"]) for key in batch.column("k").to_pylist()]
        assert keys == sorted(keys)
        assert (keys[0], keys[-1]) == (
            decode_row(entry.file.min_key, fields)[0],
            decode_row(entry.file.max_key, fields)[0],
        )
        assert (entry.file.level, entry.file.file_source) == (5, FileSource.APPEND)
        ranges.append((keys[0], keys[-1]))
    assert sorted(ranges) == [(0, 74), (80, 89), (100, 199)]
    assert sum(entry.file.row_count for entry in part.entries) == part.row_count == 185


def test_changelog_files_of_compactions_are_no_part_of_the_table() -> None:
    table = given_table(FULL)
    write(table, ("+I", 1, "a"))
    table.compact()

    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (part,) = table.changes(0)
    assert snapshot.changelog_record_count == part.row_count == 1
    names = {entry.file.file_name for entry in table.live_files(snapshot)}
    assert names.isdisjoint(entry.file.file_name for entry in part.entries)
    assert table.scan().to_arrow()["k"].to_pylist() == [1]


def test_a_single_record_stays_as_it_is_where_nothing_is_looked_up() -> None:
    table = Catalog("/wh", file_io=MemoryFileIO()).create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "force-lookup": "true",
            **FULL,
        },
    )
    rows = pa.table({"k": [1, 2], "v": [3, 5]})
    table.write_and_commit(rows, kinds=pa.array([1, 0], pa.int8()))

    table.compact()

    # Merged, the lone -U would be a row of -3.
    assert table.scan().to_arrow().to_pylist() == [{"k": 2, "v": 5}]
    assert table.changes(0, columns=["k", "v"]).to_arrow().to_pylist() == [
        {"_VALUE_KIND": 0, "k": 2, "v": 5}
    ]
