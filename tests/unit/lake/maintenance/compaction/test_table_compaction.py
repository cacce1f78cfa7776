"""`Table.compact`: files that change, files that stay, and tables that are refused."""

import pytest

from braid.lake import (
    CommitKind,
    CompactionResult,
    InvalidRequest,
    Machine,
    MemoryFileIO,
    SchemaMismatch,
    Table,
    UnsupportedFeature,
)
from braid.lake.commit.streams.stream_position import StreamPosition
from braid.lake.format.data_file import FileSource
from tests.support.committing import TOPIC, TOPIC_ID, stream_batch
from tests.unit.lake.maintenance.given_compactions import (
    files,
    given_table,
    levels,
    live,
    read,
    reopened,
    rows,
    stored_data_files,
    write,
)

BOTH = pytest.mark.parametrize("machine", Machine, ids=lambda machine: machine.name.lower())


def test_a_table_without_rows_is_left_alone() -> None:
    table = given_table()

    assert table.compact() == CompactionResult()
    assert table.latest_snapshot() is None


@BOTH
def test_overlapping_files_become_one_without_retracts(machine: Machine) -> None:
    table = given_table()
    write(table, (1, 10, "a"), (2, 20, "b"), (3, 30, "c"))
    write(table, (1, 11, "aa"), (3,), kinds="+U -D")
    before = read(table)

    result = table.compact(machine=machine)

    assert read(table) == before == [("x", 1, 11, "aa"), ("x", 2, 20, "b")]
    assert result == CompactionResult(
        snapshot_id=3, buckets=1, files_in=2, files_out=1, rows_in=5, rows_out=2
    )
    (file,) = files(table)
    assert (file.level, file.file_source, file.delete_row_count) == (5, FileSource.COMPACT, 0)
    assert (file.min_sequence_number, file.max_sequence_number) == (1, 3)


def test_the_snapshot_is_a_compaction_and_counts_rows() -> None:
    table = given_table()
    write(table, (1, 10), (2, 20))
    write(table, (1, 11))

    table.compact(commit_user="keeper")

    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.commit_kind is CommitKind.COMPACT
    assert snapshot.commit_user == "keeper"
    assert (snapshot.total_record_count, snapshot.delta_record_count) == (2, -1)


def test_every_earlier_snapshot_stays_readable() -> None:
    table = given_table()
    write(table, (1, 10))
    write(table, (1, 11))

    table.compact()

    assert [read(table, number) for number in (1, 2, 3)] == [
        [("x", 1, 10, None)],
        [("x", 1, 11, None)],
        [("x", 1, 11, None)],
    ]


def test_a_single_file_is_only_moved() -> None:
    table = given_table()
    write(table, (1, 10), (2, 20))
    (before,) = files(table)

    result = table.compact()

    (after,) = files(table)
    assert (after.file_name, after.level, after.file_source) == (
        before.file_name,
        5,
        FileSource.APPEND,
    )
    assert result == CompactionResult(
        snapshot_id=2, buckets=1, files_in=1, files_out=1, files_moved=1, rows_in=2, rows_out=2
    )


def test_compacting_again_does_nothing() -> None:
    table = given_table()
    write(table, (1, 10))
    write(table, (1, 11))
    table.compact()

    assert table.compact() == CompactionResult()
    assert [read(table, number) for number in (3,)] == [[("x", 1, 11, None)]]
    with pytest.raises(InvalidRequest):
        table.snapshot(4)


def test_a_bucket_of_nothing_but_retracts_becomes_empty() -> None:
    table = given_table()
    write(table, (1, 10), kinds="-D")

    result = table.compact()

    assert (result.files_in, result.files_out, result.rows_out) == (1, 0, 0)
    assert live(table) == []
    assert write(table, (1, 12)) == 3
    assert read(table) == [("x", 1, 12, None)]


def test_sequence_numbers_continue_above_those_of_dropped_retracts() -> None:
    table = given_table()
    write(table, (1, 10))
    write(table, (2, 20), kinds="-D")
    table.compact()

    assert table.committer().max_sequence_number() == 1
    write(table, (1, 11))
    assert max(file.max_sequence_number for file in files(table)) == 2


def test_new_files_are_merged_with_the_old_run() -> None:
    table = given_table()
    write(table, (1, 10), (2, 20))
    table.compact()
    write(table, (2, 21), (3, 30))

    result = table.compact()

    assert (result.rows_in, result.rows_out, levels(table)) == (4, 3, [5])
    assert read(table) == [("x", 1, 10, None), ("x", 2, 21, None), ("x", 3, 30, None)]


def test_every_bucket_of_every_partition_is_compacted_in_one_snapshot() -> None:
    table = given_table({"bucket": "3"}, partition=["p"])
    for number in range(2):
        for p in ("a", "b/c"):
            write(table, *((k, number) for k in range(20)), p=p)
    before = read(table)

    result = table.compact()

    assert (result.snapshot_id, result.buckets, result.files_in, result.files_out) == (5, 6, 12, 6)
    assert read(table) == before
    assert len({(entry.partition, entry.bucket) for entry in live(table)}) == 6
    assert {entry.total_buckets for entry in live(table)} == {3}


def test_output_rolls_at_the_target_size() -> None:
    table = given_table({"target-file-size": "1 kb"})
    for number in range(3):
        write(table, *((k, number, f"text {k * 7919}") for k in range(400)))
    before = read(table)

    result = table.compact()

    assert result.files_out > 2
    assert read(table) == before
    assert levels(table) == [5] * result.files_out
    assert sum(file.row_count for file in files(table)) == 400


def test_write_only_tables_are_compacted_when_asked() -> None:
    table = given_table({"write-only": "true"})
    write(table, (1, 10))
    write(table, (1, 11))

    assert table.compact().files_out == 1


def test_partial_updates_are_put_together() -> None:
    table = given_table({"merge-engine": "partial-update"})
    write(table, (1, 10))
    write(table, (1, None, "a"))
    write(table, (2, None, "b"))

    table.compact()

    assert read(table) == [("x", 1, 10, "a"), ("x", 2, None, "b")]
    write(table, (2, 20))
    assert read(table)[1] == ("x", 2, 20, "b")


def test_forced_rewriting_does_not_end_with_a_run_on_top() -> None:
    table = given_table({"compaction.force-rewrite-all-files": "true"})
    write(table, (1, 10))
    (first,) = files(table)

    assert table.compact().files_moved == 0
    (second,) = files(table)
    assert table.compact().snapshot_id == 3
    (third,) = files(table)
    assert len({first.file_name, second.file_name, third.file_name}) == 3


def test_another_process_sees_the_rollback_and_ours_continues() -> None:
    file_io = MemoryFileIO()
    table = given_table(file_io=file_io)
    write(table, (1, 10))
    write(table, (1, 11))

    reopened(file_io).compact()

    assert (levels(table), read(table)) == ([5], [("x", 1, 11, None)])


def test_streams_continue_where_they_were() -> None:
    """A stream that commits before and after a compaction neither repeats nor loses a batch."""
    table = given_table()
    committer = table.committer()
    committer.claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})
    ingest(table, (1, 10), start=0)
    ingest(table, (1, 11), start=1)
    before = positions(table)

    table.compact()

    assert positions(table) == before
    assert before["s"].offsets == {0: 2}
    assert ingest(table, (1, 99), start=1) == "replayed"
    assert ingest(table, (1, 12), start=2) == "committed"
    assert positions(table)["s"].offsets == {0: 3}
    assert positions(table)["s"].account.accepted == 3
    assert read(table) == [("x", 1, 12, None)]


def test_a_table_that_a_compaction_would_leave_wrong_is_refused() -> None:
    table = given_table({"chain-table.enabled": "true"})

    with pytest.raises(UnsupportedFeature) as caught:
        table.compact()

    assert [problem.field for problem in caught.value.problems] == ["chain-table.enabled"]


@pytest.mark.parametrize(
    "arguments", [{"machine": "fast"}, {"commit_user": 7}], ids=["machine", "commit_user"]
)
def test_arguments_of_the_wrong_kind_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(arguments))):
        given_table().compact(**arguments)  # type: ignore[arg-type]  # that is the point


def test_records_that_the_merge_refuses_leave_the_table_as_it_was() -> None:
    file_io = MemoryFileIO()
    table = given_table({"merge-engine": "partial-update"}, file_io=file_io)
    write(table, (1, 10))
    write(table, (1,), kinds="-D")
    before = stored_data_files(file_io)

    with pytest.raises(SchemaMismatch):
        table.compact()

    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.id == 2
    assert stored_data_files(file_io) == before


FIRST_ROW = {"merge-engine": "first-row"}


class TestFirstRow:
    def test_rows_are_seen_after_a_compaction_only(self) -> None:
        table = given_table(FIRST_ROW)
        write(table, (1, 10), (2, 20))
        hidden = read(table), table.get({"p": "x", "k": 1}), table.scan().count()

        table.compact()

        assert hidden == ([], None, 0)
        assert read(table) == [("x", 1, 10, None), ("x", 2, 20, None)]
        assert table.get({"p": "x", "k": 2}) == {"p": "x", "k": 2, "v": 20, "w": None}
        assert table.scan().count() == 2

    @BOTH
    def test_the_first_row_of_a_key_stays(self, machine: Machine) -> None:
        table = given_table(FIRST_ROW)
        write(table, (1, 10), (1, 11))
        write(table, (1, 12), (2, 20))
        table.compact(machine=machine)
        write(table, (2, 21), (3, 30))

        assert read(table) == [("x", 1, 10, None), ("x", 2, 20, None)]
        table.compact(machine=machine)
        assert read(table) == [("x", 1, 10, None), ("x", 2, 20, None), ("x", 3, 30, None)]

    def test_a_single_retract_is_not_stored_where_no_compaction_could_take_it(self) -> None:
        table = given_table(FIRST_ROW)

        with pytest.raises(SchemaMismatch, match=r"first-row .* accepts no retract"):
            write(table, (1, 10), (2, 20), kinds="+I -D")

        assert table.latest_snapshot() is None
        write(table, (1, 10), (2, 20))
        table.compact()
        assert read(table) == [("x", 1, 10, None), ("x", 2, 20, None)]

    def test_ignored_deletes_do_no_harm(self) -> None:
        table = given_table({**FIRST_ROW, "ignore-delete": "true"})
        write(table, (1, 10), (2, 20), kinds="+I -D")
        write(table, (1, 10), kinds="-D")

        table.compact()

        assert read(table) == [("x", 1, 10, None)]


def ingest(table: Table, *values: tuple[object, ...], start: int) -> str:
    """Commit rows as the stream's batch that begins at an offset; return the outcome."""
    writer = table.writer()
    writer.write(rows(*values))
    written = writer.prepare_commit()
    result = table.committer().commit_stream_batch(
        written.messages,
        stream_batch({0: start}, {0: start + len(values)}, batch_id=start),
        max_sequence_number=written.max_sequence_number,
    )
    return str(result.outcome)


def positions(table: Table) -> dict[str, StreamPosition]:
    """Return the stream positions that the newest snapshot itself carries."""
    return table.committer().stream_positions()


def test_the_compaction_snapshot_itself_carries_the_streams() -> None:
    """No search has to walk down past it."""
    table = given_table()
    table.committer().claim_stream("s", topic=TOPIC, topic_id=TOPIC_ID, initial_offsets={0: 0})
    ingest(table, (1, 10), start=0)
    ingest(table, (1, 11), start=1)
    carried = stream_properties(table)

    table.compact()

    assert stream_properties(table) == carried
    assert {"braid.streams", "braid.stream.s"} == set(carried)


def stream_properties(table: Table) -> dict[str, str]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return {
        key: value for key, value in snapshot.properties.items() if key.startswith("braid.stream")
    }
