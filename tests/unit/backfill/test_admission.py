"""A backfill is admitted where the table then has the rows of the stream alone, and refused in words elsewhere."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.backfill.admission import TableNow, check_admission
from braid.backfill.read_chunk import ReadChunk
from braid.lake import BatchAccount, InvalidRequest, StreamBatch
from braid.records.record_columns import OFFSET
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, TableSpec
from tests.unit.backfill.bed import PARCELS, BackfillBed
from tests.unit.backfill.test_backfill import changed

BARE: dict[str, Any] = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "n", "type": "INT"}],
    "primary_key": ["id"],
}
DEDUPLICATE = BARE | {"merge_engine": "deduplicate"}
BY_SEQUENCE_FIELD = DEDUPLICATE | {"options": {"sequence.field": "n"}}
FIRST_ROW = BARE | {"merge_engine": "first-row"}
SUMS = BARE | {"merge_engine": "aggregation", "default_aggregate": "sum"}
MAXIMA = BARE | {"merge_engine": "aggregation", "default_aggregate": "max"}
ROWS = [{"id": 1, "n": 5}, {"id": 1, "n": 3}, {"id": 2, "n": 1}]


@pytest.mark.parametrize("spec", [DEDUPLICATE, BY_SEQUENCE_FIELD, FIRST_ROW])
def test_a_table_ordered_by_writing_is_refused_once_the_stream_has_read(
    tmp_path: Path, spec: dict[str, Any]
) -> None:
    bed = given(tmp_path, spec)
    bed.live({"id": 9, "n": 9})

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill().run()

    assert "this table orders rows by the time of writing" in caught.value.problems[0].message
    newest = bed.table.latest_snapshot()
    assert newest is not None
    assert newest.total_record_count == 1


def test_a_table_ordered_by_writing_is_refused_when_it_has_rows_of_others(tmp_path: Path) -> None:
    bed = given(tmp_path, DEDUPLICATE)
    bed.table.write_and_commit(pa.table({"id": [9], "n": pa.array([9], pa.int32())}))

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill().run()

    assert "the table has rows already" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("spec", "rows"), [(DEDUPLICATE, [(1, 3), (2, 1)]), (FIRST_ROW, [(1, 5), (2, 1)])]
)
def test_an_empty_table_ordered_by_writing_is_filled_before_the_stream_starts(
    tmp_path: Path, spec: dict[str, Any], rows: list[tuple[int, int]]
) -> None:
    bed = given(tmp_path, spec)

    with pytest.raises(KeyboardInterrupt):
        bed.backfill(source_of=changed(bed, killed_at_file(2)), rows=1).run()
    bed.backfill(rows=1).run()
    bed.live({"id": 3, "n": 9})
    bed.table.compact(full=True)

    assert bed.rows("id", "n") == [*rows, (3, 9)]


def test_a_stream_that_starts_while_such_a_table_is_filled_stops_the_backfill(
    tmp_path: Path,
) -> None:
    bed = given(tmp_path, DEDUPLICATE)

    def started(chunk: ReadChunk) -> ReadChunk:
        if not bed.rows("id"):
            bed.live({"id": 1, "n": 9})
        return chunk

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill(source_of=changed(bed, started), rows=1).run()

    assert "was started while s/backfill/history wrote" in caught.value.problems[0].message
    assert bed.rows("id", "n") == [(1, 9)]


def test_a_running_stream_that_reads_its_first_record_stops_such_a_backfill(tmp_path: Path) -> None:
    bed = given(tmp_path, DEDUPLICATE)
    position = bed.claim()

    def read(chunk: ReadChunk) -> ReadChunk:
        if not bed.rows("id"):
            bed.live({"id": 1, "n": 9}, position=position)
        return chunk

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill(source_of=changed(bed, read), rows=1).run()

    assert "has read a record while s/backfill/history wrote" in caught.value.problems[0].message
    assert bed.rows("id", "n") == [(1, 9)]


def test_sums_are_backfilled_until_the_stream_has_read(tmp_path: Path) -> None:
    bed = given(tmp_path, SUMS)

    with pytest.raises(KeyboardInterrupt):
        bed.backfill(source_of=changed(bed, killed_at_file(2)), rows=1).run()
    bed.live({"id": 1, "n": 100})
    bed.backfill(rows=1).run()

    assert bed.rows("id", "n") == [(1, 108), (2, 1)]
    bed.write_json("d.jsonl", ROWS)
    with pytest.raises(InvalidRequest) as caught:
        bed.backfill("another").run()
    assert "n would count records twice" in caught.value.problems[0].message


def test_the_same_files_count_once_under_every_name(tmp_path: Path) -> None:
    bed = given(tmp_path, SUMS)
    bed.backfill().run()

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill("another").run()

    assert "the backfill history has read the same files" in caught.value.problems[0].message
    assert bed.rows("id", "n") == [(1, 8), (2, 1)]


def test_sums_refuse_the_streams_own_topic(tmp_path: Path) -> None:
    bed = given(tmp_path, SUMS)

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill(own_topic=True).run()

    assert caught.value.problems[0].field == "--topic"


def test_functions_without_order_are_backfilled_at_any_time(tmp_path: Path) -> None:
    bed = given(tmp_path, MAXIMA)
    bed.live({"id": 1, "n": 4}, {"id": 2, "n": 4})

    bed.backfill().run()
    bed.backfill("another").run()

    assert bed.rows("id", "n") == [(1, 5), (2, 4)]


def test_a_group_whose_deletes_remove_rows_is_refused_once_the_stream_has_read(
    tmp_path: Path,
) -> None:
    spec = PARCELS | {
        "sequence_groups": [{"name": "s", "columns": ["version", "city", "weight"]}],
        "deletes": "remove_row",
    }
    stream = {"on_tombstone": "remove_row", "columns": [{"column": "id", "source": "key"}]}
    columns = [{"column": name} for name in ("version", "city", "weight")]
    bed = BackfillBed(
        tmp_path, spec=spec, stream=stream | {"columns": [*stream["columns"], *columns]}
    )
    bed.write_json("a.jsonl", [{"id": 1}])
    epoch = bed.claim().epoch
    bed.backfill().run()
    assert bed.rows("id") == [(1,)]
    bed.table.committer().commit_stream_batch(
        [],
        StreamBatch(
            stream="s",
            epoch=epoch,
            batch_id=0,
            topic="parcels",
            topic_id="t",
            start={0: 0},
            end={0: 1},
            account=BatchAccount(ignored=1),
        ),
    )

    with pytest.raises(InvalidRequest) as caught:
        bed.backfill("another").run()

    assert "the stream has read records already" in caught.value.problems[0].message


def killed_at_file(number: int) -> Any:
    """Return a change of chunks that ends the process before the rows of a file are written."""

    def change(chunk: ReadChunk) -> ReadChunk:
        if chunk.found is not None and chunk.found.records.column(OFFSET)[0].as_py() == number:
            raise KeyboardInterrupt
        return chunk

    return change


def given(folder: Path, spec: dict[str, Any]) -> BackfillBed:
    """Return a table with files of one row each batch."""
    bed = BackfillBed(folder, spec=spec)
    bed.write_json("a.jsonl", ROWS[:1])
    bed.write_json("b.jsonl", ROWS[1:2])
    bed.write_json("c.jsonl", ROWS[2:])
    return bed


def test_captured_changes_are_not_filled_from_rows() -> None:
    group = {"name": "s", "columns": ["n"]}
    table = TableSpec.model_validate(BARE | {"sequence_groups": [group], "deletes": "ignore"})
    definition = StreamDefinition.model_validate({"topic": "t", "format": "canal"})
    stream = complete_stream(table, definition, name="s")
    now = TableNow(position=None, has_rows=False, is_begun=False)

    with pytest.raises(InvalidRequest) as caught:
        check_admission(table, stream, now, own_topic=False)

    (problem,) = caught.value.problems
    assert problem.message.startswith("a stream of captured changes cannot be backfilled")
