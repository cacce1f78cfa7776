"""Runners keep queries equal to the registry, and each other out of the way."""

import gc
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from typer.testing import CliRunner, Result

from braid.cli.main import app
from braid.schemas import (
    DesiredState,
    StreamProgress,
    StreamState,
)
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.integration.ingest_bed import IDENTIFIER, IngestBed, left
from tests.integration.runner_bed import (
    Registry,
    has_read,
    is_state,
    runner_process,
    running_runner,
)
from tests.support.waiting import PATIENCE_S, wait_until
from tests.unit.service.http_client import HttpClient

pytestmark = [pytest.mark.integration, pytest.mark.spark]


@contextmanager
def _transactions(bed: IngestBed, topic: str) -> Iterator[Callable[..., None]]:
    """Return a function that sends a message in a transaction of its own, and commits or aborts it."""
    producer = KafkaProducer(
        bootstrap_servers=bed.broker.bootstrap_servers, transactional_id=f"{topic}-writer"
    )

    def send(message: Mapping[str, object], *, is_kept: bool) -> None:
        producer.begin_transaction()
        producer.send(topic, value=json.dumps(message).encode())
        producer.flush()  # an abort drops what has not left the client
        if is_kept:
            producer.commit_transaction()
        else:
            producer.abort_transaction()

    producer.init_transactions()
    try:
        yield send
    finally:
        producer.close()


def test_a_stream_is_kept_equal_to_its_registration(bed: IngestBed) -> None:
    registry = Registry(bed)
    topic = bed.topic("left")
    bed.produce(topic, [left(key, 1, "x") for key in range(5)] + [b"not JSON"])
    with running_runner(bed):
        registry.register("left", topic=topic)
        running = registry.wait_for("left", lambda p: has_read(6)(p) and p.lag_records == 0)
        registry.want("left", DesiredState.PAUSED)
        registry.wait_for("left", is_state(StreamState.PAUSED))
        bed.produce(topic, [left(key, 2, "y") for key in range(5)])
        held = registry.holders.holder(IDENTIFIER, "left")
        registry.want("left", DesiredState.RUNNING)
        resumed = registry.wait_for("left", has_read(11))
        registry.restart("left")
        restarted = registry.wait_for(
            "left", lambda p: p.restart_generation == 1 and is_state(StreamState.RUNNING)(p)
        )
        registry.want("left", DesiredState.STOPPED)
        stopped = registry.wait_for("left", is_state(StreamState.STOPPED))
        free = registry.holders.holder(IDENTIFIER, "left")

    assert (running.state, running.epoch, running.trace) == (StreamState.RUNNING, 1, None)
    assert running.dead_letters_by_reason == {"malformed": 1}
    assert running.last_commit_snapshot is not None
    assert running.end_offsets == running.offsets
    assert held == "inside"
    assert (resumed.epoch, restarted.epoch) == (2, 3)
    assert stopped.account.accepted == 10
    assert free is None
    assert [row["a"] for row in bed.rows("a")] == ["y"] * 5


def test_a_stream_that_reads_what_is_there_completes_behind_markers_of_transactions(
    bed: IngestBed,
) -> None:
    registry = Registry(bed)
    client = HttpClient(create_app(ServiceSettings(warehouse=bed.warehouse)))
    stream = f"/v1/tables/{IDENTIFIER.replace('.', '/')}/streams/left"
    topic = bed.topic("left", partitions=1)
    with _transactions(bed, topic) as send:
        send(left(1, 1, "first"), is_kept=True)
        send(left(2, 1, "aborted"), is_kept=False)
        registry.register("left", topic=topic, trigger={"type": "available_now"})
        with running_runner(bed):
            first = registry.wait_for("left", is_state(StreamState.COMPLETED))
            free = registry.holders.holder(IDENTIFIER, "left")
            send(left(3, 1, "later"), is_kept=True)
        # Another runner leaves it alone, until somebody starts it.
        with running_runner(bed):
            registry.wait_for("left", is_state(StreamState.COMPLETED))
            seen = client.get(f"{stream}/status").json()
            client.post(f"{stream}/start").raise_for_status()
            second = registry.wait_for(
                "left", lambda p: has_read(2)(p) and is_state(StreamState.COMPLETED)(p)
            )

    # A record and a marker of each transaction; behind the last record that is read there are only markers.
    assert (dict(first.offsets), dict(second.offsets)) == ({0: 4}, {0: 6})
    assert free is None
    assert (seen["state"], seen["desired_state"], seen["epoch"]) == ("COMPLETED", "RUNNING", 1)
    assert client.get(f"{stream}/status").json()["state"] == "COMPLETED"
    assert [row["a"] for row in bed.rows("a")] == ["first", "later"]


def test_a_consumer_group_shows_the_position_of_the_table_unless_it_has_members(
    bed: IngestBed,
) -> None:
    registry = Registry(bed)
    client = HttpClient(create_app(ServiceSettings(warehouse=bed.warehouse)))
    status = f"/v1/tables/{IDENTIFIER.replace('.', '/')}/streams"
    topic = bed.topic("both")
    free, taken = f"{topic}-free", f"{topic}-taken"
    bed.produce(topic, [{**left(key, 1, "x"), "b": 0.5} for key in range(5)])
    consumer = KafkaConsumer(topic, bootstrap_servers=bed.broker.bootstrap_servers, group_id=taken)
    admin = KafkaAdminClient(bootstrap_servers=bed.broker.bootstrap_servers)
    try:
        wait_until(lambda: consumer.poll(timeout_ms=10) or consumer.assignment())
        with running_runner(bed):
            for name, group, kind in (
                ("left", free, "available_now"),
                ("right", taken, "continuous"),
            ):
                registry.register(
                    name, topic=topic, trigger={"type": kind}, mirror_consumer_group=group
                )
            for name in ("left", "right"):
                registry.wait_for(name, lambda p: has_read(5)(p) and p.mirror is not None)
            mirrored = registry.wait_for("left", is_state(StreamState.COMPLETED))
            refused = registry.wait_for(
                "right", lambda p: p.mirror is not None and p.mirror.error is not None
            )
        found = admin.list_group_offsets({free: None})[free]
    finally:
        admin.close()
        consumer.close()

    offsets = {part.partition: entry.offset for part, entry in found.items()}
    assert offsets == dict(bed.position("left").offsets) == {0: 3, 1: 2}
    assert mirrored.mirror is not None
    assert mirrored.mirror.error is None
    assert refused.mirror is not None
    assert "the group has active members" in str(refused.mirror.error)
    assert dict(bed.position("right").offsets) == {0: 3, 1: 2}
    shown = client.get(f"{status}/left/status").json()["mirror"]
    assert (shown["group"], shown["error"]) == (free, None)
    assert shown["mirrored_at"] is not None


def test_a_stopped_stream_is_set_back_over_http_and_reads_again(bed: IngestBed) -> None:
    registry = Registry(bed)
    client = HttpClient(create_app(ServiceSettings(warehouse=bed.warehouse)))
    topic = bed.topic("right")
    stream = f"/v1/tables/{IDENTIFIER.replace('.', '/')}/streams/right"
    bed.produce(topic, [{"id": number % 4, "b": number / 2} for number in range(20)])
    registry.register("right", topic=topic)
    with running_runner(bed):
        measured = {0: 10, 1: 10}
        registry.wait_for("right", lambda p: has_read(20)(p) and p.end_offsets == measured)
        early = client.put(f"{stream}/offsets", json={"offsets": {"0": 4}})
        client.post(f"{stream}/stop").raise_for_status()
        registry.wait_for("right", is_state(StreamState.STOPPED))
        rows = bed.rows("b")
        shown = client.get(f"{stream}/offsets")
        etag = shown.headers["etag"]
        beyond = client.put(f"{stream}/offsets", json={"offsets": {"0": 11}})
        moved = client.put(
            f"{stream}/offsets", json={"offsets": {"0": 4}}, headers={"if-match": etag}
        )
        client.post(f"{stream}/start").raise_for_status()
        registry.wait_for("right", has_read(26))

    assert (early.status_code, beyond.status_code, moved.status_code) == (409, 422, 200)
    assert shown.json()["offsets"] == shown.json()["end_offsets"] == {"0": 10, "1": 10}
    assert shown.json()["beginning_offsets"] == {"0": 0, "1": 0}
    assert moved.json()["partitions"]["0"]["read_again"] == 6
    after = client.get(f"{stream}/offsets").json()
    assert (after["generation"], after["offsets"]) == (0, {"0": 10, "1": 10})
    assert after["read_again"] == {"0": [{"start": 4, "end": 10}]}
    assert bed.position("right").account.records == 26
    assert bed.rows("b") == rows


def letters_command(bed: IngestBed, command: str, *options: str) -> Result:
    """Run a command of dead letters of the stream `left`."""
    where = ["--warehouse", bed.warehouse, "--kafka", bed.broker.bootstrap_servers]
    return CliRunner().invoke(app, ["stream", command, IDENTIFIER, "left", *where, *options])


def test_dead_letters_are_listed_and_replayed_by_commands_and_over_http(bed: IngestBed) -> None:
    registry = Registry(bed)
    client = HttpClient(create_app(ServiceSettings(warehouse=bed.warehouse)))
    topic = bed.topic("left", partitions=1)
    stream = f"/v1/tables/{IDENTIFIER.replace('.', '/')}/streams/left"
    letters = f"{stream}/dead-letters"
    long = "x" * 200
    bed.produce(topic, [left(1, 1, long), left(1, 2, "newer"), left(2, 1, long), b"{"])
    registry.register("left", topic=topic, max_message_bytes=100)
    with running_runner(bed):
        registry.wait_for("left", has_read(4))
        first = client.get(letters, params={"limit": 2}).json()
        page = {"limit": 2, "page_token": first["next_page_token"]}
        second = client.get(letters, params=page).json()
        declared = {"topic": topic, "trigger_ms": 100, "partitioned_by_key": True}
        listed = letters_command(bed, "dead-letters", "--limit", "2")
        as_json = letters_command(bed, "dead-letters", "--output", "json", "--reason", "malformed")
        client.put(stream, json=declared).raise_for_status()
        chosen = ("--reason", "too_large", "--offsets", "0:0-1")
        replayed = letters_command(bed, "replay", *chosen)
        again = letters_command(bed, "replay", *chosen)
        in_vain = letters_command(bed, "replay", "--reason", "malformed")
        client.post(f"{letters}/replay", json={"reasons": ["too_large"]}).raise_for_status()
        numbers = {"limit": 0}
        wait_until(lambda: client.get(letters, params=numbers).json()["replay"]["result"])
        after = client.get(letters).json()
        status = client.get(f"{stream}/status").json()
        counted = letters_command(bed, "dead-letters")

    assert [line.split(":")[:2] for line in listed.stdout.splitlines()] == [
        ["0", "0 open too_large"],
        ["0", "2 open too_large"],
    ]
    assert "3 dead letters (1 malformed, 2 too_large), 0 replayed" in listed.stderr
    (malformed,) = map(json.loads, as_json.stdout.splitlines())
    assert (malformed["offset"], malformed["value"]) == (3, "{")
    assert (replayed.exit_code, json.loads(replayed.stdout)["accepted"]) == (0, 1)
    assert json.loads(again.stdout)["accepted"] == 0
    assert (in_vain.exit_code, json.loads(in_vain.stdout)["failed_again"]) == (1, {"malformed": 1})
    assert counted.stderr.strip().endswith("2 replayed")
    shown = [(one["offset"], one["standing"]) for one in first["letters"] + second["letters"]]
    assert shown == [(0, "open"), (2, "open"), (3, "open")]
    assert after["replay"]["result"]["accepted"] == 1
    assert [one["standing"] for one in after["letters"]] == ["replayed", "replayed", "open"]
    assert after["counts"] == {
        "total": 3,
        "replayed": 2,
        "open": 1,
        "by_reason": {"malformed": 1, "too_large": 2},
        "replayed_by_reason": {"too_large": 2},
    }
    assert (status["dead_letters"], status["replayed_dead_letters"]) == (
        {"malformed": 1, "too_large": 2},
        2,
    )
    assert {row["id"]: row["a"] for row in bed.rows("a")} == {1: "newer", 2: long}


def test_a_waiting_stream_reports_why_and_affects_no_other(bed: IngestBed) -> None:
    registry = Registry(bed)
    topic = bed.topic("right")
    registry.register("left", topic="nobody-made-it")
    registry.register("right", topic=topic)
    bed.produce(topic, [{"id": 1, "b": 0.5}])
    with running_runner(bed):
        failed = registry.wait_for("left", is_state(StreamState.RETRYING))
        registry.wait_for("right", has_read(1))
        bed.broker.create_topics({"nobody-made-it": 1})
        bed.produce("nobody-made-it", [left(1, 1, "x")])
        registry.restart("left")
        mended = registry.wait_for("left", has_read(1))

    assert failed.trace is not None
    assert "there is no such topic" in failed.trace
    assert (mended.state, mended.trace) == (StreamState.RUNNING, None)
    assert bed.rows("a", "b") == [{"id": 1, "a": "x", "b": 0.5}]


def test_a_stream_outlives_an_outage_of_its_broker(
    bed: IngestBed, caplog: pytest.LogCaptureFixture
) -> None:
    """Away for longer than Spark's query lasts: the stream reports it, waits, and loses nothing."""
    caplog.set_level(logging.CRITICAL, logger="kafka")  # as in a runner; its records hold sockets
    registry = Registry(bed)
    topic = bed.topic("left")
    bed.produce(topic, [left(key, 1, "x") for key in range(10)])
    # Spark itself would ask for three minutes before it ends a query.
    impatient = {"default.api.timeout.ms": "5000", "request.timeout.ms": "5000"}
    registry.register("left", topic=topic, kafka={"options": impatient})

    def has_retried(progress: StreamProgress) -> bool:
        is_waiting = progress.state is StreamState.RETRYING and progress.failure is not None
        return is_waiting and "attempt 2" in (progress.trace or "")

    with running_runner(bed):
        before = registry.wait_for("left", lambda p: has_read(10)(p) and p.lag_records == 0)
        bed.broker.kill()
        try:
            waiting = registry.wait_for("left", has_retried)
        finally:
            bed.broker.start()
        bed.produce(topic, [left(key, 2, "y") for key in range(20)])
        after = registry.wait_for("left", lambda p: has_read(30)(p) and p.lag_records == 0)
    gc.collect()

    assert waiting.failure is not None
    assert waiting.failure.next_attempt_ms is not None
    assert waiting.lag_records is None
    assert waiting.broker_reached_ms is not None
    assert before.broker_reached_ms is not None
    assert after.broker_reached_ms is not None
    assert waiting.failure.since_ms > waiting.broker_reached_ms >= before.broker_reached_ms
    assert after.broker_reached_ms > waiting.failure.since_ms
    assert (after.state, after.trace, after.failure) == (StreamState.RUNNING, None, None)
    assert bed.rows("a") == [{"id": key, "a": "y"} for key in range(20)]
    assert bed.position("left").account.records == 30
    assert bed.batch_accounts("left") == bed.position("left").account


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_runner_that_slept_past_its_time_to_live_finds_another_at_work(bed: IngestBed) -> None:
    """Two processes with two Spark drivers; the first to get both streams is put to sleep, and later the other is killed."""
    registry = Registry(bed)
    lefts, rights = bed.topic("left"), bed.topic("right")
    registry.register("left", topic=lefts)
    registry.register("right", topic=rights)

    def produce(first: int) -> None:
        bed.produce(lefts, [left(key, 1, f"{key}") for key in range(first, first + 10)])
        bed.produce(rights, [{"id": key, "b": float(key)} for key in range(first, first + 10)])

    with runner_process(bed, "sleeper") as sleeper, runner_process(bed, "heir") as heir:
        produce(0)
        # Whichever starts first has both streams.
        for name in ("left", "right"):
            registry.wait_for(name, has_read(10))
        first = registry.holders.holder(IDENTIFIER, "left")
        assert first is not None
        names = {"sleeper": sleeper, "heir": heir}
        asleep_name = first
        asleep = names.pop(asleep_name)
        ((awake_name, _),) = names.items()
        os.kill(asleep.pid, signal.SIGSTOP)
        try:
            produce(10)
            for name in ("left", "right"):
                registry.wait_for(name, has_read(20), runner=awake_name)
        finally:
            os.kill(asleep.pid, signal.SIGCONT)
        produce(20)
        for name in ("left", "right"):
            registry.wait_for(name, has_read(30), runner=awake_name)
        registry.wait_for("left", is_state(StreamState.UNASSIGNED), runner=asleep_name)
        # The heir dies: the other one has been alive all the time, and goes on with both.
        names[awake_name].kill()
        produce(30)
        for name in ("left", "right"):
            registry.wait_for(name, has_read(40), runner=asleep_name)
        children = _descendants(asleep.pid)
        assert _ended(asleep) == 0

    assert not [pid for pid in children if _is_alive(pid)]
    assert registry.holders.holder(IDENTIFIER, "left") is None
    assert bed.rows("a", "b") == [{"id": k, "a": f"{k}", "b": float(k)} for k in range(40)]
    assert bed.file_rows() == 80
    for name in ("left", "right"):
        assert bed.batch_accounts(name) == bed.position(name).account
        assert bed.position(name).account.records == 40


def _ended(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE_S)


def _descendants(process_id: int) -> set[int]:
    children = Path(f"/proc/{process_id}/task").glob("*/children")
    direct = {int(word) for path in children for word in path.read_text().split()}
    return direct.union(*map(_descendants, direct))


def _is_alive(process_id: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{process_id}/stat").read_text()
    return False
