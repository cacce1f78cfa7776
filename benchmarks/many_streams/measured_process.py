"""Process that is measured: it writes its calls to storage, processor time and memory as JSON whenever a line is read from it.

A process of its own, with the imports of its kind alone, so that its memory is that of a runner or a service.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO

from benchmarks.many_streams.counted_storage import CountedStorage
from benchmarks.resident_memory import peak_resident_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a process has used during some time.

    Attributes:
        seconds: The time.
        calls: Calls to storage, by method.
        processor_s: Processor time, seconds.
        peak_bytes: Peak resident memory since the process began.
    """

    seconds: float
    calls: Mapping[str, int]
    processor_s: float
    peak_bytes: int


class MeasuredProcess:
    """A process that is measured.

    Attributes:
        port: At which it listens; 0: at none.
    """

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers
        self.port = int(answers.readline())

    def costs(self) -> Costs:
        """Return the costs since the last time, or since it was ready."""
        self._questions.write("costs\n")
        self._questions.flush()
        return Costs(**json.loads(self._answers.readline()))


@contextmanager
def measured(module: str, warehouse: str) -> Iterator[MeasuredProcess]:
    """Run a module of this folder as a program meanwhile."""
    command = [sys.executable, "-m", f"benchmarks.many_streams.{module}", warehouse]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        yield MeasuredProcess(process.stdin, process.stdout)
        process.stdin.close()  # the process ends


def answer_questions(storage: CountedStorage, *, port: int) -> None:
    """Say that this process is ready, and answer until nobody asks any more.

    Args:
        storage: The storage of this process.
        port: At which it listens; 0: at none.
    """

    def written(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    began_s, processor_s = time.monotonic(), time.process_time()
    storage.taken()
    written(str(port))
    for _ in sys.stdin:
        now_s, used_s = time.monotonic(), time.process_time()
        costs = Costs(
            seconds=now_s - began_s,
            calls=dict(storage.taken()),
            processor_s=used_s - processor_s,
            peak_bytes=peak_resident_bytes(),
        )
        began_s, processor_s = now_s, used_s
        written(json.dumps(asdict(costs)))
