"""Backfills from files: rows beside the live stream, exactly once, whatever is killed."""

import csv
import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.backfill.backfill import Target
from braid.backfill.backfill_commits import BackfillCommits
from braid.backfill.read_chunk import ReadChunk, Source
from braid.lake import AddColumn, InvalidRequest, LimitExceeded, StreamFenced, parse_type
from braid.registry.errors import StreamNotFound
from tests.unit.backfill.bed import PARCELS, BackfillBed

ROWS: list[dict[str, Any]] = [
    {"id": 1, "version": 1, "city": "Bad Ischl", "weight": "1.50"},
    {"id": 2, "version": 7, "city": None, "weight": "2.00"},
    {"id": 1, "version": 3, "city": "Linz", "weight": "3.25"},
]
ROWS_OF_TABLE = [(1, 3, "Linz", Decimal("3.25")), (2, 7, None, Decimal("2.00"))]
COLUMNS = ("id", "version", "city", "weight")


@pytest.fixture
def bed(tmp_path: Path) -> BackfillBed:
    """Return a warehouse with files of two versions of parcel 1 and one of parcel 2."""
    found = BackfillBed(tmp_path)
    found.write_json("part-1.jsonl", ROWS)
    return found


def test_rows_of_files_come_into_the_table_once(bed: BackfillBed) -> None:
    position = bed.backfill().run()
    snapshot = bed.table.latest_snapshot()

    again = bed.backfill().run()

    assert bed.rows(*COLUMNS) == ROWS_OF_TABLE
    assert position.account.records == 3
    assert (position.account.accepted, position.account.folded) == (2, 1)
    assert again.account == position.account
    assert snapshot is not None
    # Only the claim made a snapshot, and no row.
    assert bed.table.latest_snapshot().total_record_count == snapshot.total_record_count  # type: ignore[union-attr]  # there is one


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    writers = {"parquet": write_parquet, "csv": write_csv, "avro": write_avro}
    for name, write in writers.items():
        bed = BackfillBed(tmp_path / name)
        write(bed.files / f"part.{name}")

        bed.backfill().run()

        assert bed.rows(*COLUMNS) == ROWS_OF_TABLE, name


def test_any_record_of_the_stream_wins_over_rows_of_files_with_the_same_order(
    bed: BackfillBed,
) -> None:
    bed.live({"id": 1, "version": 3, "city": "live", "weight": 9})
    bed.backfill().run()
    bed.live({"id": 2, "version": 7, "city": "live", "weight": 9})

    assert bed.rows("id", "city") == [(1, "live"), (2, "live")]


def test_a_declared_order_decides_before_arrival(bed: BackfillBed) -> None:
    bed.live({"id": 1, "version": 2, "city": "older", "weight": 9})
    bed.backfill().run()

    assert bed.rows("id", "city") == [(1, "Linz"), (2, None)]


def test_of_equal_rows_in_files_the_last_one_wins(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)
    bed.write_json("b.jsonl", [{"id": 1, "version": 1, "city": "third"}])
    bed.write_json(
        "a.jsonl",
        [{"id": 1, "version": 1, "city": "first"}, {"id": 1, "version": 1, "city": "second"}],
    )

    bed.backfill(rows=1).run()

    (row,) = bed.table.scan().to_arrow().to_pylist()
    assert row["city"] == "third"
    assert (row["s__offset"] >> 48, row["s__offset"] & (1 << 48) - 1, row["s__partition"]) == (
        -32_768,
        1,
        0,
    )


def test_a_later_backfill_corrects_an_earlier_one(bed: BackfillBed) -> None:
    bed.backfill().run()
    (bed.files / "part-1.jsonl").unlink()
    bed.write_json("part-2.jsonl", [{"id": 1, "version": 3, "city": "Wels", "weight": "1"}])

    bed.backfill("correction").run()

    assert bed.rows("id", "city") == [(1, "Wels"), (2, None)]


def test_a_backfill_that_is_killed_anywhere_continues(tmp_path: Path) -> None:
    calls = 0
    while True:
        bed = BackfillBed(tmp_path / str(calls))
        for number in range(3):
            bed.write_json(f"{number}.jsonl", [{"id": i, "version": number} for i in range(4)])
        try:
            with pytest.MonkeyPatch.context() as patch:
                kill_at_call(patch, calls)
                bed.backfill(rows=1).run()
        except KeyboardInterrupt:
            position = bed.backfill(rows=1).run()
        else:
            break
        assert bed.rows("id", "version") == [(i, 2) for i in range(4)]
        assert position.account.records == 12
        calls += 1
    assert calls > 6


def test_another_process_of_the_same_backfill_fences_the_first(bed: BackfillBed) -> None:
    def overtaken(chunk: ReadChunk) -> ReadChunk:
        bed.backfill().run()
        return chunk

    with pytest.raises(StreamFenced):
        bed.backfill(source_of=changed(bed, overtaken)).run()

    assert bed.rows(*COLUMNS) == ROWS_OF_TABLE


def test_a_deleted_stream_fences_its_backfill(bed: BackfillBed) -> None:
    def deleted(chunks: Iterator[ReadChunk]) -> Iterator[ReadChunk]:
        bed.delete_stream()
        yield from chunks

    with pytest.raises(StreamFenced):
        bed.backfill(source_of=bed.through(deleted)).run()

    assert bed.rows(*COLUMNS) == []


def test_a_backfill_that_is_claimed_after_its_stream_was_deleted_writes_nothing(
    bed: BackfillBed,
) -> None:
    opened = bed.source_of()

    def opened_late(target: Target) -> Source:
        bed.delete_stream()
        return opened(target)

    with pytest.raises(StreamNotFound, match="has no stream s"):
        bed.backfill(source_of=opened_late).run()

    assert bed.rows(*COLUMNS) == []


def test_files_that_have_changed_are_refused(bed: BackfillBed) -> None:
    bed.backfill().run()
    bed.write_json("part-2.jsonl", ROWS)

    with pytest.raises(InvalidRequest, match="cannot continue") as caught:
        bed.backfill().run()

    assert "1 json file" in caught.value.problems[0].message
    assert "2 json files" in caught.value.problems[0].message


def test_refused_rows_are_kept_with_their_place_and_reason(bed: BackfillBed) -> None:
    (bed.files / "part-2.jsonl").write_bytes(
        b'{"id": 3, "version": 1}\n\n{"id": "x", "version": 1}\n{"id": 4\n\xff\n{"version": 1}'
    )

    position = bed.backfill().run()

    rejects = [json.loads(line) for line in bed.rejects.read_text().splitlines()]
    assert [(one["row"], one["reason"]) for one in rejects] == [
        (2, "wrong_type"),
        (3, "malformed"),
        (4, "malformed"),
        (5, "missing_key"),
    ]
    assert rejects[0]["record"] == '{"id": "x", "version": 1}\n'
    assert rejects[2]["record_base64"] == "/wo="
    assert rejects[0]["file"] == str(bed.files / "part-2.jsonl")
    assert bed.rows("id") == [(1,), (2,), (3,)]
    account = position.account
    assert (account.records, account.dead_lettered, account.ignored) == (9, 4, 1)


def test_refused_rows_with_nan_are_lines_of_strict_json(tmp_path: Path) -> None:
    bed = BackfillBed(tmp_path)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    rows = {"id": [1], "version": [1], "weight": [math.nan]}
    pq.write_table(pa.table(rows), bed.files / "a.parquet")

    bed.backfill().run()

    line = json.loads(bed.rejects.read_text(), parse_constant=refuse)
    assert line["record"]["weight"] == "NaN"


def test_more_refused_rows_than_allowed_stop_the_backfill(bed: BackfillBed) -> None:
    (bed.files / "part-2.jsonl").write_text("{}\n{}\n")

    with pytest.raises(LimitExceeded, match="refused records: 2, allowed: 1"):
        bed.backfill(rejects_max=1).run()

    assert bed.rows("id") == []
    assert len(bed.rejects.read_text().splitlines()) == 2


def test_rows_that_only_the_table_refuses_are_kept_as_well(tmp_path: Path) -> None:
    # A year that Arrow holds and the directory of a partition does not.
    spec = PARCELS | {
        "columns": [*PARCELS["columns"], {"name": "sums", "type": "TINYINT"}],
        "merge_engine": "aggregation",
        "sequence_groups": [],
        "default_aggregate": "max",
    }
    columns = [
        {**column, "aggregate": {"function": "sum", "on_overflow": "fail"}}
        if column["name"] == "sums"
        else column
        for column in spec["columns"]
    ]
    bed = BackfillBed(tmp_path, spec=spec | {"columns": columns})
    bed.write_json("a.jsonl", [{"id": 1, "sums": 100}, {"id": 1, "sums": 100}, {"id": 2}])

    position = bed.backfill().run()

    (reject,) = map(json.loads, bed.rejects.read_text().splitlines())
    assert (reject["row"], reject["reason"]) == (1, "refused_row")
    assert bed.rows("id", "sums") == [(1, 100), (2, None)]
    assert position.account.dead_lettered == 1


def kill_at_call(patch: pytest.MonkeyPatch, number: int) -> None:
    """Interrupt the process before or after the commit of that number: even ones before, odd ones after."""
    calls = iter(range(1_000))
    commit = BackfillCommits._commit

    def killed(self: BackfillCommits, work: Any) -> None:
        if next(calls) == number:
            raise KeyboardInterrupt
        commit(self, work)
        if next(calls) == number:
            raise KeyboardInterrupt

    patch.setattr(BackfillCommits, "_commit", killed)


def changed(
    bed: BackfillBed, change: Callable[[ReadChunk], ReadChunk]
) -> Callable[[Target], Source]:
    """Return what opens a source whose chunks pass through a function."""
    return bed.through(lambda chunks: map(change, chunks))


def write_parquet(path: Path) -> None:
    rows = [{**row, "weight": Decimal(row["weight"]), "extra": datetime.now(UTC)} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["weight", "version", "extra", "city", "id"])
        writer.writeheader()
        writer.writerows([{**row, "extra": 'a "quoted"\nbreak'} for row in ROWS])


def write_avro(path: Path) -> None:
    schema = {
        "type": "record",
        "name": "parcel",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "version", "type": "int"},
            {"name": "city", "type": ["null", "string"]},
            {
                "name": "weight",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
        ],
    }
    rows = [{**row, "weight": Decimal(row["weight"])} for row in ROWS]
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, sync_interval=1)


def test_an_empty_table_is_filled_in_bulk_by_one_commit(bed: BackfillBed) -> None:
    bed.backfill(is_bulk=True, rows=1).run()
    again = bed.backfill(is_bulk=True).run()
    bed.live({"id": 2, "version": 7, "city": "live", "weight": 9})

    assert bed.rows("id", "city") == [(1, "Linz"), (2, "live")]
    assert again.account.records == 3
    assert (again.account.accepted, again.account.folded) == (2, 1)


def test_only_an_empty_table_is_filled_in_bulk(bed: BackfillBed) -> None:
    bed.live({"id": 1, "version": 1, "city": "live", "weight": 9})

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill(is_bulk=True).run()

    assert caught.value.problems[0].field == "--bulk"


def test_a_change_of_the_tables_schema_meanwhile_is_followed(bed: BackfillBed) -> None:
    changes = iter([AddColumn(path=("note",), type=parse_type("STRING"))])

    def altered(chunk: ReadChunk) -> ReadChunk:
        for change in changes:
            bed.table.alter(change)
        return chunk

    position = bed.backfill(source_of=changed(bed, altered)).run()

    assert bed.rows(*COLUMNS) == ROWS_OF_TABLE
    assert position.account.records == 3
