"""Producer of one stream: a program that sends the stream's history to its topic.

    python -m braid.demo.flights_producer --stream departures --bootstrap-servers 127.0.0.1:9092

All messages of a flight go to one partition, as if the primary key were the Kafka key.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import orjson
import pyarrow as pa
from kafka import KafkaProducer

from braid.demo.flights_data import PRIMARY_KEY, STREAMS, FlightStream, load_flights, stream_history

ROWS_PER_SLICE = 20_000


def main() -> int:
    """Send one stream's messages; return the process's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", required=True, choices=[stream.name for stream in STREAMS])
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the data set, in (0, 1]")
    parser.add_argument("--partitions", type=int, default=2, help="of the topic")
    arguments = parser.parse_args()
    stream = next(stream for stream in STREAMS if stream.name == arguments.stream)
    history = stream_history(load_flights(arguments.scale), stream)
    sent = send(
        history,
        stream,
        bootstrap_servers=arguments.bootstrap_servers,
        partitions=arguments.partitions,
    )
    sys.stdout.write(f"{stream.name}: {sent} messages sent to {stream.topic}\n")
    return 0


def send(
    history: pa.Table, stream: FlightStream, *, bootstrap_servers: str, partitions: int
) -> int:
    """Send every row of the history as one JSON message, in order, and return when all are acknowledged.

    Args:
        history: As `stream_history` returns it.
        stream: The stream whose topic is written.
        bootstrap_servers: Of the Kafka cluster, `host:port,…`.
        partitions: How many the topic has.

    Returns:
        How many messages were acknowledged: all.

    Raises:
        KafkaError: Kafka has refused a message.
    """
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers,
        acks="all",
        linger_ms=50,
        batch_size=512 * 1024,
    )
    refused: list[Exception] = []
    for value, partition in messages(history, partitions=partitions):
        sending = producer.send(stream.topic, value, partition=partition)
        sending.add_errback(refused.append)
    # A request that ends in an error counts as flushed.
    producer.flush()
    producer.close()
    if refused:
        raise refused[0]
    return len(history)


def messages(history: pa.Table, *, partitions: int) -> Iterator[tuple[bytes, int]]:
    """Yield each row as (JSON text, partition); nulls are written out as `null`."""
    for start in range(0, history.num_rows, ROWS_PER_SLICE):
        rows = history.slice(start, ROWS_PER_SLICE)
        targets = _partition_of_key(rows, partitions)
        for row, partition in zip(rows.to_pylist(), targets, strict=True):
            yield orjson.dumps(row, option=orjson.OPT_UTC_Z), partition


def _partition_of_key(rows: pa.Table, partitions: int) -> list[int]:
    """Return a partition per row that depends on the primary key alone."""
    mixed = np.zeros(rows.num_rows, dtype=np.uint64)
    for name in PRIMARY_KEY:
        column = rows[name].combine_chunks()
        if pa.types.is_string(column.type):
            encoded = column.dictionary_encode()
            letters = [int.from_bytes(text.encode()) for text in encoded.dictionary.to_pylist()]
            values = np.array(letters, dtype=np.uint64)[encoded.indices.to_numpy()]
        else:
            values = column.to_numpy().astype(np.uint64)
        mixed = mixed * np.uint64(1_000_003) + values
    targets: list[int] = ((mixed >> np.uint64(7)) % np.uint64(partitions)).tolist()
    return targets


if __name__ == "__main__":
    sys.exit(main())
