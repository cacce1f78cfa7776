"""Two builds of this software on one warehouse, services and runners: each works, and neither loses what the other has stored.

The other build (`other_build`) has a field more in each stored object, and lacks some of this build's fields.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from kafka import KafkaProducer
from pyspark.sql import SparkSession

from braid.demo.broker import KafkaBroker
from braid.demo.ports import free_port
from braid.demo.processes import Supervisor
from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.pipelines.settings import RunnerSettings
from tests.integration.runner_bed import running_settings
from tests.support.other_build import ADDED, VALUE
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TABLE = "/v1/tables/shop/orders"
SPEC: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "INT"},
        {"name": "paid", "type": "INT"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "comment": "of this build",
    "sequence_groups": [
        {"name": "sales", "columns": ["total"]},
        {"name": "payments", "columns": ["paid"]},
    ],
}


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with Supervisor(tmp_path / "logs") as supervisor:
        yield supervisor


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def started(
    supervisor: Supervisor, opened: ExitStack, module: str, warehouse: Path
) -> httpx.Client:
    """Start a service of a build, and return a client of it."""
    port = free_port()
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S)
    opened.enter_context(client)
    arguments = ["service", "--warehouse", str(warehouse), "--port", str(port)]
    arguments.append("--no-access-control")
    child = supervisor.start_module(f"service of {module}", module, *arguments)

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            return client.get("/ready").is_success
        return False

    child.wait_ready(is_ready, timeout_s=PATIENCE_S)
    return client


def newest_document(warehouse: Path) -> Any:
    versions = sorted((warehouse / "_braid" / "tables" / "shop.orders").glob("*.json"))
    return json.loads(versions[-1].read_bytes())


def sent(client: httpx.Client, method: str, path: str, body: Any = None) -> Any:
    content = None if method == "GET" else body or {}
    answer = client.request(method, path, json=content)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def test_each_build_keeps_what_the_other_has_stored(
    supervisor: Supervisor, opened: ExitStack, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    ours = started(supervisor, opened, "braid", warehouse)
    theirs = started(supervisor, opened, "tests.support.other_build", warehouse)

    sent(ours, "PUT", TABLE, SPEC)
    created = newest_document(warehouse)
    sent(theirs, "PUT", f"{TABLE}/streams/sales", {"topic": "sales"})
    registered = newest_document(warehouse)
    sent(ours, "PUT", f"{TABLE}/streams/payments", {"topic": "payments"})
    sent(ours, "POST", f"{TABLE}/streams/sales/dead-letters/replay", {})
    sent(theirs, "POST", f"{TABLE}/streams/sales/pause")
    add = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}
    sent(theirs, "POST", f"{TABLE}/schema-changes", {"changes": [add]})
    sent(ours, "POST", f"{TABLE}/streams/sales/resume")
    newest = newest_document(warehouse)

    assert (registered["created_ms"], registered["table"]["comment"]) == (
        created["created_ms"],
        "of this build",
    )
    assert newest["created_ms"] == created["created_ms"]
    assert newest["table"]["comment"] == "of this build"
    assert newest["streams"]["sales"]["replay"]["result"] is None
    assert [newest[ADDED], newest["table"][ADDED]] == [VALUE, VALUE]
    assert newest["streams"]["sales"]["spec"][ADDED] == VALUE
    states = [sent(one, "GET", f"{TABLE}/streams/sales")["desired_state"] for one in (ours, theirs)]
    assert states == ["RUNNING", "RUNNING"]
    actions = [
        [entry["action"] for entry in sent(one, "GET", "/v1/audit")["entries"]]
        for one in (ours, theirs)
    ]
    expected = ["resume_stream", "change_schema", "pause_stream", "replay_dead_letters"]
    assert actions[0] == actions[1] == [*expected, "put_stream", "put_stream", "put_table"]


@pytest.mark.timeout(600)
def test_runners_of_both_builds_fill_the_same_rows(
    kafka: KafkaBroker,
    session: SparkSession,
    supervisor: Supervisor,
    opened: ExitStack,
    tmp_path: Path,
) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    theirs = started(supervisor, opened, "tests.support.other_build", warehouse)
    ours = started(supervisor, opened, "braid", warehouse)
    topics = {name: f"{tmp_path.name}-{name}".replace("_", "-") for name in ("sales", "payments")}
    kafka.create_topics(dict.fromkeys(topics.values(), 1))
    sent(ours, "PUT", TABLE, SPEC)
    for client, (name, topic) in zip((theirs, ours), topics.items(), strict=True):
        definition = {"topic": topic, "partitioned_by_key": True, "trigger_ms": 100}
        sent(client, "PUT", f"{TABLE}/streams/{name}", definition)
    supervisor.start_module(
        "runner of the other build",
        "tests.support.other_build",
        *("runner", "--warehouse", str(warehouse), "--kafka", kafka.bootstrap_servers),
        *("--name", "theirs", "--stream", "shop.orders/sales", "--memory", "512m", "--no-maintain"),
    )
    settings = RunnerSettings(
        warehouse=str(warehouse),
        name="ours",
        clusters=KafkaClusters().with_default(kafka.bootstrap_servers),
        streams=("shop.orders/payments",),
        poll_ms=50,
        progress_ms=100,
        maintains=False,
    )

    with running_settings(settings, session, tmp_path):
        send(
            kafka,
            {topics["sales"]: {"id": 1, "total": 5}, topics["payments"]: {"id": 1, "paid": 4}},
        )
        wait_until(lambda: row(ours) == {"id": 1, "total": 5, "paid": 4})
        # Each build's service shows what the runner of the other one reports.
        for client in (ours, theirs):
            wait_until(partial(are_all, client, "RUNNING"))
        sent(ours, "POST", f"{TABLE}/streams/sales/pause")
        sent(theirs, "POST", f"{TABLE}/streams/payments/pause")
        wait_until(partial(are_all, ours, "PAUSED"))

    assert row(theirs) == {"id": 1, "total": 5, "paid": 4}


def are_all(client: httpx.Client, state: str) -> bool:
    """Return whether both streams are in a state, as a service shows them."""
    found = [
        sent(client, "GET", f"{TABLE}/streams/{name}/status")["state"]
        for name in ("sales", "payments")
    ]
    return found == [state, state]


def send(kafka: KafkaBroker, records: dict[str, dict[str, int]]) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for topic, record in records.items():
        producer.send(topic, key=str(record["id"]).encode(), value=json.dumps(record).encode())
    producer.close()


def row(client: httpx.Client) -> Any:
    answer = client.get(f"{TABLE}/rows", params={"id": 1, "columns": "id,total,paid"})
    return answer.json().get("row")
