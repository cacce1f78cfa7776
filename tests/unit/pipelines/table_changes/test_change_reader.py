"""Changes of a table, read as Spark calls the reader: in bounded batches, from each start, to the state of the table."""

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import (
    Catalog,
    ChangesExpired,
    InvalidRequest,
    SchemaMismatch,
    Table,
    UpdateColumnType,
    parse_type,
)
from braid.pipelines.table_changes.change_reader import ROW_KIND, ChangeReader, change_columns
from braid.pipelines.table_changes.stream_options import stream_options

Rows = dict[int, str]


class Changed:
    """A table with the keys `k` and the values `v`, in two buckets."""

    def __init__(self, folder: Path, **options: str) -> None:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        self.table: Table = Catalog(str(folder)).create_table(
            "db.t",
            columns=[("k", "INT"), ("v", "STRING")],
            primary_key=["k"],
            options={"bucket": "2", **named},
        )
        self.expected: Rows = {}

    def write(self, keys: Iterable[int], value: str) -> None:
        """Commit rows."""
        rows = dict.fromkeys(keys, value)
        self.expected |= rows
        self.table.write_and_commit(
            pa.table({"k": pa.array(list(rows), pa.int32()), "v": list(rows.values())})
        )


class Query:
    """What Spark does with the reader; the place outlives the reader, as in a checkpoint."""

    def __init__(self, table: Table, **options: str) -> None:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        self.options = stream_options({"path": table.path, **named})
        self.columns = change_columns(self.options)
        self.place: dict[str, Any] | None = None
        self.batches: list[list[dict[str, Any]]] = []
        self.rows: Rows = {}

    def run(self) -> "Query":
        """Read all there is, then stop; a new reader continues the next time."""
        reader = ChangeReader(self.options, self.columns)
        try:
            reader.prepareForTriggerAvailableNow()
            place = self.place or reader.initialOffset()
            while True:
                limit = reader.getDefaultReadLimit()
                end = json.loads(json.dumps(reader.latestOffset(place, limit)))
                if end == place:
                    break
                self._read(reader, place, end)
                reader.commit(end)
                place = end
            self.place = place
        finally:
            reader.stop()
        return self

    def _read(self, reader: ChangeReader, place: dict[str, Any], end: dict[str, Any]) -> None:
        batch = []
        for part in reader.partitions(place, end):
            task, sent = pickle.loads(pickle.dumps((reader, part)))
            for rows in task.read(sent):
                batch += rows.to_pylist()
        for row in batch:
            if row[ROW_KIND] in ("+I", "+U"):
                self.rows[row["k"]] = row["v"]
            elif row[ROW_KIND] == "-D":
                del self.rows[row["k"]]
        self.batches.append(batch)


@pytest.mark.parametrize("producer", ["none", "input", "lookup", "full-compaction"])
def test_the_rows_and_then_the_changes_are_the_table(tmp_path: Path, producer: str) -> None:
    changed = Changed(tmp_path, changelog_producer=producer)
    changed.write(range(6), "a")
    changed.table.compact()
    changed.write(range(2, 4), "b")  # for some producers no part of the state that changes continue

    one, few = (
        Query(changed.table, start="full"),
        Query(changed.table, start="full", maxFilesPerTrigger="1"),
    )
    for query in (one, few):
        query.run()
    changed.write(range(3, 9), "c")
    changed.table.compact()
    for query in (one, few):
        query.run()

    assert one.rows == few.rows == changed.expected
    assert len(one.batches) < len(few.batches)
    assert changed.table.consumers() == []


def test_a_changelog_has_the_rows_before(tmp_path: Path) -> None:
    changed = Changed(tmp_path, changelog_producer="lookup")
    changed.write([1], "a")
    changed.table.compact()
    query = Query(changed.table, start="latest").run()
    changed.write([1], "b")
    changed.table.compact()

    (batch,) = query.run().batches

    assert [(row["v"], row[ROW_KIND]) for row in batch] == [("a", "-U"), ("b", "+U")]


def test_a_start_is_a_snapshot_a_tag_or_a_time(tmp_path: Path) -> None:
    changed = Changed(tmp_path)
    for value in ("a", "b", "c"):
        changed.write([1], value)
    changed.table.create_tag("second", snapshot_id=2)
    second = changed.table.snapshot(2).time_millis

    def values(**options: str) -> list[str]:
        return [row["v"] for part in Query(changed.table, **options).run().batches for row in part]

    assert values(start_snapshot_id="2") == ["b", "c"]
    assert values(start_tag="second") == ["c"]
    assert values(start_timestamp=str(second))[-1:] == ["c"]
    assert values(start="latest") == []
    with pytest.raises(InvalidRequest, match=r"start-snapshot-id: .*from 1 to 3"):
        values(start_snapshot_id="9")


def test_a_batch_has_as_many_files_as_it_may(tmp_path: Path) -> None:
    changed = Changed(tmp_path)
    for value in ("a", "b"):
        changed.write(range(20), value)  # a file for each of the two buckets
    query = Query(changed.table, start_snapshot_id="1", maxFilesPerTrigger="3").run()

    first, second = query.batches
    assert [row["v"] for row in first].count("a") == 20
    assert {row["v"] for row in second} == {"b"}
    assert len(first) + len(second) == 40
    assert query.rows == changed.expected
    assert query.columns.names == ["k", "v", ROW_KIND]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"merge_engine": "partial-update"}, "a part of its row"),
        ({"merge_engine": "partial-update", "changelog_producer": "input"}, "a part of its row"),
        ({"merge_engine": "first-row"}, "only the first record"),
        ({"sequence.field": "v"}, "a record may be late"),
    ],
)
def test_partial_changes_are_read_only_as_they_were_written(
    tmp_path: Path, options: dict[str, str], reason: str
) -> None:
    changed = Changed(tmp_path, **options)
    changed.write([1], "a")

    with pytest.raises(InvalidRequest, match=reason):
        Query(changed.table, start="full")

    (batch,) = Query(changed.table, start_snapshot_id="1", raw="true").run().batches
    assert batch == [{"k": 1, "v": "a", ROW_KIND: "+I"}]


def test_what_was_not_read_does_not_expire(tmp_path: Path) -> None:
    changed = Changed(tmp_path)
    changed.write([1], "a")
    held = Query(changed.table, start_snapshot_id="1", consumer_id="orders").run()
    for value in ("b", "c", "d"):
        changed.write([1], value)
    lost = Query(changed.table, start_snapshot_id="1").run()
    lost.place = {"snapshot": 1, "index": 0, "full": False, "last_uuid": ""}

    changed.table.expire(retain_min=1, retain_max=1)

    assert held.run().rows == {1: "d"}
    assert [one.id for one in changed.table.consumers()] == ["orders"]
    with pytest.raises(ChangesExpired, match="the oldest that are kept are those of snapshot 2"):
        lost.run()


def test_a_query_does_not_continue_in_other_snapshots_of_the_same_ids(tmp_path: Path) -> None:
    changed = Changed(tmp_path)
    changed.write([1], "a")
    changed.write([1], "b")
    query = Query(changed.table, start="full").run()
    changed.table.rollback(snapshot_id=1)
    with pytest.raises(InvalidRequest, match="rolled back behind"):
        query.run()
    changed.write([1], "c")
    changed.write([1], "d")

    with pytest.raises(InvalidRequest, match="rolled back behind"):
        query.run()


def test_changed_columns_stop_a_query(tmp_path: Path) -> None:
    changed = Changed(tmp_path)
    query = Query(changed.table, start="full").run()
    changed.table.alter(UpdateColumnType(path=("v",), type=parse_type("BYTES")))

    with pytest.raises(SchemaMismatch, match="the column is binary"):
        query.run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a streaming read names its start"),
        ({"start": "now"}, "expected `full` or `latest`"),
        ({"start": "full", "start-tag": "a"}, "cannot be given together with `start`"),
        (
            {"start": "full", "maxfilespertrigger": "0"},
            "maxFilesPerTrigger.*expected a whole number from 1",
        ),
        ({"start": "full", "raw": "yes"}, "expected `true` or `false`"),
        ({"start": "full", "where": "k = 1"}, "where: no such option"),
    ],
)
def test_options_are_refused_with_the_reason(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        stream_options({"path": "/nowhere", **options})
