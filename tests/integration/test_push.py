"""Pushed records with a real broker and a real runner: their places, rows that are read after them, and their outcomes."""

from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest
from kafka.partitioner.default import murmur2

from braid.formats.clusters.clusters_file import parse_clusters
from braid.pipelines.kafka.record_producer import KafkaRecordProducer
from braid.pipelines.kafka.topic_record_reader import KafkaTopicRecords
from braid.schemas import DesiredState, StreamState
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.integration.ingest_bed import IngestBed, left
from tests.integration.runner_bed import Registry, has_read, is_state, running_runner
from tests.support.waiting import wait_until
from tests.unit.service.http_client import HttpClient

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TABLE = "/v1/tables/db/wide"


@pytest.fixture
def client(bed: IngestBed) -> Iterator[HttpClient]:
    text = f"""
    [clusters.default]
    bootstrap_servers = "{bed.broker.bootstrap_servers}"
    push = ["*"]
    show_records = ["*"]
    """
    clusters = parse_clusters(text, source="clusters.toml")
    producer, topic_records = KafkaRecordProducer(clusters), KafkaTopicRecords(clusters)
    settings = ServiceSettings(warehouse=bed.warehouse, clusters=clusters, follow_ms=20)
    app = create_app(settings, producer=producer, topic_records=topic_records)
    yield HttpClient(app)
    app.state.components.followers.close()
    producer.close()
    topic_records.close()


def test_a_row_is_read_after_its_pushed_records(bed: IngestBed, client: HttpClient) -> None:
    registry, topic = Registry(bed), bed.topic("left", partitions=3)
    with running_runner(bed):
        registry.register("left", topic=topic)
        registry.wait_for("left", has_read(0))
        numbers = range(20)
        records = [{"value": left(number, 1, "x")} for number in numbers]
        pushed = client.post(
            f"{TABLE}/streams/left/records", json=[*records, {"value": "not JSON"}]
        )
        assert pushed.status_code == 200, pushed.text
        *accepted, refused = pushed.json()["records"]
        found = [read_after(client, "rows/status", number, pushed) for number in numbers]
        # An older version of a row arrives late, and loses.
        late = client.post(f"{TABLE}/streams/left/records", json={"value": left(3, 0, "old")})
        row = read_after(client, "rows", 3, late)
        [winning] = read_after(client, "rows/outcomes", 3, pushed)["records"]
        [losing] = read_after(client, "rows/outcomes", 3, late)["records"]
        # The declaration changes after the push: what it accepted becomes a dead letter.
        registry.want("left", DesiredState.PAUSED)
        registry.wait_for("left", is_state(StreamState.PAUSED))
        surplus = {"value": {**left(3, 9, "new"), "more": 1}}
        refused_later = client.post(f"{TABLE}/streams/left/records", json=surplus)
        registry.register("left", topic=topic, on_new_field="reject")
        [dead] = read_after(client, "rows/outcomes", 3, refused_later)["records"]
    explained = client.get(f"{TABLE}/rows/explain", params={"id": 3, "raw": "true"})

    partitions = [(murmur2(str(number).encode()) & 0x7FFFFFFF) % 3 for number in numbers]
    assert [one["partition"] for one in accepted] == partitions
    assert len({(one["partition"], one["offset"]) for one in accepted}) == len(numbers)
    assert (refused["outcome"], refused["reason"]) == ("refused", "malformed")
    # The status names the record that has won: it is the pushed one.
    arrivals = [one["groups"]["left"]["arrival"] for one in found]
    assert [(one["partition"], one["offset"]) for one in arrivals] == [
        (one["partition"], one["offset"]) for one in accepted
    ]
    assert row["row"]["a"] == "x"
    # The records that won and lost are still in the topic.
    won, lost = explained.json()["records"]
    assert [won["state"], lost["state"]] == ["present", "present"]
    assert orjson.loads(won["value"]["text"]) == left(3, 1, "x")
    assert orjson.loads(lost["value"]["text"]) == left(3, 0, "old")
    assert won["arrival"]["offset"] == arrivals[3]["offset"]
    assert won["result"]["row"]["a"] == "x"
    assert [one["outcome"] for one in (winning, losing, dead)] == ["won", "lost", "dead_letter"]
    assert (winning["offset"], winning["partition"]) == (
        accepted[3]["offset"],
        accepted[3]["partition"],
    )
    assert (losing["reason"], losing["columns"][0]["columns"]) == ("late", ["a", "a_version"])
    assert losing["columns"][0]["winner"]["arrival"]["offset"] == winning["offset"]
    assert dead["reason"] == "new_field"
    assert "more" in dead["message"]
    assert len(bed.records(topic)) == len(numbers) + 2


def read_after(client: HttpClient, path: str, key: int, pushed: httpx.Response) -> dict[str, Any]:
    """Return the answer that is read after a push; a busy machine may take longer than one wait of the service."""
    parameters = {"id": key, "read_after": pushed.json()["read_after"]}
    answers: list[httpx.Response] = []

    def is_read() -> bool:
        answers.append(client.get(f"{TABLE}/{path}", params=parameters))
        return answers[-1].status_code != 409

    wait_until(is_read)
    answers[-1].raise_for_status()
    assert all(one.json()["code"] == "snapshot_not_reached" for one in answers[:-1])
    found: dict[str, Any] = answers[-1].json()
    return found


def test_a_token_of_a_topic_that_the_stream_does_not_read_is_refused(
    bed: IngestBed, client: HttpClient
) -> None:
    registry, topic = Registry(bed), bed.topic("left", partitions=1)
    other = bed.topic("other", partitions=1)
    with running_runner(bed):
        registry.register("left", topic=topic)
        registry.wait_for("left", has_read(0))
        first = client.post(f"{TABLE}/streams/left/records", json={"value": left(1, 1, "x")})
        assert read_after(client, "rows", 1, first)["row"]["a"] == "x"
    registry.register("left", topic=other)
    void = client.post(f"{TABLE}/streams/left/records", json={"value": left(1, 2, "y")})
    assert void.status_code == 200, void.text

    parameters = {"id": 1, "read_after": void.json()["read_after"]}
    refused = client.get(f"{TABLE}/rows", params=parameters)

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "read_after"


def test_a_record_that_is_too_large_for_the_topic_is_refused_and_others_are_sent(
    bed: IngestBed, client: HttpClient
) -> None:
    registry = Registry(bed)
    topic = bed.topic("left", partitions=1, configs={"max.message.bytes": "2000"})
    registry.register("left", topic=topic)
    path = f"{TABLE}/streams/left/records"

    large = client.post(path, json={"value": left(1, 1, "x" * 4_000)})
    small = client.post(path, json={"value": left(1, 1, "x")})

    assert (large.status_code, large.json()["code"]) == (413, "limit_exceeded")
    assert small.json()["records"][0]["offset"] == 0
