"""Worker processes of Braid's side of a comparison: all get the same request, and their answers are summed.

Each process does its share of the work, and is bound to one core. Processes share a core only if there are more
processes than cores.
"""

import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

import pyarrow as pa

Answer = dict[str, float]
RequestT = TypeVar("RequestT")


class WorkerProcesses(Generic[RequestT]):
    """Several processes that answer requests at the same time."""

    def __init__(self, processes: int, make: Callable[[int], Callable[[RequestT], Answer]]) -> None:
        """Start the processes.

        Args:
            processes: How many.
            make: Called in each of them with its number, from 0; returns the function that answers requests.
        """
        cores = sorted(os.sched_getaffinity(0))
        self._ends: list[Connection] = []
        for number in range(processes):
            ours, theirs = multiprocessing.Pipe()
            core = cores[number % len(cores)]
            multiprocessing.get_context("fork").Process(
                target=_serve, args=(make, number, core, theirs), daemon=True
            ).start()
            self._ends.append(ours)

    def answer(self, request: RequestT, *, by: int | None = None) -> Answer:
        """Send a request to the processes, and return the sum of their answers.

        Args:
            request: The same for each.
            by: The number of processes, the first ones; None means all.

        Returns:
            Sums; `wall_ms` is the time until the last one was done, present only if each answer has
            one.
        """
        ends = self._ends[:by]
        start = time.perf_counter()
        for end in ends:
            end.send(request)
        parts: list[Answer] = [end.recv() for end in ends]
        wall_ms = 1_000 * (time.perf_counter() - start)
        total = {key: sum(part[key] for part in parts) for key in parts[0]}
        if "checksum" in total:
            total["checksum"] = int(total["checksum"]) % (1 << 64)
        return {**total, "wall_ms": wall_ms} if "wall_ms" in total else total


def timed(work: Callable[[], Answer]) -> Answer:
    """Return the answer of some work, with the milliseconds of the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    answer = work()
    return {
        **answer,
        "wall_ms": 1_000 * (time.perf_counter() - wall),
        "cpu_ms": 1_000 * (time.process_time() - processor),
    }


def _serve(
    make: Callable[[int], Callable[[RequestT], Answer]],
    number: int,
    core: int,
    requests: Connection,
) -> None:
    os.sched_setaffinity(0, {core})
    pa.set_cpu_count(1)
    answer = make(number)
    while True:
        requests.send(answer(requests.recv()))
