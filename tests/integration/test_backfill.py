"""Backfills by the command line: of a range of a topic, from an object store, and killed beside the live stream."""

import gzip
import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kafka import KafkaProducer
from typer.testing import CliRunner, Result

from braid.cli.main import app
from braid.demo.broker import KafkaBroker
from braid.demo.s3_server import S3Server
from braid.lake import ManualClock, SystemClock
from tests.support.s3_storage import s3_file_io
from tests.unit.backfill.bed import PARCELS, TABLE, BackfillBed

pytestmark = pytest.mark.integration

TOPIC = "backfilled-parcels"
PARTITIONS = 2
COLUMNS = [
    {"column": "id", "source": "key"},
    {"column": "version"},
    {"column": "city"},
    {"column": "weight", "source": "header"},
]


def test_a_range_of_a_topic_is_read_once_by_the_streams_reader(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    """Aborted records and the markers of transactions are passed over; offsets beyond the range stay unread."""
    stream = {"topic": TOPIC, "columns": COLUMNS}
    bed = BackfillBed(tmp_path, spec=PARCELS, stream=stream)
    kafka.create_topics({TOPIC: PARTITIONS})
    produce(kafka)

    # Each transaction has 3 records in partition 0 and a marker behind them; the second one is aborted.
    refused = run(bed, kafka, "0:0,1:0", "0:13,1:0")
    first = run(bed, kafka, "0:0,1:0", "0:12,1:3")
    again = run(bed, kafka, "0:0,1:0", "0:12,1:3")
    other = run(bed, kafka, "0:0,1:0", "0:11,1:3")

    assert refused.exit_code == 2
    assert (
        "offsets that the topic has (partition: first to end): 0: 0 to 12, 1: 0 to 4"
        in refused.stderr
    )
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    assert "9 rows, 3 written, 5 folded, 0 left out, 1 refused" in first.stdout
    assert other.exit_code == 2
    assert "cannot continue" in other.stderr
    assert bed.rows("id", "version", "city", "weight") == [
        (0, 12, "committed", 1),
        (1, 12, "committed", 1),
        (7, 1, "other", None),
    ]
    (row,) = [row for row in bed.table.scan().to_arrow().to_pylist() if row["id"] == 7]
    assert (row["s__offset"] >> 48, row["s__offset"] & (1 << 48) - 1, row["s__partition"]) == (
        -32_768,
        1,
        1,
    )
    (reject,) = map(json.loads, (tmp_path / "rejects.jsonl").read_text().splitlines())
    assert (reject["partition"], reject["offset"], reject["reason"], reject["key"]) == (
        1,
        2,
        "malformed",
        "8",
    )


def test_files_of_an_object_store_are_read(
    s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed = BackfillBed(tmp_path)
    folder = f"{s3_server.warehouse}/older-parcels"
    store = s3_file_io(s3_server)
    parquet = io.BytesIO()
    rows = {"id": range(1_000), "version": pa.array([1] * 1_000, pa.int32())}
    pq.write_table(pa.table(rows), parquet, row_group_size=100)
    store.write_new(f"{folder}/parquet/day=1/a.parquet", parquet.getvalue())
    store.write_new(f"{folder}/csv/b.csv.gz", gzip.compress(b"id,version,city\n7,2,Linz\n"))
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)

    outputs = [
        invoke(bed, {"from": f"{folder}/{kind}", "name": kind}) for kind in ("parquet", "csv")
    ]

    assert [output.exit_code for output in outputs] == [0, 0], outputs[-1].output
    found = bed.rows("id", "version", "city")
    assert len(found) == 1_000
    assert found[6:9] == [(6, 1, None), (7, 2, "Linz"), (8, 1, None)]


def test_a_process_that_is_killed_again_and_again_comes_to_its_end_beside_the_stream(
    tmp_path: Path,
) -> None:
    bed = BackfillBed(tmp_path, clock=ManualClock(start_ms=SystemClock().now_ms()))
    files, keys = 24, 40
    for number in range(files):
        rows = [{"id": key, "version": number, "city": "older"} for key in range(keys)]
        bed.write_json(f"{number:02d}.jsonl", rows)

    for kill in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "braid", *arguments(bed, slow_options(bed))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_rows(bed, process, (kill + 1) * 4 * keys)
        process.kill()
        process.wait()
        # Of equal order the live record wins, whichever came first.
        bed.live(
            *({"id": key, "version": files - 1, "city": "live"} for key in range(kill, kill + 9))
        )
    finished = invoke(bed, {"from": bed.files})

    assert finished.exit_code == 0, finished.output
    assert f"{files * keys} rows, " in finished.stdout
    assert bed.rows("id", "version", "city") == [
        (key, files - 1, "live" if key < 11 else "older") for key in range(keys)
    ]
    assert bed.table.committer().stream_positions()["s"].account.records == 27


def slow_options(bed: BackfillBed) -> dict[str, Any]:
    """Return the options of a backfill that commits each file, and rests in between."""
    return {"from": bed.files, "rows-per-commit": 1, "rows-per-second": 200}


def wait_for_rows(bed: BackfillBed, process: "subprocess.Popen[bytes]", count: int) -> None:
    """Return when so many rows are in the table, or the process has ended."""
    while process.poll() is None:
        position = bed.table.committer().stream_positions().get("s/backfill/history")
        if position is not None and position.account.records >= count:
            return
        time.sleep(0.05)


def invoke(bed: BackfillBed, options: dict[str, Any]) -> Result:
    return CliRunner().invoke(app, arguments(bed, options))


def arguments(bed: BackfillBed, options: dict[str, Any]) -> list[str]:
    given = {"warehouse": bed.warehouse, "rejects": bed.folder / "rejects.jsonl"} | options
    return [
        "stream",
        "backfill",
        TABLE,
        "s",
        *(f"--{name}={value}" for name, value in given.items()),
    ]


def run(bed: BackfillBed, kafka: KafkaBroker, start: str, end: str) -> Result:
    options: dict[str, Any] = {
        "topic": TOPIC,
        "from-offsets": start,
        "to-offsets": end,
        "kafka": kafka.bootstrap_servers,
    }
    return invoke(bed, options)


def produce(kafka: KafkaBroker) -> None:
    """Write three transactions to partition 0, the second one aborted, and four records to partition 1."""
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers, transactional_id=f"{TOPIC}-writer"
    )
    producer.init_transactions()
    for number in range(3):
        producer.begin_transaction()
        city = "aborted" if number == 1 else "committed"
        for key in (b"0", b"1", b"0"):
            record = {"version": 10 + number, "city": city}
            send(producer, 0, key, record, headers=[("weight", b"1")])
        if number == 1:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    producer.close()
    with_partition_1 = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for value in ({"version": 0}, {"version": 1, "city": "other"}):
        send(with_partition_1, 1, b"7", value)
    with_partition_1.send(TOPIC, b"{", key=b"8", partition=1).get(timeout=30)
    send(with_partition_1, 1, b"7", {"version": 99, "city": "beyond"})
    with_partition_1.close()


def send(
    producer: KafkaProducer,
    partition: int,
    key: bytes,
    value: dict[str, Any],
    headers: list[tuple[str, bytes]] | None = None,
) -> None:
    data = json.dumps(value).encode()
    producer.send(TOPIC, data, key=key, partition=partition, headers=headers or []).get(timeout=30)
