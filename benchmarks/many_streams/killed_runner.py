"""Program: two runners with Spark that share 20 streams of 2,000, of which one is killed: when its streams commit again, and memory.

    python -m benchmarks.many_streams.killed_runner [--streams 2000] [--running 20] [--seconds 60] [--trigger-ms 5000]

A real broker, service and runners. One message per second goes to each stream that runs. The killed runner's processes
end together, as those of a machine that stops.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Final

from kafka import KafkaProducer

from benchmarks.ingest.bed import DATABASE, IngestBed
from benchmarks.ingest.shape import stream_request, table_request, values_of
from benchmarks.machine import machine
from benchmarks.many_streams.many_tables import fill
from braid.lake import Catalog, LocalFileIO, SystemClock, Table
from braid.registry.store.assignments import AssignmentStore
from braid.registry.store.progress import stream_key

_STREAM: Final = "a"
_KEYS: Final = 1_000
_DEAD: Final = "dead"
_KEPT: Final = "kept"
_PERIOD_S: Final = 1.0
_POLL_S: Final = 0.2
_LIST: Final = "/v1/streams?expand=status&page_size=1000"


class _Commits:
    """The commits of tables, as seen from outside since this object was made."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """Look at tables, by the stream that writes each."""
        self._tables = tables
        self._newest: dict[str, int] = {}
        self._seen_s: dict[str, float] = {}
        self._longest_s: dict[str, float] = {}
        self._committed: set[str] = set()

    def look(self) -> set[str]:
        """Look at all tables now, and return the streams that have committed since the first look."""
        for key, table in self._tables.items():
            snapshot, now_s = table.latest_snapshot(), time.monotonic()
            found = 0 if snapshot is None else snapshot.id
            if key in self._newest and found != self._newest[key]:
                self._committed.add(key)
                self._longest_s[key] = max(self._longest_s.get(key, 0.0), now_s - self._seen_s[key])
            if found != self._newest.get(key):
                self._newest[key], self._seen_s[key] = found, now_s
        return self._committed

    def watch(self, seconds: float) -> None:
        """Look at all tables for some time."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self.look()
            time.sleep(_POLL_S)

    def longest_of(self, keys: Set[str]) -> float:
        """Return the longest time between two commits of one of some streams, in seconds."""
        return round(max(self._longest_s.get(key, 0.0) for key in keys), 1)


class _Messages:
    """One message per topic and second, from a thread, until the block ends."""

    def __init__(self, servers: str, topics: Sequence[str]) -> None:
        self._producer = KafkaProducer(bootstrap_servers=servers)
        self._topics = topics
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.close()

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(_PERIOD_S):
            value = json.dumps(values_of(_STREAM, number, _KEYS)).encode()
            for topic in self._topics:
                self._producer.send(topic, value)
            number += 1


def measure(*, streams: int, running: int, seconds: float, trigger_ms: int) -> dict[str, object]:
    """Return the figures of one run."""
    with (
        tempfile.TemporaryDirectory(prefix="braid-killed-runner-") as folder,
        IngestBed(Path(folder)) as bed,
    ):
        bed.start_broker()
        warehouse, file_io, clock = str(bed.warehouse), LocalFileIO(), SystemClock()
        fill(file_io, warehouse, clock, streams=streams - running, running=0)
        bed.start_service()
        topics = [f"live{number:02d}" for number in range(running)]
        bed.broker.create_topics(dict.fromkeys(topics, 1))
        assignments = AssignmentStore(file_io, warehouse, clock)

        def streams_of(name: str) -> set[str]:
            found = assignments.read().value
            member = found.runners.get(name)
            return set() if member is None else set(found.streams_of(member.owner))

        runners = {name: bed.start_runner(name=name) for name in (_DEAD, _KEPT)}
        bed.wait_until(lambda: len(assignments.read().value.runners) == len(runners))
        # Afterwards, so that the two share the streams.
        tables = {_key(topic): _registered(bed, topic, trigger_ms) for topic in topics}
        bed.wait_until(lambda: all(len(streams_of(name)) == running / 2 for name in runners))
        with _Messages(bed.broker.bootstrap_servers, topics):
            before = _Commits(tables)
            bed.wait_until(lambda: before.look() >= tables.keys())
            before.watch(seconds)
            lists_s = [_listed_s(bed) for _ in range(5)]
            lost, others = streams_of(_DEAD), streams_of(_KEPT)
            bed.kill(runners[_DEAD])
            killed_s, after = time.monotonic(), _Commits(tables)
            after.look()

            def are_assigned() -> bool:
                after.look()
                return streams_of(_KEPT) >= lost

            bed.wait_until(are_assigned)
            assigned_s = time.monotonic() - killed_s
            bed.wait_until(lambda: after.look() >= lost)
            committed_s = time.monotonic() - killed_s
            after.watch(seconds)
        return {
            "registered streams": streams,
            "streams of the killed runner": len(lost),
            "seconds until all are assigned": round(assigned_s, 1),
            "seconds until all have committed": round(committed_s, 1),
            "longest seconds between commits of another stream, before": before.longest_of(others),
            "longest seconds between commits of another stream, after": after.longest_of(others),
            "seconds of a list of 1,000 streams": [round(each, 2) for each in lists_s],
            "MB of the largest process, of all": {
                kind: [round(each.peak_bytes / 1e6), round(each.sum_bytes / 1e6)]
                for kind, each in bed.watch.usage().items()
            },
        }


def _key(topic: str) -> str:
    return stream_key(f"{DATABASE}.{topic}", _STREAM)


def _registered(bed: IngestBed, topic: str, trigger_ms: int) -> Table:
    """Create the table of a topic's name with its stream."""
    path = f"/v1/tables/{DATABASE}/{topic}"
    bed.send("PUT", path, table_request())
    request = stream_request(
        _STREAM, topic=topic, trigger_ms=trigger_ms, max_records_per_batch=100_000
    )
    bed.send("PUT", f"{path}/streams/{_STREAM}", request)
    return Catalog(str(bed.warehouse)).table(f"{DATABASE}.{topic}")


def _listed_s(bed: IngestBed) -> float:
    begun_s = time.monotonic()
    bed.send("GET", _LIST)
    return time.monotonic() - begun_s


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=2_000, help="registered streams")
    parser.add_argument("--running", type=int, default=20, help="streams that run, of all; even")
    parser.add_argument("--seconds", type=float, default=60, help="watched before and after")
    parser.add_argument("--trigger-ms", type=int, default=5_000, help="of each stream")
    given = parser.parse_args()
    print(machine())
    found = measure(
        streams=given.streams,
        running=given.running,
        seconds=given.seconds,
        trigger_ms=given.trigger_ms,
    )
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
