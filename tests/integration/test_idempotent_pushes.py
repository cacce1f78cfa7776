"""Pushes with idempotency keys: each has its effect once, whichever process of the service takes it, and however that ends."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import ChildProcess, Supervisor
from braid.formats.clusters.clusters_file import parse_clusters
from braid.pipelines.kafka.record_producer import KafkaRecordProducer
from braid.records.outgoing_records import (
    IdempotencyKey,
    OutgoingRecord,
    OutgoingRequest,
    ProducedRecords,
    RequestDiffers,
)
from braid.registry.rules.stream_completion import complete_stream
from braid.schemas import StreamDefinition, StreamSpec, TableSpec
from tests.support.topic_records import topic_records
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.integration

KEYS = 24
TABLE = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "total", "type": "BIGINT"}],
    "primary_key": ["id"],
    "sequence_groups": [{"name": "sales", "columns": ["total"]}],
}


@pytest.fixture
def topic(kafka: KafkaBroker, tmp_path: Path) -> str:
    name = f"{tmp_path.name}-pushed".replace("_", "-")
    kafka.create_topics({name: 2})
    return name


def clusters_text(kafka: KafkaBroker) -> str:
    return f'[clusters.default]\nbootstrap_servers = "{kafka.bootstrap_servers}"\npush = ["*"]\n'


@pytest.fixture
def producers(kafka: KafkaBroker) -> Iterator[list[KafkaRecordProducer]]:
    """Producers as two processes have them."""
    clusters = parse_clusters(clusters_text(kafka), source="clusters.toml")
    found = [KafkaRecordProducer(clusters, seconds=60.0) for _ in range(2)]
    yield found
    for each in found:
        each.close()


def stream_of(topic: str) -> StreamSpec:
    definition = StreamDefinition.model_validate({"topic": topic, "partitioned_by_key": True})
    return complete_stream(TableSpec.model_validate(TABLE), definition, name="sales")


def request(key: str, *values: str) -> OutgoingRequest:
    records = [
        OutgoingRecord(key=key.encode(), value=each.encode(), headers={}, timestamp_ms=None)
        for each in values
    ]

    def answer(produced: ProducedRecords) -> bytes:
        return f"{key}: {list(produced.places)}".encode()

    return OutgoingRequest(records=records, answer=answer)


def key_of(name: str, body: str = "") -> IdempotencyKey:
    return IdempotencyKey(name=name, digest=body.encode().ljust(32, b"."))


def test_processes_repeat_each_others_answers(
    kafka: KafkaBroker, topic: str, producers: list[KafkaRecordProducer]
) -> None:
    stream = stream_of(topic)
    names = [f"{topic}/{number}" for number in range(KEYS)]

    def push(producer: KafkaRecordProducer) -> list[bytes]:
        return [
            producer.produce_once(stream, key_of(name), partial(request, name, "a", "b"))
            for name in names
        ]

    with ThreadPoolExecutor(len(producers)) as pool:
        answers = list(pool.map(push, producers))
    again = push(producers[0])

    assert answers[0] == answers[1] == again
    records = topic_records(kafka.bootstrap_servers, topic, is_committed=True)
    assert sorted((one.key.decode(), one.value) for one in records) == sorted(
        (name, value) for name in names for value in (b"a", b"b")
    )
    places: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
    for one in records:
        places[one.key.decode()].append((one.partition, one.offset))
    assert answers[0] == [f"{name}: {places[name]}".encode() for name in names]


def test_a_key_with_another_body_is_refused(
    kafka: KafkaBroker, topic: str, producers: list[KafkaRecordProducer]
) -> None:
    stream, name = stream_of(topic), f"{topic}/1"
    first, second = producers
    first.produce_once(stream, key_of(name, "x"), lambda: request(name, "a"))

    with pytest.raises(RequestDiffers):
        second.produce_once(stream, key_of(name, "y"), lambda: request(name, "b"))

    values = [one.value for one in topic_records(kafka.bootstrap_servers, topic, is_committed=True)]
    assert values == [b"a"]


def test_a_push_has_its_effect_once_although_the_service_is_killed(
    kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "clusters.toml").write_text(clusters_text(kafka), encoding="utf-8")
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1/tables/shop/orders"
    answers: dict[int, Any] = {}

    def push(number: int) -> httpx.Response:
        body = [{"value": {"id": number, "total": 1}}, {"value": {"id": -number, "total": 1}}]
        headers = {"idempotency-key": f"push {number}"}
        return httpx.post(f"{url}/streams/sales/records", json=body, headers=headers, timeout=60)

    def push_all() -> None:
        for number in range(1, KEYS + 1):
            while number not in answers:
                with suppress(httpx.TransportError):
                    found = push(number)
                    if found.status_code != 503:
                        answers[number] = found.json()

    with Supervisor(tmp_path) as supervisor:
        service = start(supervisor, tmp_path, port)
        httpx.put(url, json=TABLE).raise_for_status()
        stream = {"topic": topic, "partitioned_by_key": True}
        httpx.put(f"{url}/streams/sales", json=stream).raise_for_status()
        clients = threading.Thread(target=push_all)
        clients.start()
        for few in (KEYS // 4, KEYS // 2):
            wait_until(partial(has_many, answers, few))
            service.kill()
            service = start(supervisor, tmp_path, port)
        clients.join(PATIENCE_S)
        repeated = {number: push(number).json() for number in answers}
        other = httpx.post(
            f"{url}/streams/sales/records",
            json={"value": {"id": 1}},
            headers={"idempotency-key": "push 1"},
            timeout=60,
        )

    assert len(answers) == KEYS
    assert repeated == answers
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    records = topic_records(kafka.bootstrap_servers, topic, is_committed=True)
    assert len(records) == 2 * KEYS
    told = {
        (one["partition"], one["offset"])
        for answer in answers.values()
        for one in answer["records"]
    }
    assert {(one.partition, one.offset) for one in records} == told


def has_many(found: dict[int, Any], count: int) -> bool:
    return len(found) >= count


def start(supervisor: Supervisor, folder: Path, port: int) -> ChildProcess:
    """Start the service, which knows nothing of a former process."""
    child = supervisor.start_module(
        "service",
        "braid",
        "service",
        f"--warehouse={folder / 'warehouse'}",
        f"--clusters={folder / 'clusters.toml'}",
        f"--port={port}",
        "--no-access-control",
    )

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{port}/ready").is_success
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return child
