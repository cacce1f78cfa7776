"""Inspection: views of a table's metadata."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    CommitKind,
    InvalidRequest,
    ManualClock,
    MemoryFileIO,
    Table,
)
from braid.lake.table.inspection.inspection import VIEWS

START = datetime.fromtimestamp(1_700_000_000, tz=UTC)


def given_table(options: Mapping[str, str], *, partition: Sequence[str] = ("p",)) -> Table:
    """Return an empty table (p STRING, k INT, v INT)."""
    catalog = Catalog("/wh", file_io=MemoryFileIO(), clock=ManualClock())
    return catalog.create_table(
        "db.t",
        columns=[("p", "STRING"), ("k", "INT"), ("v", "INT")],
        primary_key=["p", "k"],
        partition_keys=partition,
        options=options,
        comment="for looks",
    )


def write(table: Table, *keys: int, p: str = "x", kind: int = 0) -> int:
    rows = pa.table(
        {
            "p": pa.array([p] * len(keys), pa.string()),
            "k": pa.array(keys, pa.int32()),
            "v": pa.array(keys, pa.int32()),
        }
    )
    kinds = pa.array([kind] * len(keys), pa.int8())
    return table.write_and_commit(rows, kinds=kinds).snapshot_id


@pytest.fixture
def table() -> Table:
    """Return a table with two partitions, a compaction, and newer files with a retract."""
    table = given_table({"bucket": "2", "deletion-vectors.enabled": "true"})
    write(table, *range(10))
    write(table, *range(5), p="y z")
    table.compact(commit_user="compactor")
    write(table, 1, 2)
    table.compact(full=False, commit_user="compactor")
    write(table, 3, 4, kind=3)
    return table


def rows(view: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in view.to_pylist()]


def test_snapshots_are_listed_oldest_first(table: Table) -> None:
    view = table.inspect.snapshots()

    assert rows(view, "snapshot_id", "kind", "added_rows") == [
        (1, "APPEND", 10),
        (2, "APPEND", 5),
        (3, "COMPACT", 0),
        (4, "APPEND", 2),
        (5, "COMPACT", 0),
        (6, "APPEND", 2),
    ]
    assert view["committed_at"].to_pylist() == [START] * 6
    assert view["rows"].to_pylist() == [10, 15, 15, 17, 17, 19]
    assert rows(table.inspect.snapshots(last=2), "snapshot_id") == [(5,), (6,)]


def test_files_are_listed_with_their_marked_rows(table: Table) -> None:
    view = table.inspect.files()
    snapshot = table.latest_snapshot()
    assert snapshot is not None

    assert sorted(view["file_name"].to_pylist()) == sorted(
        entry.file.file_name for entry in table.live_files(snapshot)
    )
    assert set(view["partition"].to_pylist()) == {"p=x", "p=y z"}
    assert sum(view["rows"].to_pylist()) == 19
    assert sum(view["retracts"].to_pylist()) == 2
    # The two rows that were written again after the first compaction.
    assert sum(view["marked_rows"].to_pylist()) == 2
    levels = set(view["level"].to_pylist())
    assert {0, 5} < levels
    assert {row["source"] for row in view.to_pylist() if row["level"] == 0} == {"APPEND"}
    places = rows(view, "partition", "bucket", "level")
    assert places == sorted(places)


def test_a_view_of_an_older_snapshot_has_its_files(table: Table) -> None:
    assert set(table.inspect.files(3)["level"].to_pylist()) == {5}
    assert rows(table.inspect.partitions(1), "partition", "rows") == [("p=x", 10)]
    with pytest.raises(InvalidRequest, match="no snapshot 99"):
        table.inspect.files(99)


def test_buckets_have_their_runs(table: Table) -> None:
    view = table.inspect.buckets()

    for row in view.to_pylist():
        files = [
            (file["level"], file["file_name"])
            for file in table.inspect.files().to_pylist()
            if (file["partition"], file["bucket"]) == (row["partition"], row["bucket"])
        ]
        new = [name for level, name in files if level == 0]
        higher = {level for level, _ in files if level > 0}
        assert row["runs"] == len(new) + len(higher)
        assert (row["level_0_files"], row["files"]) == (len(new), len(files))
        assert (row["highest_level"], row["total_buckets"]) == (5, 2)
    assert sum(view["marked_rows"].to_pylist()) == 2


def test_space_by_level_and_by_partition_is_that_of_the_files(table: Table) -> None:
    files = table.inspect.files().to_pylist()
    for view in (table.inspect.levels(), table.inspect.partitions(), table.inspect.buckets()):
        for name in ("bytes", "rows", "retracts"):
            assert sum(view[name].to_pylist()) == sum(file[name] for file in files)
        assert sum(view["files"].to_pylist()) == len(files)
    assert rows(table.inspect.partitions(), "partition", "rows", "retracts") == [
        ("p=x", 14, 2),
        ("p=y z", 5, 0),
    ]
    assert table.inspect.levels()["level"].to_pylist() == sorted({file["level"] for file in files})


def test_the_history_of_compactions_is_by_bucket(table: Table) -> None:
    view = table.inspect.compactions()

    assert set(rows(view, "snapshot_id", "commit_user")) == {(3, "compactor"), (5, "compactor")}
    first = [row for row in view.to_pylist() if row["snapshot_id"] == 3]
    assert {row["output_level"] for row in first} == {5}
    assert sum(row["rows_in"] for row in first) == sum(row["rows_out"] for row in first) == 15
    # Each bucket had one new file, which moved as it was.
    assert {(row["files_in"], row["files_out"], row["files_moved"]) for row in first} == {(1, 1, 1)}
    assert {row["bytes_written"] for row in first} == {0}
    assert table.inspect.compactions(last=1).num_rows == 0


def test_tags_consumers_and_schemas_are_listed(table: Table) -> None:
    table.create_tag("week", retained_ms=7 * 86_400_000)
    table.create_tag("ever", snapshot_id=2)
    table.reset_consumer("reader", 4)
    with table.lease(5, holder="me"):
        consumers = table.inspect.consumers()
    table.rescale(3)

    tags = table.inspect.tags()
    assert rows(tags, "tag", "snapshot_id") == [("ever", 2), ("week", 6)]
    ever, week = tags.to_pylist()
    assert (ever["created_at"], ever["expires_at"]) == (None, None)
    assert (week["expires_at"] - week["created_at"]).days == 7
    found = {row["is_lease"]: row for row in consumers.to_pylist()}
    assert (found[False]["consumer"], found[False]["next_snapshot_id"]) == ("reader", 4)
    assert (found[True]["holder"], found[True]["next_snapshot_id"]) == ("me", 5)
    first, second = table.inspect.schemas().to_pylist()
    assert first["columns"] == ["p STRING NOT NULL", "k INT NOT NULL", "v INT"]
    assert (first["primary_key"], first["partition_keys"]) == (["p", "k"], ["p"])
    assert ("bucket = 2" in first["options"], "bucket = 3" in second["options"]) == (True, True)
    assert first["comment"] == "for looks"
    assert table.inspect.snapshots()["kind"].to_pylist()[-1] == CommitKind.OVERWRITE


@pytest.mark.parametrize("partition", [(), ("p",)])
def test_an_empty_table_has_empty_views(partition: Sequence[str]) -> None:
    table = given_table({"bucket": "2"}, partition=partition)

    for name in VIEWS:
        view = table.inspect.view(name)
        assert view.num_rows == (1 if name == "schemas" else 0)
        assert view.num_columns > 1


def test_an_unpartitioned_table_has_one_partition_without_a_name() -> None:
    table = given_table({"bucket": "2"}, partition=())
    write(table, 1, 2, 3)

    assert rows(table.inspect.partitions(), "partition", "rows") == [("", 3)]


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_by_its_name_is_the_view(table: Table, name: str) -> None:
    view = table.inspect.view(name)

    assert view.equals(getattr(table.inspect, name)())
    assert view.schema == getattr(table.inspect, name)().schema


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "rows"}, "view: no such view (found `rows`)\nhint: views: snapshots, files"),
        ({"name": "tags", "at": 1}, "the view `tags` does not show one snapshot"),
        ({"name": "files", "last": 1}, "the view `files` does not list the history"),
        ({"name": "snapshots", "last": 0}, "last: expected a whole number from 1"),
    ],
)
def test_arguments_that_a_view_does_not_take_are_refused(
    table: Table, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        table.inspect.view(**arguments)

    assert said in str(refused.value)


def test_partitions_that_share_a_directory_have_distinct_names() -> None:
    table = given_table({"bucket": "1"})
    for number, p in enumerate(("", " ", "__DEFAULT_PARTITION__", "x")):
        write(table, *range(number + 1), p=p)
    table.compact()
    names = [
        "p=__DEFAULT_PARTITION__ (p=' ')",
        "p=__DEFAULT_PARTITION__ (p='')",
        "p=__DEFAULT_PARTITION__ (p='__DEFAULT_PARTITION__')",
        "p=x",
    ]

    assert rows(table.inspect.partitions(), "partition", "rows") == list(
        zip(names, (2, 1, 3, 4), strict=True)
    )
    assert rows(table.inspect.files(), "partition") == [(name,) for name in names]
    assert rows(table.inspect.buckets(), "partition", "runs") == [(name, 1) for name in names]
    assert rows(table.inspect.compactions(), "partition") == [(name,) for name in names]
