"""End-to-end benchmark: the demo's throughput, and the time until a produced record is read from the table by its key.

The broker, the producers, Spark and the service run on this machine at the same time. So the rows
per second are those of all of them together, not of the ingest alone.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from kafka import KafkaProducer

from benchmarks.figure import figure
from braid.demo.flights_data import STREAMS, load_flights, stream_history
from braid.demo.flights_run import FlightsRun

SCALE = 0.3
TRIGGER_MS = 100
PROBES = 20
POLL_S = 0.005
TIMEOUT_S = 900.0


def run() -> list[dict[str, Any]]:
    """Return the end-to-end figures.

    Returns:
        Dicts of name, value, unit and aim (None: measured, not aimed at).
    """
    flights = load_flights(SCALE)
    expected = {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        FlightsRun(Path(folder), scale=SCALE, trigger_ms=TRIGGER_MS) as flights_run,
    ):
        flights_run.start_broker()
        flights_run.start_service()
        flights_run.register()
        flights_run.start_runner("runner-1")
        # The first probe waits until Spark is up, so that its start is not in the throughput.
        _commit_latency_ms(flights_run, version=0)
        start = time.monotonic()
        flights_run.start_producers()
        flights_run.wait_until_ingested(expected, timeout_s=TIMEOUT_S)
        ingest_s = time.monotonic() - start
        latencies = sorted(
            _commit_latency_ms(flights_run, version=version) for version in range(3, 3 + PROBES)
        )
    return [
        figure(
            "demo: records produced, ingested and committed",
            sum(expected.values()) / ingest_s,
            "records/s",
        ),
        figure("one record, produced → committed, median", statistics.median(latencies), "ms"),
        figure("one record, produced → committed, 95 %", latencies[int(PROBES * 0.95) - 1], "ms"),
    ]


def _commit_latency_ms(flights_run: FlightsRun, *, version: int) -> float:
    """Produce one record and wait for the snapshot that holds it."""
    record = {
        "year": 2099, "month": 1, "day": 1, "carrier": "ZZ", "flight": 1, "origin": "ZZZ",
        "dep_time": 1, "dep_delay": 0, "departures_version": version,
    }  # fmt: skip
    producer = KafkaProducer(bootstrap_servers=flights_run.broker.bootstrap_servers)
    key = {name: record[name] for name in ("year", "month", "day", "carrier", "flight", "origin")}
    table = flights_run.table()
    start = time.monotonic()
    producer.send("flights.departures", orjson.dumps(record)).get()
    deadline = start + TIMEOUT_S
    while True:
        row = table.get(key, columns=["departures_version"])
        if row is not None and row["departures_version"] == version:
            break
        if time.monotonic() > deadline:
            message = f"record of version {version} was not committed in {TIMEOUT_S:g} s"
            raise TimeoutError(message)
        time.sleep(POLL_S)
        table.refresh()
    latency_ms = (time.monotonic() - start) * 1_000.0
    producer.close()
    return latency_ms
