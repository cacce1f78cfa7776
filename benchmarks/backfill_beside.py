"""Benchmark of a live stream beside a backfill: the time from a produced record to its commit, with and without.

    python -m benchmarks.backfill_beside [--rows 10000000] [--share 0.3]

The broker, the runner, the producer and the backfill run on one machine. Rounds without and with the backfill
alternate. At the end of its round the backfill is killed; it continues in its next round, until it has read all its
rows or `--rounds` are over. The time of a record ends with the snapshot that contains its offset. The share of the
backfill is the processor time of its processes divided by the time that they ran, with their starts.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from kafka import KafkaProducer

from benchmarks.machine import machine
from braid.demo.broker import KafkaBroker
from braid.demo.processes import Supervisor
from braid.lake import Catalog, InvalidRequest, LocalFileIO, SystemClock, Table, backfill_name
from braid.lake.commit.streams.stream_position import batch_of
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec

TABLE = "bench.rows"
STREAM = "s"
NAME = "history"
TRIGGER_MS = 200
AIM = 1.2
"""Of the times with the backfill over those without."""
_FILES = 10
_START_S = 300.0
_SPEC = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "version", "type": "BIGINT"},
        *({"name": f"n{number}", "type": "BIGINT"} for number in range(5)),
        *({"name": f"t{number}", "type": "STRING"} for number in range(3)),
    ],
    "primary_key": ["id"],
    "buckets": 4,
    "sequence_groups": [
        {
            "name": STREAM,
            "ordering": ["version"],
            "columns": [f"n{number}" for number in range(5)]
            + [f"t{number}" for number in range(3)],
        }
    ],
}


@dataclass(kw_only=True)
class Round:
    """A round.

    Attributes:
        has_backfill: Whether the backfill ran.
        first: Offset of the first record that counts.
        end: Offset after the last one.
        wall_s: Time that the process of the backfill ran.
        processor_s: Its processor time.
    """

    has_backfill: bool
    first: int
    end: int = 0
    wall_s: float = 0.0
    processor_s: float = 0.0


@dataclass(kw_only=True)
class Beside:
    """A stream of one partition, its producer, and a backfill of the same keys."""

    warehouse: str
    servers: str
    files: Path
    rows: int
    rate: int
    share: float
    produced_ms: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        file_io, clock = LocalFileIO(), SystemClock()
        self._clock = clock
        self._catalog = Catalog(self.warehouse, file_io=file_io, clock=clock)
        store = RegistryStore(file_io, self.warehouse, clock)
        registrar = Registrar(store, self._catalog, clock)
        registrar.put_table("bench", "rows", TableSpec.model_validate(_SPEC))
        definition = {"topic": "t", "partitioned_by_key": True, "trigger_ms": TRIGGER_MS}
        registrar.put_stream(TABLE, STREAM, StreamDefinition.model_validate(definition))
        self._producer = KafkaProducer(bootstrap_servers=self.servers, linger_ms=0)
        self._chance = np.random.default_rng(3)

    @property
    def table(self) -> Table:
        """The table, opened anew."""
        return self._catalog.table(TABLE)

    def read(self) -> int:
        """Return the number of records of the stream that are committed."""
        position = self.table.committer().stream_positions().get(STREAM)
        return 0 if position is None else position.account.records

    def produce(self, seconds: float) -> None:
        """Send records for a time, ten times a second."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            ids = self._chance.integers(0, self.rows, self.rate // 10).tolist()
            for key in ids:
                record = {"id": key, "version": len(self.produced_ms), "n0": 1, "t0": "live"}
                self.produced_ms.append(self._clock.now_ms())
                self._producer.send("t", orjson.dumps(record))
            self._producer.flush()
            time.sleep(max(0.0, now + 0.1 - time.monotonic()))

    def round(self, seconds: float, *, has_backfill: bool) -> Round:
        """Produce for a time, and wait until the stream has read all of it."""
        # The backfill reads its first rows some seconds after its process has begun.
        process = self._start() if has_backfill else None
        start = time.monotonic()
        self.produce(seconds / 4)
        found = Round(has_backfill=has_backfill, first=len(self.produced_ms))
        self.produce(seconds)
        found.end = len(self.produced_ms)
        if process is not None:
            # `Popen.kill` reaps a process that has ended by itself, and its usage would be lost.
            os.kill(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            found.wall_s = time.monotonic() - start
            found.processor_s = usage.ru_utime + usage.ru_stime
        self.wait()
        return found

    def wait(self) -> None:
        """Wait until the stream has read all records."""
        deadline = time.monotonic() + _START_S
        while self.read() < len(self.produced_ms):
            if time.monotonic() > deadline:
                message = f"{self.read()} of {len(self.produced_ms)} records after {_START_S:g} s"
                raise TimeoutError(message)
            time.sleep(0.2)

    def backfilled(self) -> int:
        """Return the number of rows that the backfill has committed."""
        position = self.table.committer().stream_positions().get(backfill_name(STREAM, NAME))
        return 0 if position is None else position.account.records

    def latencies_ms(self) -> npt.NDArray[np.float64]:
        """Return for each record, by offset, the time from its production to its commit; NaN where that is not known any more."""
        committed = commit_times_ms(self.table, len(self.produced_ms))
        latencies: npt.NDArray[np.float64] = committed - np.array(self.produced_ms)
        return latencies

    def _start(self) -> "subprocess.Popen[bytes]":
        options = {
            "warehouse": self.warehouse,
            "from": self.files,
            "name": NAME,
            "rejects": f"{self.files}.rejects",
            "share": self.share,
            # Some commits in each round: what is not committed is read again.
            "rows-per-commit": max(1, self.rows // 100),
        }
        given = [f"--{name}={value}" for name, value in options.items()]
        command = [sys.executable, "-m", "braid", "stream", "backfill", TABLE, STREAM, *given]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def commit_times_ms(table: Table, records: int) -> npt.NDArray[np.float64]:
    """Return for each record of the stream, by offset, when it was committed; NaN where the snapshot has expired."""
    committed = np.full(records, np.nan)
    newest = table.latest_snapshot()
    assert newest is not None, "records were committed"
    for number in range(1, newest.id + 1):
        try:
            snapshot = table.snapshot(number)
        except InvalidRequest:  # expired
            continue
        batch = batch_of(snapshot)
        if batch is not None and batch.stream == STREAM:
            committed[batch.start[0] : batch.end[0]] = snapshot.time_millis
    return committed


def write_files(folder: Path, rows: int) -> None:
    """Write rows of 10 columns with random keys, in files of Parquet."""
    folder.mkdir()
    chance = np.random.default_rng(7)
    texts = np.array([f"a text of some length, number {number}" for number in range(1_000)])
    count = -(-rows // _FILES)
    for number in range(_FILES):
        columns: dict[str, pa.Array] = {
            "id": pa.array(chance.integers(0, rows, count)),
            "version": pa.array(np.arange(count) % 1_000),
        }
        columns |= {f"n{n}": pa.array(chance.integers(0, 1 << 40, count)) for n in range(5)}
        columns |= {f"t{n}": pa.array(chance.choice(texts, count)) for n in range(3)}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=250_000)


def report(beside: Beside, rounds: list[Round]) -> None:
    """Print the figures."""
    latencies = beside.latencies_ms()
    found: dict[bool, list[float]] = {}
    for has_backfill in (False, True):
        chosen = [latencies[r.first : r.end] for r in rounds if r.has_backfill is has_backfill]
        every = np.concatenate(chosen)
        every = every[~np.isnan(every)]
        found[has_backfill] = [
            float(each) for each in (every.mean(), *np.percentile(every, [50, 95]))
        ]
        name = "beside the backfill" if has_backfill else "alone"
        mean, p50, p95 = found[has_backfill]
        print(
            f"  {name:<22} {len(every):>9,} records   mean {mean:6.0f} ms   median {p50:6.0f} ms   95 % {p95:6.0f} ms"
        )
    ratios = [with_ / without for without, with_ in zip(found[False], found[True], strict=True)]
    print(
        f"  ratio (aim {AIM})        mean {ratios[0]:.2f}   median {ratios[1]:.2f}   95 % {ratios[2]:.2f}"
    )
    wall = sum(one.wall_s for one in rounds)
    processor = sum(one.processor_s for one in rounds)
    print(
        f"  backfill: {beside.backfilled():,} rows in {wall:.0f} s of {len(rounds) // 2} processes, each killed unless "
        f"it was at the end; "
        f"{processor / wall:.2f} of a core, declared share {beside.share:g}"
    )


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backfill_beside")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the backfill")
    parser.add_argument("--share", type=float, default=0.3, help="share of the backfill")
    parser.add_argument("--rate", type=int, default=1_000, help="live records a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a round")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each kind, at most")
    given = parser.parse_args()
    print(machine())
    with (
        tempfile.TemporaryDirectory(prefix="braid-bench-") as folder,
        KafkaBroker(Path(folder) / "kafka") as broker,
        Supervisor(Path(folder) / "logs") as supervisor,
    ):
        broker.create_topics({"t": 1})
        beside = Beside(
            warehouse=str(Path(folder) / "warehouse"),
            servers=broker.bootstrap_servers,
            files=Path(folder) / "rows",
            rows=given.rows,
            rate=given.rate,
            share=given.share,
        )
        write_files(beside.files, given.rows)
        supervisor.start_module(
            "runner", "braid", "runner", "--warehouse", beside.warehouse,
            "--kafka", broker.bootstrap_servers, "--name", "runner",
        )  # fmt: skip
        # Until Spark is up and the stream has read for a while, nothing is measured.
        beside.produce(1)
        beside.wait()
        beside.round(given.seconds, has_backfill=False)
        rounds: list[Round] = []
        while len(rounds) < 2 * given.rounds and beside.backfilled() < given.rows:
            rounds += [beside.round(given.seconds, has_backfill=is_on) for is_on in (False, True)]
        report(beside, rounds)


if __name__ == "__main__":
    main()
