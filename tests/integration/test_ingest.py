"""Records of a topic become rows of a table, once, and are all accounted for."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka import KafkaProducer, TopicPartition
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.lake import (
    BatchAccount,
    InvalidRequest,
    MoveCause,
    OffsetMismatch,
    repeated_ranges,
    skipped_ranges,
    stored_offset,
)
from braid.schemas import TableSpec
from tests.integration.ingest_bed import IngestBed, left

pytestmark = [pytest.mark.integration, pytest.mark.spark]


def test_two_streams_fill_their_columns_of_one_row(bed: IngestBed) -> None:
    lefts, rights = bed.topic("left"), bed.topic("right", partitions=1)
    bed.produce(lefts, [left(1, 2, "new"), left(2, 1, "two"), left(1, 1, "old")])
    bed.produce(rights, [{"id": 1, "b": 1.5}, {"id": 3, "b": 3.5}, {"id": 1, "b": 2.5}])

    with (
        bed.running(bed.plan("left", topic=lefts)) as one,
        bed.running(bed.plan("right", topic=rights)) as other,
    ):
        one.process_available()
        other.process_available()

    assert bed.rows("a", "a_version", "b", "right__partition", "right__offset") == [
        {"id": 1, "a": "new", "a_version": 2, "b": 2.5, "right__partition": 0, "right__offset": 2},
        {
            "id": 2,
            "a": "two",
            "a_version": 1,
            "b": None,
            "right__partition": None,
            "right__offset": None,
        },
        {
            "id": 3,
            "a": None,
            "a_version": None,
            "b": 3.5,
            "right__partition": 0,
            "right__offset": 1,
        },
    ]
    assert bed.position("left").account == BatchAccount(accepted=2, folded=1)
    assert bed.position("right").offsets == {0: 3}


def test_tracking_columns_have_when_and_how_a_stream_touched_a_row(bed: IngestBed) -> None:
    topic = bed.topic("left")
    bed.produce(topic, [left(1, 1, "x")])
    (record,) = bed.records(topic)

    bed.ingest_available(bed.plan("left", topic=topic))

    at = dt.datetime.fromtimestamp(record.timestamp / 1_000, tz=dt.UTC)
    (row,) = bed.rows("left__at", "left__op")
    assert (row["left__at"], row["left__op"]) == (at, "upsert")


def test_a_restart_continues_at_the_offsets_of_the_table(bed: IngestBed) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(key, 1, "first") for key in range(10)])
    bed.ingest_available(plan)
    bed.produce(topic, [left(key, 2, "second") for key in range(5)])
    bed.ingest_available(plan)

    assert [row["a"] for row in bed.rows("a")] == ["second"] * 5 + ["first"] * 5
    assert bed.position("left").epoch == 2
    assert bed.position("left").account.accepted == bed.file_rows() == 15
    assert not list((bed.directory / "work").rglob("offsets"))
    commits = bed.metrics.registry.get_sample_value("braid_commit_attempts_count")
    stages = {
        stage: bed.metrics.registry.get_sample_value(
            "braid_batch_stage_duration_seconds_count", {"stage": stage}
        )
        for stage in ("total", "read", "write", "commit")
    }
    assert commits is not None
    assert commits >= 2
    assert stages == dict.fromkeys(stages, commits)


def test_a_large_micro_batch_is_written_by_several_tasks_in_the_order_of_arrival(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    """Only arrival decides in a table without any ordering; each bucket gets one file."""
    spec = TableSpec.model_validate(
        {
            "columns": [{"name": "id", "type": "INT"}, {"name": "version", "type": "INT"}],
            "primary_key": ["id"],
            "buckets": 4,
            "merge_engine": "deduplicate",
        }
    )
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)
    topic = bed.topic("all")
    messages = [{"id": key, "version": version} for version in (1, 2) for key in range(60_000)]
    bed.produce(topic, [*messages, b"refused"])

    bed.ingest_available(bed.plan("all", topic=topic, partitioned_by_key=True))

    table = bed.table()
    latest = table.latest_snapshot()
    assert latest is not None
    assert bed.rows("version") == [{"id": key, "version": 2} for key in range(60_000)]
    assert len(table.live_files(latest)) == 4
    assert bed.position("all").account == BatchAccount(
        accepted=60_000, folded=60_000, dead_lettered=1
    )


def test_a_large_micro_batch_of_a_sequence_group_keeps_its_headers(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    """Of records with headers, with others and with none, in one micro-batch of several tasks."""
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "INT"},
                {"name": "version", "type": "INT"},
                {"name": "origin", "type": "STRING"},
            ],
            "primary_key": ["id"],
            "buckets": 4,
            "sequence_groups": [{"name": "all", "ordering": ["version"], "columns": ["origin"]}],
        }
    )
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)
    topic = bed.topic("all")
    messages = [{"id": key, "version": version} for version in (2, 1) for key in range(60_000)]
    headers = [[], [("origin", b"here")], [("other", b"x")]]
    bed.produce(topic, messages, headers=[headers[one["id"] % 3] for one in messages])

    columns = [{"column": "origin", "source": "header", "path": "origin"}, {"column": "id"}]
    bed.ingest_available(bed.plan("all", topic=topic, columns=[*columns, {"column": "version"}]))

    origins = [None, "here", None]
    assert bed.rows("version", "origin") == [
        {"id": key, "version": 2, "origin": origins[key % 3]} for key in range(60_000)
    ]
    assert bed.position("all").account == BatchAccount(accepted=60_000, folded=60_000)


def test_partitions_added_to_a_topic_are_read_from_their_start(
    bed: IngestBed, kafka: KafkaBroker
) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(1, 1, "x")])
    bed.ingest_available(plan)
    admin = kafka.admin()
    admin.create_partitions({topic: 2})
    admin.close()
    bed.produce(topic, [left(2, 1, "y")], partition=1)
    bed.ingest_available(plan)

    assert [row["a"] for row in bed.rows("a")] == ["x", "y"]
    assert bed.position("left").offsets == {0: 1, 1: 1}


def test_added_partitions_of_a_stream_in_the_order_of_arrival_are_read_after_the_others(
    bed: IngestBed, kafka: KafkaBroker
) -> None:
    topic = bed.topic("right")
    bed.produce(topic, [{"id": 1, "b": value} for value in (1.0, 2.0, 3.0)], partition=1)
    with pytest.raises(InvalidRequest, match="has 2 partitions"):
        bed.ingest_available(bed.plan("right", topic=topic))
    vouched = bed.plan("right", topic=topic, partitioned_by_key=True)
    bed.ingest_available(vouched)
    admin = kafka.admin()
    admin.create_partitions({topic: 3})
    admin.close()
    bed.produce(topic, [{"id": 1, "b": 9.0}], partition=2)
    # A producer that has not heard of the new partition yet.
    bed.produce(topic, [{"id": 1, "b": 4.0}], partition=1)

    with pytest.raises(InvalidRequest, match="had 2 partitions and has 3"):
        bed.ingest_available(vouched)
    waits = bed.plan(
        "right",
        topic=topic,
        partitioned_by_key=True,
        on_partitions_added="continue",
        partitions_settle="0 s",
    )
    with bed.running(waits) as ingest:
        while not ingest.is_finished:
            ingest.process_available()
            ingest.finish_step()

    assert [row["b"] for row in bed.rows("b")] == [4.0]
    assert bed.position("right").offsets == {0: 0, 1: 4}
    bed.ingest_available(waits)
    assert bed.rows("b", "right__offset", "right__partition") == [
        {"id": 1, "b": 9.0, "right__offset": stored_offset(1, 0), "right__partition": 2}
    ]
    assert bed.position("right").offsets == {0: 0, 1: 4, 2: 1}
    assert bed.position("right").account == BatchAccount(accepted=3, folded=2)
    bed.ingest_available(waits)
    assert bed.position("right").generation == 1


def test_a_stream_that_takes_a_group_over_continues_above_its_rows(bed: IngestBed) -> None:
    """Its offsets begin anew, far below those of the topic that fed the group before."""
    former, topic = bed.topic("former", partitions=1), bed.topic("new", partitions=1)
    bed.produce(former, [{"id": 1, "b": float(value)} for value in range(5)])
    bed.ingest_available(bed.plan("right", topic=former))
    bed.produce(topic, [{"id": 1, "b": 9.0}])

    bed.ingest_available(bed.plan("again", topic=topic, sequence_group="right"))

    assert bed.rows("b") == [{"id": 1, "b": 9.0}]
    bed.table().compact(full=True)
    assert bed.rows("b") == [{"id": 1, "b": 9.0}]


def test_a_topic_that_was_made_again_is_refused(bed: IngestBed, kafka: KafkaBroker) -> None:
    topic = bed.topic("left")
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(1, 1, "x")])
    bed.ingest_available(plan)
    admin = kafka.admin()
    admin.delete_topics([topic])
    admin.close()
    bed.topic("left")
    ingest = bed.ingest(plan)

    with pytest.raises(OffsetMismatch, match="deleted and made again"):
        ingest.start()

    ingest.stop()
    assert bed.position("left").epoch == 1


def test_records_that_the_topic_has_lost_are_not_passed_over(
    bed: IngestBed, kafka: KafkaBroker
) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(1, 1, "x")])
    bed.ingest_available(plan)
    bed.produce(topic, [left(2, 1, "y"), left(3, 1, "z")])
    _delete_records(kafka, topic, before=2)
    ingest = bed.ingest(plan)

    with pytest.raises(
        InvalidRequest,
        match="the stream continues at offset 1, but the topic has offsets from 2 up to 3",
    ):
        ingest.start()

    ingest.stop()


def test_expired_records_are_skipped_and_told_where_declared(
    bed: IngestBed, kafka: KafkaBroker, caplog: pytest.LogCaptureFixture
) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic, on_offsets_expired="skip")
    bed.produce(topic, [left(1, 1, "x")])
    bed.ingest_available(plan)
    bed.produce(topic, [left(2, 1, "y"), left(3, 1, "z")])
    _delete_records(kafka, topic, before=2)

    bed.ingest_available(plan)

    position = bed.position("left")
    assert [row["id"] for row in bed.rows("a")] == [1, 3]
    assert (position.offsets, position.account.records) == ({0: 3}, 2)
    assert skipped_ranges(position.moves, 0, 3) == [(1, 2)]
    assert position.moves[0].cause is MoveCause.EXPIRED
    assert "expired records skipped stream=db.wide/left ranges={0: (1, 2)}" in caplog.text


def test_a_position_set_back_changes_no_row_and_one_set_forward_skips(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=2)
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(number % 7, number, f"v{number}") for number in range(40)])
    bed.ingest_available(plan)
    rows = bed.rows()
    committer = bed.table().committer()

    committer.move_stream(bed.position("left"), offsets={0: 5, 1: 12}, commit_user="test")
    bed.ingest_available(plan)

    again = bed.position("left")
    assert bed.rows() == rows
    assert again.offsets == {0: 20, 1: 20}
    assert repeated_ranges(again.moves, 0, 20) == [(5, 20)]
    assert again.account.records == 40 + 15 + 8
    assert again.account == bed.batch_accounts("left")

    bed.produce(topic, [left(100 + number, 1, "new") for number in range(6)])
    committer.move_stream(again, offsets={0: 22}, commit_user="test")
    bed.ingest_available(plan)

    after = bed.position("left")
    assert after.offsets == {0: 23, 1: 23}
    added = {row["id"] for row in bed.rows()} - {row["id"] for row in rows}
    assert added == {101, 103, 104, 105}
    assert skipped_ranges(after.moves, 0, 23) == [(20, 22)]
    assert after.account.records == again.account.records + 4
    assert after.account == bed.batch_accounts("left")


def test_a_missing_topic_is_named(bed: IngestBed) -> None:
    ingest = bed.ingest(bed.plan("left", topic="no-such-topic"))

    with pytest.raises(InvalidRequest, match="no-such-topic"):
        ingest.start()

    ingest.stop()


def test_a_stream_may_start_at_the_end(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    bed.produce(topic, [left(1, 1, "before")])
    with bed.running(bed.plan("left", topic=topic, starting_offsets="latest")) as ingest:
        bed.produce(topic, [left(2, 1, "after")])
        ingest.process_available()

    assert [row["a"] for row in bed.rows("a")] == ["after"]


def test_records_of_aborted_transactions_are_neither_read_nor_counted(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    producer = KafkaProducer(
        bootstrap_servers=bed.broker.bootstrap_servers, transactional_id=f"{topic}-writer"
    )
    producer.init_transactions()
    for key, is_kept in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.send(topic, value=b'{"id": %d, "a": "x", "a_version": 1}' % key)
        producer.flush()  # an abort drops what has not left the client
        if is_kept:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()

    bed.ingest_available(bed.plan("left", topic=topic))

    assert [row["id"] for row in bed.rows("a")] == [1, 3]
    assert bed.position("left").account.records == 2
    assert bed.position("left").offsets == {0: 6}


def test_a_record_without_ordering_clears_nothing_when_declared_so(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    bed.produce(topic, [left(1, 1, "kept"), left(1, None, "lost"), left(2, None, "lost")])

    bed.ingest_available(bed.plan("left", topic=topic, on_null_ordering="clear"))

    assert bed.rows("a", "left__op") == [
        {"id": 1, "a": "kept", "left__op": "upsert"},
        {"id": 2, "a": None, "left__op": None},
    ]


TYPES: dict[str, tuple[str, Any, Any]] = {
    "c_boolean": ("BOOLEAN", True, True),
    "c_tinyint": ("TINYINT", -128, -128),
    "c_smallint": ("SMALLINT", 32_767, 32_767),
    "c_int": ("INT", -2_147_483_648, -2_147_483_648),
    "c_bigint": ("BIGINT", 9_223_372_036_854_775_807, 9_223_372_036_854_775_807),
    "c_float": ("FLOAT", 0.5, 0.5),
    "c_double": ("DOUBLE", 1e300, 1e300),
    "c_decimal": ("DECIMAL(10, 2)", 12345678.905, Decimal("12345678.91")),
    "c_decimal_text": (
        "DECIMAL(38, 10)",
        "1234567890.0123456789",
        Decimal("1234567890.0123456789"),
    ),
    "c_char": ("CHAR(3)", "äöü", "äöü"),
    "c_varchar": ("VARCHAR(3)", "", ""),
    "c_string": ("STRING", {"any": [1, "value"]}, '{"any":[1,"value"]}'),
    "c_binary": ("BINARY(2)", "aGk=", b"hi"),
    "c_bytes": ("BYTES", "", b""),
    "c_date": ("DATE", "0001-01-01", dt.date(1, 1, 1)),
    "c_time": ("TIME(3)", "23:59:59.999", dt.time(23, 59, 59, 999_000)),
    "c_ts3": (
        "TIMESTAMP(3)",
        "1969-12-31T23:59:59.9999",
        dt.datetime.fromisoformat("1969-12-31T23:59:59.999"),
    ),
    "c_ts6": (
        "TIMESTAMP(6)",
        "2026-02-03T04:05:06.123456",
        dt.datetime.fromisoformat("2026-02-03T04:05:06.123456"),
    ),
    "c_ltz3": (
        "TIMESTAMP(3) WITH LOCAL TIME ZONE",
        "2026-02-03T04:05:06.789+02:00",
        dt.datetime(2026, 2, 3, 2, 5, 6, 789_000, tzinfo=dt.UTC),
    ),
    "c_null": ("INT", None, None),
    "c_array": ("ARRAY<INT>", [1, None, 3], [1, None, 3]),
}


def test_every_type_arrives_as_declared(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    names = [*TYPES, "c_ts9"]
    columns = [{"name": name, "type": sql} for name, (sql, _, _) in TYPES.items()]
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "STRING"},
                *columns,
                {"name": "c_ts9", "type": "TIMESTAMP(9)"},
            ],
            "primary_key": ["id"],
            "sequence_groups": [{"name": "all", "ordering": None, "columns": names}],
        }
    )
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)
    topic = bed.topic("types", partitions=1)
    message = {name: given for name, (_, given, _) in TYPES.items()}
    nanoseconds = "2026-02-03T04:05:06.123456789"
    bed.produce(topic, [{"id": "k", "at": {"exactly": nanoseconds}, **message}, {"id": "nulls"}])
    paths = [{"column": "id"}, *[{"column": name} for name in TYPES]]
    plan = bed.plan("all", topic=topic, columns=[*paths, {"column": "c_ts9", "path": "at.exactly"}])

    bed.ingest_available(plan)

    assert bed.position("all").account == BatchAccount(accepted=2), bed.records(
        plan.spec.dead_letter_topic
    )
    rows = bed.table().scan(columns=["id", *names]).to_arrow().sort_by("id")
    # Python has no type for nanoseconds.
    exact = rows.column("c_ts9").cast(pa.int64()).to_pylist()
    full, empty = rows.drop_columns(["c_ts9"]).to_pylist()
    assert full == {"id": "k", **{name: expected for name, (_, _, expected) in TYPES.items()}}
    assert exact == [1_770_091_506_123_456_789, None]
    assert set(empty.values()) == {"nulls", None}


def _delete_records(kafka: KafkaBroker, topic: str, *, before: int) -> None:
    admin = kafka.admin()
    try:
        admin.delete_records({TopicPartition(topic, 0): before})
    finally:
        admin.close()
