"""`braid stream push`: records are sent to a topic, from options and from lines of JSON."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from braid.cli.api.pushes import pushed_records
from braid.cli.main import app
from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.served_app import served
from tests.unit.braid.cli.conftest import DECLARATION, STREAMS
from tests.unit.service.http_client import HttpClient
from tests.unit.service.memory_topic import MemoryTopic

CLUSTERS = '[clusters.default]\nbootstrap_servers = "kafka:9092"\npush = ["*"]\n'
RECORD = '{"id": 7, "total": "1.00", "version": 1}'


@pytest.fixture
def topic() -> MemoryTopic:
    return MemoryTopic()


@pytest.fixture
def address(topic: MemoryTopic) -> Iterator[str]:
    """A service of the table `shop.orders` that sends records to the topic."""
    clock = ManualClock()
    settings = ServiceSettings(warehouse="/w", clusters=parse_clusters(CLUSTERS, source="c.toml"))
    service = create_app(settings, file_io=MemoryFileIO(clock=clock), clock=clock, producer=topic)
    client = HttpClient(service)
    client.put("/v1/tables/shop/orders", json=DECLARATION).raise_for_status()
    client.put("/v1/tables/shop/orders/streams/orders", json=STREAMS["orders"]).raise_for_status()
    with served(service) as found:
        yield found


def push(address: str, *arguments: str, text: str | None = None) -> Any:
    command = ["stream", "push", "shop.orders", "orders", *arguments, "--api", address]
    return CliRunner().invoke(app, command, input=text)


def test_records_are_sent_and_each_has_its_place(address: str, topic: MemoryTopic) -> None:
    done = push(address, "--value", RECORD, "--value", RECORD.replace("7", "8"))

    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [
        "accepted: partition 0, offset 0",
        "accepted: partition 0, offset 1",
    ]
    assert done.stderr.startswith("read after: ")
    assert [record.value for record in topic.records] == [
        RECORD.encode(),
        RECORD.replace("7", "8").encode(),
    ]


def test_a_refused_record_is_named_with_its_reason(address: str, topic: MemoryTopic) -> None:
    lines = [{"value": json.loads(RECORD), "key": "k"}, {"value": "not JSON"}]
    text = "\n".join(map(json.dumps, lines)) + "\n\n"
    done = push(address, "--file", "-", "--output", "json", text=text)

    first, second = map(json.loads, done.stdout.splitlines())
    assert (done.exit_code, first["outcome"], second["reason"]) == (1, "accepted", "malformed")
    assert [record.key for record in topic.records] == [b"k"]


def test_many_records_are_sent_in_several_requests(address: str, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(json.dumps({"value": RECORD}) for _ in range(1_100)))

    done = push(address, "--file", str(path))
    named = push(address, "--file", str(path), "--idempotency-key", "k")

    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 1_100)
    assert done.stderr.count("read after: ") == 2
    assert (named.exit_code, "at most 1000 records" in named.stderr) == (2, True)


def test_a_named_push_is_sent_once(address: str, topic: MemoryTopic) -> None:
    arguments = ("--value", RECORD, "--idempotency-key", "first")
    once, again = push(address, *arguments), push(address, *arguments)

    assert (once.stdout, len(topic.records)) == (again.stdout, 1)


@pytest.mark.parametrize(
    ("arguments", "text", "found"),
    [
        ([], "", "expected either records as --value or a --file"),
        (["--value", "x", "--file", "-"], "", "expected either records"),
        (["--file", "-"], "", "expected a record in each line"),
        (["--file", "-"], "{", "record 1: Invalid JSON"),
        (["--file", "-"], '{"value": 1}\n', "record 1: value"),
        (["--file", "-"], '{"value": "x"}\n{"valu": "x"}\n', "record 2: valu: Extra inputs"),
        (["--file", "/none"], "", "cannot be read: No such file"),
    ],
)
def test_what_is_no_record_is_refused_before_anything_is_sent(
    arguments: list[str], text: str, found: str
) -> None:
    done = push("http://127.0.0.1:1", *arguments, text=text)

    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert found in done.stderr


def test_large_records_are_divided_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = b"\n".join(json.dumps({"value": "x" * 300_000}).encode() for _ in range(3))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))

    assert [len(batch) for batch in pushed_records([], "-", is_named=False)] == [1, 1, 1]
