"""The main job under crashes, and hosted by several runners: the demo at a small scale. The README's shell example runs with it.

`tests/unit/docs` runs the README's examples of Python.
"""

import os
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.demo.flights_data import (
    STREAMS,
    FlightStream,
    count_differences,
    load_flights,
    stream_history,
)
from braid.demo.flights_run import FlightsRun
from braid.demo.s3_fault_proxy import Faults
from braid.demo.s3_server import S3Server
from braid.lake import Table
from tests.interop.java_reader import read_to_parquet
from tests.support.doc_examples import ROOT, doc_examples
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SCALE = 0.01


def test_a_runner_of_two_is_killed_on_a_store_with_faults(
    tmp_path: Path, s3_server: S3Server
) -> None:
    flights = load_flights(SCALE)
    expected = expected_records(flights)
    batch = sum(expected.values()) // 16
    s3_server.proxy.faults = Faults.of(0.05)
    with FlightsRun(
        tmp_path, scale=SCALE, trigger_ms=300, max_records_per_batch=batch, object_store=s3_server
    ) as run:
        run.start_broker()
        run.start_service()
        run.register()
        doomed = run.start_runner("runner-1", streams=STREAMS[1:])
        wait_for_host(run, STREAMS[1:], doomed.name)
        heir = run.start_runner("runner-2")
        wait_for_host(run, STREAMS[:1], heir.name)
        run.start_producers()
        moment = drawn_moments().random()
        wait_for_records(run, int(sum(expected.values()) * moment))
        run.crash(doomed)
        statuses = run.wait_until_ingested(expected, timeout_s=PATIENCE_S)
        rows = run.read_flights()
        accounts = accounts_in_snapshots(run.table())
        # The server keeps an object as a file of the same name.
        folder = s3_server.data_dir / run.table().path.removeprefix(f"s3://{s3_server.bucket}/")
        java_files = read_to_parquet(folder, tmp_path / "java")
        java_rows = pa.concat_tables(pq.ParquetFile(file).read() for file in java_files)
        s3_server.proxy.faults = Faults()
        answers = answers_to_readme(run)

    assert '"paid":"12.50"' in answers
    assert '"complete":true' in answers
    assert '"dep_time":517' in answers
    assert statuses[STREAMS[0].name]["worker_id"] == heir.name
    assert count_differences(flights, rows) == (flights.num_rows, 0)
    assert count_differences(flights, java_rows) == (flights.num_rows, 0)
    assert accounts == expected
    assert s3_server.proxy.injected["refused"] > 10
    assert s3_server.proxy.injected["lost"] > 10


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_runner_killed_twenty_times_loses_and_repeats_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, kills=20, scale=0.4)


def check_kills(work_dir: Path, *, kills: int, scale: float) -> None:
    """Kill the runner at random moments; rows and accounts have to be as if nothing had happened."""
    moments = drawn_moments()
    flights = load_flights(scale)
    expected = expected_records(flights)
    batch = sum(expected.values()) // (8 * kills)
    with FlightsRun(work_dir, scale=scale, trigger_ms=300, max_records_per_batch=batch) as run:
        run.start_broker()
        run.start_service()
        run.register()
        run.start_producers()
        for kill in range(kills):
            runner = run.start_runner(f"runner-{kill}")
            share = (kill + moments.random()) / (kills + 1)
            wait_for_records(run, int(sum(expected.values()) * share))
            run.crash(runner)
        run.start_runner("runner-last")
        run.wait_until_ingested(expected, timeout_s=PATIENCE_S)
        rows = run.read_flights()
        accounts = accounts_in_snapshots(run.table())

    assert count_differences(flights, rows) == (flights.num_rows, 0)
    assert accounts == expected


def answers_to_readme(run: FlightsRun) -> str:
    """Run the README's shell example, which registers a table and a stream and reads rows, and return what it printed."""
    readme = ROOT / "README.md"
    (example,) = doc_examples(readme, "bash")
    done = subprocess.run(
        ["bash", "-e", "-c", example.text],
        env={**os.environ, "API": run.api, "KAFKA": run.broker.bootstrap_servers},
        cwd=readme.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def drawn_moments() -> random.Random:
    """Return what the moments of kills are drawn from; its seed is printed."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    return random.Random(seed)


def expected_records(flights: pa.Table) -> dict[str, int]:
    return {stream.name: stream_history(flights, stream).num_rows for stream in STREAMS}


def wait_for_host(run: FlightsRun, streams: Sequence[FlightStream], runner: str) -> None:
    """Return as soon as a runner reports that it hosts the streams."""
    run.wait_until(
        lambda: {run.stream_statuses()[one.name]["worker_id"] for one in streams} == {runner},
        timeout_s=PATIENCE_S,
    )


def wait_for_records(run: FlightsRun, goal: int) -> None:
    """Return as soon as the table's snapshots account for that many records, over all streams."""
    run.wait_until(lambda: sum(accounts_in_table(run).values()) >= goal, timeout_s=PATIENCE_S)


def accounts_in_table(run: FlightsRun) -> Mapping[str, int]:
    return accounts_in_snapshots(run.table())


def accounts_in_snapshots(table: Table) -> dict[str, int]:
    """Return the records of every batch account in the table's snapshots, summed per stream."""
    records: Counter[str] = Counter()
    latest = table.latest_snapshot()
    for snapshot_id in range(1, latest.id + 1 if latest else 1):
        batch = (table.snapshot(snapshot_id).properties or {}).get("braid.batch")
        if batch is not None:
            entry = orjson.loads(batch)
            records[entry["stream"]] += sum(
                entry["account"][part]
                for part in ("accepted", "folded", "ignored", "dead_lettered")
            )
    return dict(records)
