"""Nothing that happens to a checkpoint or to an owner loses or repeats a record.

The witness is the number of rows in all files, superseded ones included: nothing compacts here,
so a record that was committed twice shows even where its row looks right.
"""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from braid.lake import BatchAccount, CommitResult, OffsetMismatch, StreamFenced, TableCommitter
from braid.lake.files.data_file_path import table_paths
from tests.integration.ingest_bed import IngestBed, left
from tests.support.foreign_engine import commit_foreign

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def _check_all_there(bed: IngestBed, *, records: int) -> None:
    """Check that keys 0 to `records` - 1 were each written by exactly one record."""
    assert [(row["id"], row["a"]) for row in bed.rows("a")] == [
        (key, f"text {key}") for key in range(records)
    ]
    assert bed.file_rows() == records
    assert bed.position("left").account == BatchAccount(accepted=records)
    assert bed.batch_accounts("left") == BatchAccount(accepted=records)


def _produce(bed: IngestBed, topic: str, *, first: int, count: int) -> None:
    bed.produce(topic, [left(key, 1, f"text {key}") for key in range(first, first + count)])


def _forget_batches(log: Path, *, above: int) -> None:
    for path in log.iterdir():
        number = path.name.strip(".").removesuffix(".crc")
        if number.isdigit() and int(number) > above:
            path.unlink()


def test_a_deleted_checkpoint_changes_nothing(bed: IngestBed, tmp_path: Path) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    checkpoint = tmp_path / "checkpoint"
    _produce(bed, topic, first=0, count=20)
    bed.ingest_available(plan, checkpoint=checkpoint)
    shutil.rmtree(checkpoint)
    _produce(bed, topic, first=20, count=20)
    bed.ingest_available(plan, checkpoint=checkpoint)

    _check_all_there(bed, records=40)


def test_batches_that_spark_replays_are_passed_over(bed: IngestBed, tmp_path: Path) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)
    checkpoint, older = tmp_path / "checkpoint", tmp_path / "older"
    with bed.running(plan, checkpoint=checkpoint) as ingest:
        for first in (0, 10, 20):
            _produce(bed, topic, first=first, count=10)
            ingest.process_available()
    shutil.copytree(checkpoint, older)
    # As if it had been saved after batch 1 was planned and before Spark marked it as done.
    _forget_batches(older / "offsets", above=1)
    _forget_batches(older / "commits", above=0)

    with bed.running(plan, checkpoint=older) as ingest:
        ingest.process_available()
        progress = ingest.progress
        _produce(bed, topic, first=30, count=10)
        ingest.process_available()

    assert progress is not None
    assert (progress.replays, progress.commits) == (2, 0)
    _check_all_there(bed, records=40)


def test_a_replay_that_reaches_past_the_table_stops_and_a_fresh_start_continues(
    bed: IngestBed, tmp_path: Path
) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)
    checkpoint, older = tmp_path / "checkpoint", tmp_path / "older"
    _produce(bed, topic, first=0, count=10)
    bed.ingest_available(plan, checkpoint=checkpoint)
    shutil.copytree(checkpoint, older)
    _produce(bed, topic, first=10, count=10)
    bed.ingest_available(plan, checkpoint=checkpoint)
    _produce(bed, topic, first=20, count=10)

    with (
        bed.running(plan, checkpoint=older) as ingest,
        pytest.raises(OffsetMismatch, match="partition 0: 10, expected 20"),
    ):
        ingest.process_available()
    bed.ingest_available(plan)

    _check_all_there(bed, records=30)


def test_of_two_owners_the_older_is_fenced(bed: IngestBed) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    with bed.running(plan) as older:
        _produce(bed, topic, first=0, count=10)
        older.process_available()
        with bed.running(plan) as newer:
            _produce(bed, topic, first=10, count=10)
            newer.process_available()
            with pytest.raises(StreamFenced, match="the table has epoch 2, expected 1"):
                older.process_available()
            _produce(bed, topic, first=20, count=10)
            newer.process_available()

    assert isinstance(older.failure, StreamFenced)
    _check_all_there(bed, records=30)


def test_snapshots_of_another_engine_do_not_hide_the_position(bed: IngestBed) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    table = bed.table()
    paths = table_paths(table.path, table.schema)
    _produce(bed, topic, first=0, count=10)
    with bed.running(plan) as ingest:
        ingest.process_available()
        commit_foreign(table.file_io, paths)
        _produce(bed, topic, first=10, count=10)
        ingest.process_available()
        commit_foreign(table.file_io, paths)
    commit_foreign(table.file_io, paths)
    _produce(bed, topic, first=20, count=10)
    bed.ingest_available(plan)

    _check_all_there(bed, records=30)


def _check_buckets(bed: IngestBed, buckets: int) -> None:
    table = bed.table()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert {entry.total_buckets for entry in table.live_files(snapshot)} == {buckets}


def test_a_batch_that_a_rescale_overtakes_is_routed_again_and_committed_once(
    bed: IngestBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    _produce(bed, topic, first=0, count=30)
    bed.ingest_available(plan)
    commit = TableCommitter.commit_stream_batch
    attempts: list[int] = []

    def overtaken(committer: TableCommitter, *args: Any, **given: Any) -> CommitResult:
        attempts.append(bed.table().schema.table_options.bucket)
        if len(attempts) == 1:
            # What the batch has written is for the buckets of before.
            bed.table().rescale(7)
        return commit(committer, *args, **given)

    monkeypatch.setattr(TableCommitter, "commit_stream_batch", overtaken)
    _produce(bed, topic, first=30, count=30)
    bed.ingest_available(plan)

    assert attempts[1:] == [7]
    _check_buckets(bed, 7)
    _check_all_there(bed, records=60)


def test_rescales_of_the_table_beside_a_stream_lose_and_repeat_nothing(bed: IngestBed) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    is_over = threading.Event()
    fed = [0]

    def feed() -> None:
        while not is_over.is_set():
            _produce(bed, topic, first=fed[0], count=10)
            fed[0] += 10
            is_over.wait(0.1)

    _produce(bed, topic, first=0, count=10)
    fed[0] = 10
    feeding = threading.Thread(target=feed)
    with bed.running(plan) as ingest:
        ingest.process_available()
        feeding.start()
        try:
            for buckets in (7, 2, 5, 3, 4, 1, 6):
                assert bed.table().rescale(buckets).snapshot_id
                is_over.wait(1)
        finally:
            is_over.set()
            feeding.join()
        ingest.process_available()
        progress = ingest.progress

    assert progress is not None
    assert progress.commits >= 3
    _check_buckets(bed, 6)
    _check_all_there(bed, records=fed[0])
