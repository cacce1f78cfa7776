"""Benchmark of rows over HTTP: `python -m benchmarks.serve [--rows 10000000] [--json figures.json]`.

The server has one core, the load another one. Every kind of request is sent as fast as it is answered, and then at a rate. The same
is measured with a bound of memory, with records that are written and compacted meanwhile, for the same rows in Redis, and with access
tokens and a reader of the service's metrics.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.machine import machine
from benchmarks.serve import load
from benchmarks.serve.load import Load, LoadFailed, Result
from benchmarks.serve.questions import PRESENT, QUESTIONS, Question
from benchmarks.serve.records_beside import records_beside
from benchmarks.serve.redis_rows import redis_service
from benchmarks.serve.server import (
    MemoryUnbounded,
    Server,
    braid_service,
    braid_service_with_access,
)
from benchmarks.serve.wide_rows import create_rows

PARTS: Final = ("idle", "memory", "ingest", "redis", "access")
RATE: Final = 3_000.0
"""Requests a second."""

_SHARE: Final = 0.5
"""Part of the greatest rate at which requests are sent that are slower than twice `RATE`."""

OPEN: Final = "open"
TOKENS: Final = "tokens"
"""The two servers of the part `access`."""

_MEMORY_MB: Final = 256
_RECORDS: Final = 1_000
_CONNECTIONS: Final = 32
_WARM_S: Final = 3.0
_WARM_ROUNDS: Final = 20
_ACCESS_ROUNDS: Final = 6
"""Of each of two servers in turn, so that both have the same noise."""

_STEADY: Final = 1.1
"""The rate of a warm server grows by less than this between two rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of one kind of request.

    Attributes:
        part: The state of the server.
        question: The kind.
        greatest: Without a rate.
        rate: Requests a second of `paced`.
        paced: At that rate.
        processor_us: Processor time of the server for one request of `greatest`.
        peak_mb: The most memory that the server had until then, pages of mapped files included.
        own_mb: Memory that it had then, without pages of files.
    """

    part: str
    question: str
    greatest: Result
    rate: float
    paced: Result
    processor_us: float
    peak_mb: float
    own_mb: float


class Bench:
    """Measurements of one table."""

    def __init__(self, warehouse: str, arguments: argparse.Namespace) -> None:
        """Create the table."""
        self.warehouse = warehouse
        self.rows: int = arguments.rows
        self.seconds: float = arguments.seconds
        self.core, self.load_core = cores()
        started = time.monotonic()
        self.table = create_rows(warehouse, self.rows)
        os.sync()
        print(f"{self.rows:,} rows written in {time.monotonic() - started:.0f} s", flush=True)

    def idle(self) -> Iterator[Measured]:
        """Yield what a server without a bound of memory does."""
        with braid_service(self.warehouse, core=self.core) as server:
            yield from self._all("idle", server, QUESTIONS)

    def memory(self) -> Iterator[Measured]:
        """Yield what a server with a bound of memory does."""
        options = ["--lookup-memory-mb", "32"]
        with braid_service(
            self.warehouse, core=self.core, memory_mb=_MEMORY_MB, options=options
        ) as server:
            yield from self._all(f"{_MEMORY_MB} MB", server, QUESTIONS)

    def ingest(self) -> Iterator[Measured]:
        """Yield what a server does while records are written and compacted."""
        with braid_service(self.warehouse, core=self.core) as server:
            self._warm(server, PRESENT)
            with records_beside(self.warehouse, rows=self.rows, rate=_RECORDS, core=self.load_core):
                time.sleep(_WARM_S)
                yield from self._all("ingest", server, QUESTIONS)

    def redis(self) -> Iterator[Measured]:
        """Yield what the same rows in Redis do."""
        with redis_service(
            self.warehouse, self.table, core=self.core, redis_core=self.load_core
        ) as server:
            yield from self._all("Redis", server, [PRESENT])

    def access(self) -> Iterator[Measured]:
        """Yield what servers without and with access tokens and a reader of their metrics do, in turn."""
        with (
            braid_service(self.warehouse, core=self.core) as open_server,
            braid_service_with_access(self.warehouse, core=self.core) as server,
        ):
            for each in (open_server, server):
                self._warm(each, PRESENT)
            for _ in range(_ACCESS_ROUNDS):
                yield self._measured(OPEN, open_server, PRESENT)
                yield self._measured(TOKENS, server, PRESENT)

    def _all(self, part: str, server: Server, questions: Sequence[Question]) -> Iterator[Measured]:
        for question in questions:
            self._warm(server, question)
            yield self._measured(part, server, question)

    def _measured(self, part: str, server: Server, question: Question) -> Measured:
        before = server.processor_s()
        greatest = self._run(server, question, self.seconds, None)
        processor_s = server.processor_s() - before
        rate = min(RATE, greatest.per_s * _SHARE)
        return Measured(
            part=part,
            question=question.name,
            greatest=greatest,
            rate=rate,
            paced=self._run(server, question, self.seconds, rate),
            processor_us=processor_s / max(1, greatest.answers) * 1e6,
            peak_mb=server.peak_mb(),
            own_mb=server.own_mb(),
        )

    def _warm(self, server: Server, question: Question) -> None:
        """Ask until files have copies and the rate does not grow any more."""
        best = 0.0
        for _ in range(_WARM_ROUNDS):
            found = self._run(server, question, _WARM_S, None).per_s
            server.wait_idle()
            if found < best * _STEADY:
                return
            best = max(best, found)

    def _run(
        self, server: Server, question: Question, seconds: float, rate: float | None
    ) -> Result:
        given = Load(
            port=server.port,
            question=question.name,
            rows=self.rows,
            seconds=seconds,
            connections=question.connections if rate is None else _CONNECTIONS,
            rate=rate,
            token=server.token,
        )
        return load.run(given, core=self.load_core)


def cores() -> tuple[int, int]:
    """Return the core of the server and that of the load."""
    found = sorted(os.sched_getaffinity(0))
    if len(found) < 2:
        message = "this benchmark needs two cores, one for the server and one for the load"
        raise SystemExit(message)
    return found[0], found[1]


def line(measured: Measured) -> str:
    """Return the line that shows what was measured."""
    greatest, paced = measured.greatest, measured.paced
    wrong = greatest.wrong | paced.wrong
    return (
        f"  {measured.part:<8} {measured.question:<16} {greatest.per_s:>8,.0f}/s "
        f"{measured.processor_us:>7,.0f} us of the processor   at {measured.rate:>6,.0f}/s: "
        f"p50 {paced.p50_ms:6.2f}  p95 {paced.p95_ms:6.2f}  p99 {paced.p99_ms:7.2f} ms   "
        f"{measured.peak_mb:>6,.0f} MB, {measured.own_mb:,.0f} without files"
        + (f"   wrong: {wrong}" if wrong else "")
    )


def main() -> None:
    """Measure the parts and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--json", type=Path, default=Path("bench-serve.json"), help="raw results")
    arguments = parser.parse_args()
    parts = arguments.parts or PARTS
    if unknown := sorted({*parts} - {*PARTS}):
        parser.error(f"no such part: {', '.join(unknown)}")
    print(machine(), flush=True)
    found: list[Measured] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as warehouse:
        bench = Bench(warehouse, arguments)
        for part in parts:
            try:
                for measured in getattr(bench, part)():
                    found.append(measured)
                    print(line(measured), flush=True)
            except MemoryUnbounded as error:
                print(f"  {part}: {error}", flush=True)
            except LoadFailed as error:
                failed.append(part)
                print(f"  {part}: {error}", flush=True)
    _print_ratios(found)
    raw: list[dict[str, Any]] = [asdict(each) for each in found]
    arguments.json.write_text(json.dumps(raw, indent=1), encoding="utf-8")
    print(f"raw results: {arguments.json}")
    if failed:
        message = f"not measured to the end: {', '.join(failed)}"
        raise SystemExit(message)


def _print_ratios(found: Sequence[Measured]) -> None:
    rounds = {name: [each for each in found if each.part == name] for name in (OPEN, TOKENS)}
    if rounds[TOKENS]:
        processor, per_s = (
            median(value(each) for each in rounds[TOKENS])
            / median(value(each) for each in rounds[OPEN])
            for value in (attrgetter("processor_us"), attrgetter("greatest.per_s"))
        )
        print(
            f"  with tokens and metrics over without: {per_s:.2f} times the rate (aim 0.9), {processor:.2f} times the processor"
        )
    by_name = {(each.part, each.question): each for each in found}
    idle = by_name.get(("idle", PRESENT.name))
    if idle is None:
        return
    p50, p99 = idle.paced.p50_ms, idle.paced.p99_ms
    if (redis := by_name.get(("Redis", PRESENT.name))) is not None:
        print(f"  p50 over that of Redis: {p50 / redis.paced.p50_ms:.2f} (aim 1.3)")
    if (ingest := by_name.get(("ingest", PRESENT.name))) is not None:
        print(f"  p99 during ingest over that without: {ingest.paced.p99_ms / p99:.2f} (aim 1.3)")
    status = by_name[("idle", "status of a row")]
    ratio = status.processor_us / idle.processor_us
    print(f"  processor time of a status over that of a row: {ratio:.2f} (aim 1.3)")


if __name__ == "__main__":
    main()
