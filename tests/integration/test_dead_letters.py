"""Records that a stream refuses are on the dead-letter topic with their reason, and the stream continues."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.serializer import SerializeWrapper
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.formats.dead_letter import DeadLetter, DeadLetterReason
from braid.lake import BatchAccount, LimitExceeded
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.replay.letter_pages import read_page
from braid.pipelines.replay.letter_topic import LetterTopic
from braid.pipelines.replay.replay_run import ReplayRun, ReplayTarget, judge_of
from braid.pipelines.settings import DeadLetterBudget
from braid.pipelines.sink.dead_letter_sender import DeadLetterSender
from braid.records.stream_plan import StreamPlan
from braid.schemas import LetterSelection, ReplayResult, TableSpec
from tests.integration.ingest_bed import IngestBed, left

pytestmark = [pytest.mark.integration, pytest.mark.spark]

MEGABYTE = 1 << 20


def _headers(record: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in record.headers}


def _reasons(records: list[Any]) -> list[str]:
    return [_headers(record)["braid.reason"] for record in records]


def test_refused_records_go_to_the_dead_letter_topic_and_the_stream_continues(
    bed: IngestBed,
) -> None:
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic, max_message_bytes=1_000)
    refused = {
        "malformed": b'{"id": 1, "a": ',
        "wrong_type": {"id": "one", "a": "x", "a_version": 1},
        "out_of_range": {"id": 1, "a": "x", "a_version": 1 << 31},
        "missing_key": {"a": "x", "a_version": 1},
        "null_ordering": left(1, None, "x"),
        "tombstone": None,
        "too_large": left(1, 1, "x" * 2_000),
    }
    bed.produce(topic, [left(1, 1, "good"), *refused.values(), {"id": None}, left(2, 1, "good")])

    with bed.running(plan) as ingest:
        ingest.process_available()
        # Key 1 had a dead letter; a later good record of the key writes its row.
        bed.produce(topic, [left(1, 2, "better"), left(3, 1, "good")])
        ingest.process_available()

    letters = bed.records(plan.spec.dead_letter_topic)
    rows = {row["id"]: row["a"] for row in bed.rows("a")}
    assert rows == {1: "better", 2: "good", 3: "good"}
    assert _reasons(letters) == [*refused, "missing_key"]
    assert [letter.value for letter in letters] == [
        record.value for record in bed.records(topic)[1:9]
    ]
    assert bed.position("left").account == BatchAccount(accepted=4, dead_lettered=8)
    assert ingest.progress is not None
    assert dict(ingest.progress.dead_letters) == dict.fromkeys(refused, 1) | {"missing_key": 2}


def test_a_record_that_the_table_refuses_is_a_dead_letter_once_and_the_stream_continues(
    kafka: KafkaBroker, session: SparkSession, tmp_path: Path
) -> None:
    """One has no row kind, one cannot be merged with an earlier one of its key."""
    total = {"function": "sum", "on_overflow": "fail"}
    spec = TableSpec.model_validate(
        {
            "columns": [
                {"name": "id", "type": "INT"},
                {"name": "n", "type": "BIGINT", "aggregate": total},
                {"name": "kind", "type": "STRING"},
            ],
            "primary_key": ["id"],
            "merge_engine": "aggregation",
            "deletes": "ignore",
            "unordered": "allowed",
            "options": {"rowkind.field": "kind"},
        }
    )
    bed = IngestBed(broker=kafka, session=session, directory=tmp_path, spec=spec)
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)

    def row(key: int, number: int, kind: str | None = "+I") -> dict[str, Any]:
        return {"id": key, "n": number, "kind": kind}

    bed.produce(
        topic, [row(1, 2**63 - 1), row(1, 1), row(2, 1, None), row(3, 1, "upsert"), row(4, 1)]
    )
    with bed.running(plan) as ingest:
        ingest.process_available()
        bed.produce(topic, [row(5, 1)])
        ingest.process_available()

    letters = bed.records(plan.spec.dead_letter_topic)
    assert sorted(zip(_reasons(letters), [letter.value for letter in letters], strict=True)) == [
        ("refused_row", json.dumps(row(1, 1)).encode()),
        ("row_kind", json.dumps(row(2, 1, None)).encode()),
        ("row_kind", json.dumps(row(3, 1, "upsert")).encode()),
    ]
    messages = {_headers(letter)["__connect.errors.exception.message"] for letter in letters}
    assert (
        "column kind holds the row kind: expected one of +I, -U, +U, -D, found null"
    ) in messages
    assert [found["id"] for found in bed.rows("n")] == [1, 4, 5]
    assert bed.position("left").account == BatchAccount(accepted=3, dead_lettered=3)


def test_timestamps_that_are_no_milliseconds_stop_no_stream(bed: IngestBed) -> None:
    """In nanoseconds they overflow in Spark's source, before there is a row; in microseconds later."""
    # Brokers before 4.0 accept such timestamps by default.
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    topic = bed.topic("left", configs=any_time)
    plan = bed.plan("left", topic=topic)
    producer = KafkaProducer(bootstrap_servers=bed.broker.bootstrap_servers)
    times = (None, 1_800_000_000_000_000_000, None, 1_800_000_000_000_000, None)
    for key, time in enumerate(times):
        producer.send(
            topic,
            value=json.dumps(left(key, 1, f"a{key}")).encode(),
            partition=0,
            timestamp_ms=time,
            headers=[("trace", b"1")],
        )
    producer.flush()
    producer.close()

    with bed.running(plan) as ingest:
        ingest.process_available()
        bed.produce(topic, [left(5, 1, "a5")], partition=1)
        ingest.process_available()

    # Letters without a key go to any partition of their topic.
    letters = sorted(
        bed.records(plan.spec.dead_letter_topic),
        key=lambda letter: _headers(letter)["__connect.errors.offset"],
    )
    assert [(letter.key, letter.value, letter.headers[0]) for letter in letters] == [
        (None, json.dumps(left(key, 1, f"a{key}")).encode(), ("trace", b"1")) for key in (1, 3)
    ]
    found = [_headers(letter) for letter in letters]
    assert [headers["__connect.errors.offset"] for headers in found] == ["1", "3"]
    assert {headers["braid.reason"] for headers in found} == {"refused_row"}
    assert "left__at" in found[0]["__connect.errors.exception.message"]
    assert sorted(row["a"] for row in bed.rows("a")) == ["a0", "a2", "a4", "a5"]
    assert bed.position("left").account == BatchAccount(accepted=4, dead_lettered=2)
    # Such a record is not the newest one: the lag would be 0 for as long as the query runs.
    progress = ingest.progress
    assert progress is not None
    assert progress.newest_ms is not None
    assert progress.newest_ms < 10_000_000_000_000


def test_a_dead_letter_names_its_record_as_kafka_connect_does(bed: IngestBed) -> None:
    topic = bed.topic("left")
    producer = KafkaProducer(bootstrap_servers=bed.broker.bootstrap_servers)
    for value in (b'{"id": 1, "a_version": 1}', b'{"id": 2.5}'):
        producer.send(topic, key=b"the key", value=value, headers=[("trace", b"1")], partition=1)
    producer.close()
    plan = bed.plan("left", topic=topic)

    bed.ingest_available(plan)

    (letter,) = bed.records(plan.spec.dead_letter_topic)
    record = bed.records(topic)[1]
    headers = _headers(letter)
    assert (letter.key, letter.value) == (b"the key", b'{"id": 2.5}')
    assert headers.pop("trace") == "1"
    message = headers.pop("__connect.errors.exception.message")
    assert message == "field id: found 2.5, expected BIGINT for column id"
    assert headers == {
        "__connect.errors.topic": topic,
        "__connect.errors.partition": "1",
        "__connect.errors.offset": "1",
        "__connect.errors.connector.name": "braid.db.wide.left",
        "__connect.errors.task.id": "1",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.class.name": "pipelines.ingest.Ingest",
        "__connect.errors.exception.class.name": "braid.wrong_type",
        "braid.reason": "wrong_type",
        "braid.topic.id": bed.position("left").topic_id,
        "braid.generation": "0",
        "braid.timestamp": str(record.timestamp),
        "braid.attempt": "1.0.0",
    }


@dataclass
class _Target:
    """The table of a bed, and its stream by a mended declaration."""

    bed: IngestBed
    plan: StreamPlan

    def target(self) -> ReplayTarget:
        return ReplayTarget(plan=self.plan, table=self.bed.table(), counts_repetitions=True)


def _null_record(topic: str, broker: KafkaBroker) -> None:
    """Send a record without key and value, which the client refuses unless a serializer makes the null."""
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers,
        value_serializer=SerializeWrapper(lambda _: None),
    )
    producer.send(topic, value=b"", partition=0)
    producer.close()


def test_dead_letters_are_replayed_after_a_mend_beside_the_stream(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    narrow = bed.plan("left", topic=topic, max_message_bytes=100)
    mended = bed.plan("left", topic=topic)
    long = "x" * 200
    bed.produce(topic, [left(1, 1, long), left(1, 2, "newer"), left(2, 1, long), b"{"])
    _null_record(topic, bed.broker)
    bed.ingest_available(narrow)
    records = bed.records(topic)
    letters = bed.records(narrow.spec.dead_letter_topic)
    cluster = KafkaCluster(bootstrap_servers=bed.broker.bootstrap_servers)
    source = LetterTopic(cluster, narrow.spec.dead_letter_topic)

    def replay() -> ReplayResult:
        run = ReplayRun(LetterSelection(), source=source, targets=_Target(bed, mended))
        return run.run(finished_ms=lambda: 0)

    with bed.running(mended) as ingest:
        first = replay()
        again = replay()
        bed.produce(topic, [left(3, 1, "good")])
        ingest.process_available()
    page = read_page(
        source,
        judge_of(_Target(bed, mended).target()),
        LetterSelection(),
        limit=10,
        start=None,
        monotonic_s=lambda: 0.0,
    )

    assert [(one.key, one.value) for one in letters] == [
        (records[offset].key, records[offset].value) for offset in (0, 2, 3, 4)
    ]
    assert letters[3].value is None
    assert {row["id"]: row["a"] for row in bed.rows("a")} == {1: "newer", 2: long, 3: "good"}
    assert (first.accepted, first.left) == (2, {})
    assert first.failed_again == again.failed_again == {"malformed": 1, "tombstone": 1}
    assert again.accepted == 0
    position = bed.position("left")
    assert position.letters.replayed == {0: ((0, 3),)}
    assert position.letters.by_reason == {"malformed": 1, "tombstone": 1, "too_large": 2}
    assert position.account == BatchAccount(accepted=2, dead_lettered=4)
    assert [(one.offset, one.standing) for one in page.letters] == [
        (0, "replayed"),
        (2, "replayed"),
        (3, "open"),
        (4, "open"),
    ]


def test_letters_that_kafka_does_not_take_keep_their_micro_batch_out_of_the_table(
    bed: IngestBed,
) -> None:
    """So every letter that a snapshot counts is on its topic."""
    topic = bed.topic("left", partitions=1)
    # No message fits, whatever is cut of its value.
    letters = bed.topic("tiny-letters", partitions=1, configs={"max.message.bytes": "100"})
    plan = bed.plan("left", topic=topic, dead_letter_topic=letters)
    bed.produce(topic, [left(1, 1, "good"), b"{"])

    with (
        bed.running(plan) as ingest,
        pytest.raises(PySparkException, match="dead letters cannot be sent"),
    ):
        ingest.process_available()

    assert bed.position("left").offsets == {0: 0}
    assert bed.position("left").letters.by_reason == {}
    assert not list(bed.directory.rglob("*.parquet"))


def test_a_declared_budget_counts_over_restarts_and_a_replay_makes_room(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    budget = {"dead_letter_budget": {"count": 3}}
    plan = bed.plan("left", topic=topic, max_message_bytes=100, **budget)
    mended = bed.plan("left", topic=topic, **budget)
    bed.produce(topic, [left(1, 1, "x" * 200), left(2, 1, "x" * 200), left(3, 1, "good")])
    bed.ingest_available(plan)
    bed.produce(topic, [b"1", b"2"])

    with (
        bed.running(plan) as ingest,
        pytest.raises(
            LimitExceeded, match=r"has 2 dead letters that were not replayed, .* allows 3; nothing"
        ),
    ):
        ingest.process_available()
    assert bed.position("left").offsets == {0: 3}
    source = LetterTopic(
        KafkaCluster(bootstrap_servers=bed.broker.bootstrap_servers), plan.spec.dead_letter_topic
    )
    run = ReplayRun(LetterSelection(), source=source, targets=_Target(bed, mended))
    assert run.run(finished_ms=lambda: 0).accepted == 2
    bed.ingest_available(plan)

    assert bed.position("left").offsets == {0: 5}
    assert [row["id"] for row in bed.rows("a")] == [1, 2, 3]


def test_a_micro_batch_of_dead_letters_alone_is_committed(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    bed.produce(topic, [b"no", b"nor this"])

    bed.ingest_available(bed.plan("left", topic=topic))

    assert bed.position("left").offsets == {0: 2}
    assert bed.position("left").account == BatchAccount(dead_lettered=2)


def test_the_dead_letter_topic_takes_messages_as_large_as_the_source(bed: IngestBed) -> None:
    """A record of 10 MB is a dead letter, or a row where the stream admits it; the stream goes on in both cases."""
    topic = bed.topic("left", partitions=1, configs={"max.message.bytes": str(12 * MEGABYTE)})
    plan = bed.plan("left", topic=topic)
    large = {**left(1, 1, "x" * (10 * MEGABYTE)), "b": 0.5}
    bed.produce(topic, [large, left(2, 1, "y")])

    bed.ingest_available(plan)

    (letter,) = bed.records(plan.spec.dead_letter_topic)
    assert letter.value == json.dumps(large).encode()
    assert _reasons([letter]) == ["too_large"]
    assert [row["id"] for row in bed.rows("a")] == [2]

    bounds = {"max_message_bytes": 11 * MEGABYTE, "max_bytes_per_batch": MEGABYTE}
    bed.ingest_available(bed.plan("right", topic=topic, **bounds))

    assert bed.position("right").account == BatchAccount(accepted=2)
    assert [(row["id"], row["b"]) for row in bed.rows("b")] == [(1, 0.5), (2, None)]


def test_a_value_that_the_dead_letter_topic_refuses_is_cut(bed: IngestBed) -> None:
    topic = bed.topic("left", partitions=1)
    letters = bed.topic("small-letters", partitions=1, configs={"max.message.bytes": "100000"})
    plan = bed.plan("left", topic=topic, dead_letter_topic=letters, max_message_bytes=1_000)
    bed.produce(topic, [left(1, 1, "x" * 500_000)])
    (record,) = bed.records(topic)

    bed.ingest_available(plan)

    (letter,) = bed.records(letters)
    assert letter.value == record.value[: len(letter.value)]
    assert _headers(letter)["braid.value.cut"] == str(len(record.value))


def test_more_dead_letters_than_the_budget_fail_the_stream_and_commit_nothing(
    bed: IngestBed,
) -> None:
    bed.budget = DeadLetterBudget(records=2, fraction=0.5)
    topic = bed.topic("left", partitions=1)
    plan = bed.plan("left", topic=topic)
    bed.produce(topic, [left(1, 1, "good"), b"1", b"2", b"3"])

    with (
        bed.running(plan) as ingest,
        pytest.raises(LimitExceeded, match=r"3 of 4 records .* \(3 malformed\), at most 2"),
    ):
        ingest.process_available()

    assert bed.position("left").offsets == {0: 0}
    assert not list(bed.directory.rglob("*.parquet"))


def test_the_error_of_a_task_is_not_hidden_by_that_of_its_letters(bed: IngestBed) -> None:
    letter = DeadLetter(
        topic="left",
        partition=0,
        offset=0,
        reason=DeadLetterReason.MALFORMED,
        message="not JSON",
        key=None,
        value=b"x" * 1_000,
        headers=(),
    )
    cluster = KafkaCluster(bootstrap_servers=bed.broker.bootstrap_servers)

    def break_off() -> None:
        with DeadLetterSender(cluster, topic=bed.topic("letters"), connector="c") as sender:
            sender.send([letter] * 500)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()
