"""Runs `braid …` as a process of its own, without loading its code anew each time.

Processes are forked from one that has done nothing but import: each has its own memory, signals, exit
status and output, as if it had been started from a shell, and costs hundredths of a second of
processor time where a new Python costs one.
"""

import contextlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from types import MappingProxyType

from braid.cli.main import main

TIMEOUT_S = 600
# What commands import when they run. Nothing here starts threads, which a fork would lose.
_LOADED = ["braid.cli.compaction", "braid.cli.maintenance", "braid.cli.tags", "pytest"]


def run_braid(
    *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
) -> CompletedProcess[str]:
    """Run the program to its end and return its exit status and what it wrote.

    Args:
        arguments: After `braid`.
        environment: Added to that of this process.

    Raises:
        TimeoutExpired: It took minutes, and was killed.
    """
    with tempfile.TemporaryDirectory(prefix="braid-program-") as folder:
        outputs = Path(folder, "stdout"), Path(folder, "stderr")
        process = fork_server().Process(
            target=_run, args=(arguments, *map(str, outputs), dict(environment))
        )
        process.start()
        process.join(TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutExpired(["braid", *arguments], TIMEOUT_S)
        status = process.exitcode
        process.close()
        written = [output.read_text(encoding="utf-8") for output in outputs]
    return CompletedProcess(["braid", *arguments], status, *written)


@cache
def fork_server() -> ForkServerContext:
    """Return where processes are forked from one that has imported most of it."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([__name__, *_LOADED])
    return server


def _run(arguments: tuple[str, ...], stdout: str, stderr: str, environment: dict[str, str]) -> None:
    """Do in the forked process what `python -m braid` does."""
    os.environ.update(environment)
    for number, path in ((1, stdout), (2, stderr)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["braid", *arguments]
    with contextlib.suppress(BrokenPipeError):
        main()
