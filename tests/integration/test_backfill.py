"""A range of a topic comes into the table beside the live stream, as its own reader reads it."""

import json
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from typer.testing import CliRunner, Result

from braid.cli.main import app
from braid.demo.broker import KafkaBroker
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
    assert "it has, by partition: 0: 0 to 12, 1: 0 to 4" in refused.stderr
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


def run(bed: BackfillBed, kafka: KafkaBroker, start: str, end: str) -> Result:
    options: dict[str, Any] = {
        "warehouse": bed.warehouse,
        "topic": TOPIC,
        "from-offsets": start,
        "to-offsets": end,
        "kafka": kafka.bootstrap_servers,
        "rejects": bed.folder / "rejects.jsonl",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    return CliRunner().invoke(app, ["stream", "backfill", TABLE, "s", *arguments])


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
