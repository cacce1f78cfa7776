"""Streams take up changes of their table while they run: no restart, nothing lost, nothing twice."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.schemas import StreamProgress, TableSpec
from tests.integration.ingest_bed import IngestBed
from tests.integration.runner_bed import Registry, has_read, running_runner

pytestmark = [pytest.mark.integration, pytest.mark.spark]

STREAMS = ("left", "middle", "right")
KEYS = 12
SPEC = TableSpec.model_validate(
    {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "a", "type": "STRING"},
            {"name": "a_version", "type": "INT"},
            {"name": "b", "type": "INT"},
            {"name": "c", "type": "FLOAT"},
            {"name": "c_version", "type": "INT"},
        ],
        "primary_key": ["id"],
        "buckets": 2,
        "sequence_groups": [
            {"name": "left", "ordering": ["a_version"], "columns": ["a"]},
            {"name": "middle", "columns": ["b"]},
            {"name": "right", "ordering": ["c_version"], "columns": ["c"]},
        ],
    }
)


@pytest.fixture
def bed(kafka: KafkaBroker, session: SparkSession, tmp_path: Path) -> IngestBed:
    """A table of three groups."""
    return IngestBed(broker=kafka, session=session, directory=tmp_path, spec=SPEC)


@pytest.fixture
def registry(bed: IngestBed) -> Registry:
    return Registry(bed)


class Feed:
    """Sends messages of one stream for ever, the keys in turn, and knows what rows shall say.

    A message has a part of its own number in each field; `fields` may be exchanged meanwhile.
    """

    def __init__(
        self, bed: IngestBed, topic: str, fields: Mapping[str, Callable[[int], Any]]
    ) -> None:
        self.topic = topic
        self.sent = 0
        self.fields = dict(fields)
        self.newest: dict[int, dict[str, Any]] = {}
        self._bed = bed
        self._lock = threading.Lock()

    def send(self, producer: KafkaProducer) -> None:
        """Send the next message; a key has its partition."""
        with self._lock:
            key, number = self.sent % KEYS, self.sent
            message = {"id": key} | {name: make(number) for name, make in self.fields.items()}
            self.newest[key] = message
            self.sent += 1
        producer.send(self.topic, json.dumps(message).encode(), partition=key % 2)

    def add(self, **fields: Callable[[int], Any]) -> None:
        """Send more fields from now on, or other values."""
        with self._lock:
            self.fields |= fields


@contextmanager
def fed(bed: IngestBed, *feeds: Feed) -> Iterator[None]:
    """Send without a pause until the end; then everything is with the broker."""
    stop = threading.Event()
    producer = KafkaProducer(bootstrap_servers=bed.broker.bootstrap_servers, linger_ms=5)

    def run() -> None:
        while not stop.is_set():
            for feed in feeds:
                feed.send(producer)
            time.sleep(0.01)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        producer.flush()
        producer.close()


def follows(schema_id: int) -> Callable[[StreamProgress], bool]:
    """Return whether a stream writes by a schema, and has committed since."""
    return lambda progress: progress.schema_id == schema_id


def test_three_streams_follow_columns_that_are_added_renamed_and_widened(
    bed: IngestBed, registry: Registry
) -> None:
    feeds = {
        "left": Feed(bed, bed.topic("left"), {"a": lambda n: f"a{n}", "a_version": lambda n: n}),
        "middle": Feed(bed, bed.topic("middle"), {"b": lambda n: n}),
        "right": Feed(bed, bed.topic("right"), {"c": lambda n: n / 4, "c_version": lambda n: n}),
    }
    for name, feed in feeds.items():
        registry.register(name, topic=feed.topic, trigger_ms=300)

    with running_runner(bed):
        with fed(bed, *feeds.values()):
            before = {name: registry.wait_for(name, has_read(20)) for name in STREAMS}

            first = registry.alter(
                {"change": "add_column", "column": "d", "type": "INT", "sequence_group": "left"},
                {"change": "rename_column", "column": "b", "to": "b_new"},
                {"change": "update_column_type", "column": "c", "type": "DOUBLE"},
            )
            once = {name: registry.wait_for(name, follows(first)) for name in STREAMS}
            feeds["left"].add(d=lambda n: n)
            feeds["right"].add(c=lambda n: n + 0.1)

            second = registry.alter(
                {
                    "change": "add_column",
                    "column": "e",
                    "type": "STRING",
                    "sequence_group": "right",
                },
                {"change": "rename_column", "column": "a", "to": "a_new"},
                {"change": "update_column_type", "column": "b_new", "type": "BIGINT"},
            )
            twice = {name: registry.wait_for(name, follows(second)) for name in STREAMS}
            feeds["middle"].add(b=lambda n: (1 << 40) + n)
            feeds["right"].add(e=lambda n: f"e{n}")
            more = {name: feed.sent + 3 * KEYS for name, feed in feeds.items()}
            for name in STREAMS:
                registry.wait_for(name, has_read(more[name]))
        done = {name: registry.wait_for(name, has_read(feeds[name].sent)) for name in STREAMS}

    left, middle, right = (feeds[name].newest for name in STREAMS)
    columns = ("a_new", "a_version", "d", "b_new", "c", "c_version", "e")
    assert bed.rows(*columns) == [
        {
            "id": key,
            "a_new": left[key]["a"],
            "a_version": left[key]["a_version"],
            "d": left[key]["d"],
            "b_new": middle[key]["b"],
            "c": right[key]["c"],
            "c_version": right[key]["c_version"],
            "e": right[key]["e"],
        }
        for key in range(KEYS)
    ]
    for name in STREAMS:
        account = bed.batch_accounts(name)
        assert (account.records, account.dead_lettered) == (feeds[name].sent, 0)
        # The same claim all the time: nothing was started again.
        reports = (before[name], once[name], twice[name], done[name])
        assert {report.epoch for report in reports} == {1}
        assert [report.schema_id for report in reports] == [0, first, second, second]
        times = [report.followed_ms or 0 for report in reports]
        assert times[0] < times[1] < times[2] == times[3]
        assert done[name].stream_version == registry.entry(name).version


def test_new_fields_become_columns_while_streams_race(bed: IngestBed, registry: Registry) -> None:
    topics = {name: bed.topic(name) for name in STREAMS}
    registry.register("left", topic=topics["left"], on_new_field="evolve", columns_max=6)
    registry.register("middle", topic=topics["middle"], on_new_field="evolve")
    registry.register("right", topic=topics["right"], on_new_field="reject")

    with running_runner(bed):
        for name in STREAMS:
            registry.wait_for(name, lambda progress: progress.schema_id == 0)
        bed.produce(
            topics["left"],
            [
                {"id": 1, "a": "x", "a_version": 1},
                {"id": 1, "a": "y", "a_version": 2, "tip": 1, "to": {"city": "Ulm"}},
                {"id": 2, "a": "z", "a_version": 1, "tip": 0.5, "to": None},
                {"id": 3, "a": "z", "a_version": 1, "two words": 1},
            ],
            partition=0,
        )
        bed.produce(
            topics["middle"],
            [{"id": 1, "b": 1}, {"id": 2, "b": 3_000_000_000, "fee": True}, {"id": 3, "b": "x"}],
            partition=0,
        )
        bed.produce(
            topics["right"],
            [{"id": 1, "c": 1, "c_version": 1}, {"id": 2, "c": 1, "c_version": 1, "new": None}],
            partition=0,
        )
        registry.wait_for("left", has_read(4))
        # The limit: six columns, and fields inside count; then a field that came too late.
        bed.produce(
            topics["left"],
            [{"id": 4, "a_version": 1, "to": {"zip": "1"}}, {"id": 5, "a_version": 1, "tip": 2}],
        )
        reports = {
            "left": registry.wait_for("left", has_read(6)),
            "middle": registry.wait_for("middle", has_read(3)),
            "right": registry.wait_for("right", has_read(2)),
        }

    found = bed.rows("a", "tip", "to", "b", "fee", "c")
    assert found == [
        {"id": 1, "a": "y", "tip": 1.0, "to": {"city": "Ulm"}, "b": 1, "fee": None, "c": 1.0},
        {"id": 2, "a": "z", "tip": 0.5, "to": None, "b": 3_000_000_000, "fee": True, "c": None},
        {"id": 5, "a": None, "tip": 2.0, "to": None, "b": None, "fee": None, "c": None},
    ]
    assert {name: dict(report.dead_letters_by_reason) for name, report in reports.items()} == {
        "left": {"new_field": 2},
        "middle": {"wrong_type": 1},
        "right": {"new_field": 1},
    }
    assert {report.epoch for report in reports.values()} == {1}
    letters = [
        dict(letter.headers)["__connect.errors.exception.message"].decode()
        for name in ("left", "right")
        for letter in bed.records(f"{topics[name]}.dead-letters")
    ]
    assert sorted(set(letters)) == sorted(
        [
            "field two words is not declared and stays out: it cannot be a column: the name of a "
            "column is a letter, then letters, digits and `_`, at most 128 characters",
            "column to stays as it is: the stream has as many columns as `columns_max` allows",
            "the record has fields that the stream does not declare: new",
        ]
    )
