"""Benchmark of bad records in a stream: what one in a thousand costs of the throughput from Kafka to the table.

    python -m benchmarks.bad_stream [--records 400000] [--rounds 4] [--formats JSON Avro]

A topic of each format has good messages, and another one has the same with one bad message in a thousand, of all kinds of
`bad_records` in turn. In each round, both are read once, each into a table of its own, by a stream with the trigger
`available_now` of a running runner. The processor time of broker, driver, JVM and Python workers counts, the least of all rounds
after the first, which warms up. Compactions do not count: they run beside the streams for a while after these have ended.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer

from benchmarks.bad_records import COST_MAX, EVERY, Case, cases, messages_by_kind
from benchmarks.figure import figure
from benchmarks.ingest.bed import IngestBed
from benchmarks.ingest.shape import CLUSTER, PARTITIONS
from benchmarks.machine import machine

_BATCH: Final = 100_000
_NONE, _MIXED = "none", "mixed"
_UNCOUNTED: Final = "compaction"


def measured(
    bed: IngestBed, formats: list[str], *, records: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield the figures of some formats.

    Args:
        bed: With a broker, a service and a runner.
        formats: Names of `bad_records.cases`.
        records: Records of a topic.
        rounds: Rounds, of which the first is not counted.
    """
    known = cases()
    for number, name in enumerate(formats):
        topics = {kind: f"bad-{number}-{kind}" for kind in (_NONE, _MIXED)}
        _fill(bed, topics, known[name], records)
        found: dict[str, list[float]] = {kind: [] for kind in topics}
        for turn in range(rounds):
            for kind in sorted(topics, reverse=bool(turn % 2)):
                seconds = _read_topic(bed, topics[kind], known[name], f"t{number}_{turn}_{kind}")
                found[kind].append(seconds)
        least = {kind: min(those[1:]) for kind, those in found.items()}
        yield figure(
            f"{name}: processor time", least[_NONE] / records * 1e6, "s for a million records"
        )
        cost = 100 * (1 - least[_NONE] / least[_MIXED])
        yield figure(f"{name}: one in {EVERY:,} bad costs", cost, "%", COST_MAX)


def _fill(bed: IngestBed, topics: dict[str, str], case: Case, records: int) -> None:
    by_kind = messages_by_kind(case, records)
    kinds = [messages for kind, messages in by_kind.items() if kind != _NONE]
    mixed = by_kind[_NONE].copy()
    for number in range(0, records, EVERY):
        mixed[number] = kinds[number // EVERY % len(kinds)][number]
    letters = {f"{topic}.dead-letters": 1 for topic in topics.values()}
    bed.broker.create_topics(dict.fromkeys(topics.values(), PARTITIONS) | letters)
    producer = KafkaProducer(bootstrap_servers=bed.broker.bootstrap_servers, linger_ms=50)
    for kind, messages in ((_NONE, by_kind[_NONE]), (_MIXED, mixed)):
        for number, message in enumerate(messages):
            producer.send(topics[kind], message, partition=number % PARTITIONS)
    producer.flush()
    producer.close()


def _read_topic(bed: IngestBed, topic: str, case: Case, name: str) -> float:
    """Return the processor time in which a stream reads a topic into a new table, in seconds."""
    path = f"/v1/tables/bad/{name}"
    key, *others = case.types
    bed.send(
        "PUT",
        path,
        {
            "columns": [{"name": column, "type": sql} for column, sql in case.types.items()],
            "primary_key": [key],
            "buckets": 4,
            "sequence_groups": [{"name": "s", "columns": others}],
        },
    )
    stream: dict[str, Any] = {
        "topic": topic,
        "format": case.format,
        "kafka": {"cluster": CLUSTER},
        "partitioned_by_key": True,
        "trigger": {"type": "available_now"},
        "max_records_per_batch": _BATCH,
    }
    if case.format["type"] == "debezium":
        stream["on_delete"] = "ignore"
    before = _seconds(bed)
    bed.send("PUT", f"{path}/streams/s", stream)
    bed.wait_until(lambda: bed.send("GET", f"{path}/streams/s/status")["state"] == "COMPLETED")
    return _seconds(bed) - before


def _seconds(bed: IngestBed) -> float:
    usage = bed.watch.usage()
    kinds = [kind for kind in usage if kind.startswith(("driver", "broker"))]
    return sum(usage[kind].cpu_s for kind in kinds if _UNCOUNTED not in kind)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--formats", nargs="+", choices=[*cases()], default=["JSON", "Avro"])
    arguments = parser.parse_args()
    print(machine(), flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        IngestBed(Path(folder)) as bed,
    ):
        bed.start_broker()
        bed.start_service()
        bed.start_runner()
        started = time.monotonic()
        for found in measured(
            bed, arguments.formats, records=arguments.records, rounds=arguments.rounds
        ):
            aim = "" if found["aim"] is None else f"   (aim {found['aim']:g})"
            print(f"{found['name']:<60} {found['value']:8.2f} {found['unit']}{aim}", flush=True)
        print(f"{time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
