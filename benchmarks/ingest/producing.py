"""Program that produces messages of the ingest benchmark at a steady rate.

    python -m benchmarks.ingest.producing SERVERS RATE SECONDS KEYS FIRST OUT stream=topic …

The topics take turns. The times at which messages were passed to the producer are written to OUT (`.npz`): one
array of milliseconds since 1970 UTC for each `<stream>/<partition>`. The times are in the order of the offsets,
because this process is the only producer and sends one request at a time.
"""

import sys
import time
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Producer

from benchmarks.ingest.shape import PARTITIONS, key_of, message
from braid.lake import SystemClock

_TICK_S = 0.005


def main(arguments: Sequence[str]) -> None:
    """Produce as the command line says."""
    servers, rate, seconds, keys, first, out, *pairs = arguments
    topics = dict(pair.split("=", 1) for pair in pairs)
    sent = produce(
        servers, topics, rate=int(rate), seconds=int(seconds), keys=int(keys), first=int(first)
    )
    arrays: dict[str, Any] = {
        f"{stream}/{part}": np.asarray(times) for (stream, part), times in sent.items()
    }
    with Path(out).open("wb") as file:
        np.savez(file, **arrays)


def produce(
    servers: str, topics: Mapping[str, str], *, rate: int, seconds: int, keys: int, first: int
) -> dict[tuple[str, int], "array[int]"]:
    """Send messages at a rate, and return when the broker has them.

    Args:
        servers: Of the broker, `host:port`.
        topics: Topic by stream.
        rate: Messages per second, all topics together.
        seconds: How long.
        keys: Number of keys.
        first: Number of the first message of each topic.

    Returns:
        Times by stream and partition.
    """
    clock = SystemClock()
    # A client in C: made by a client in Python, the records took a third of the two cores that are measured.
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "acks": "all",
            "linger.ms": 5,
            "max.in.flight.requests.per.connection": 1,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    streams = list(topics)
    sent = {(stream, part): array("q") for stream in streams for part in range(PARTITIONS)}
    total, done = rate * seconds // len(streams) * len(streams), 0
    start = time.monotonic()
    while done < total:
        due = min(total, int((time.monotonic() - start) * rate) + 1)
        for turn in range(done, due):
            stream = streams[turn % len(streams)]
            number = first + turn // len(streams)
            part = key_of(number, keys) % PARTITIONS
            value = message(stream, number, keys)
            sent[stream, part].append(clock.now_ms())
            producer.produce(topics[stream], value, partition=part)
        done = due
        producer.poll(0)
        time.sleep(_TICK_S)
    producer.flush()
    return sent


if __name__ == "__main__":
    main(sys.argv[1:])
