"""Runs all tests as processes side by side: `python -m tests.side_by_side [pytest's arguments]`.

Those that start servers wait much of their time, those that ask Java wait for it in turns, the others compute:
together they take little longer than the longest part alone. Those that start servers are three parts: two of the ones that
share Spark and a broker, and the ones that start their own. The others are four parts, so that they keep two
cores busy to the end; each part collects the files that it has tests in, and no others. With arguments, which go
to each part, those with servers are one part and the others too, and each part collects what they name. With a choice of markers (`-m`), or
on one core, there is one process.

`--unit` as the first argument runs the fast tests of `tests/unit`, in two parts; with more arguments, those that they name.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

ALWAYS = "not benchmark and not soak and not cdc"
SERVERS = "(integration or spark)"
_SERVED = f"{ALWAYS} and {SERVERS}"
BESIDE = {
    _SERVED: ("integration", "spark"),
    f"{ALWAYS} and interop and not {SERVERS}": ("interop",),
}
"""Choices of tests that run in the background, those with servers and those with Java, and their markers."""
ALONE = tuple(f"tests/integration/test_{name}.py" for name in ("chaos", "flights", "wheel"))
"""Files whose tests start their own servers: beside those that share them they take no longer."""
WITH_A_BROWSER = "tests/console/"
"""Folder of tests that need what only a system's package manager has: `make console-test` runs them."""
OTHERS = f"{ALWAYS} and not interop and not {SERVERS}"
FAST = f"{OTHERS} and not slow"
UNIT_BESIDE = ("tests/unit/lake", "tests/unit/registry", "tests/unit/formats")
"""Folders of `tests/unit` whose fast tests take about as long as all others of it."""
WHOLLY_BESIDE = ("tests/integration", "tests/interop")
"""Folders in which every test has one of those markers."""
LONG = (
    ("tests/conformance", "tests/property"),
    ("tests/unit/lake/maintenance", "tests/unit/lake/table"),
    ("tests/unit/client", "tests/unit/docs", "tests/unit/service"),
)
"""Folders of which each group takes about as long as all that are not named."""
AFTER = ("nice", "-n", "5")
"""Before the command of the others: servers that wait for each other are not to wait for them, too."""
NOTHING_CHOSEN = 5
"""Pytest's exit code when no test was chosen; a part may be empty."""
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""Of every part: tests start Python hundreds of times, and each would compile the code anew."""


def main(arguments: Sequence[str]) -> int:
    """Return pytest's exit code: 0 when every part passed."""
    if arguments[:1] == ["--unit"]:
        return _run_fast(arguments[1:])
    if (os.cpu_count() or 1) < 2 or any(argument.startswith("-m") for argument in arguments):
        return _run(arguments)
    with ExitStack() as stack:
        beside = [
            stack.enter_context(_running([*files, "-m", choice]))
            for choice, markers in BESIDE.items()
            for files in ([arguments] if arguments else _parts(markers))
        ]
        here = [*arguments, "-m", OTHERS]
        if not arguments:
            beside.append(stack.enter_context(_running([*ALONE, "-m", ALWAYS])))
            here += [f"--ignore={folder}" for folder in WHOLLY_BESIDE]
            for folders in LONG:
                running = _running([*folders, "-m", OTHERS], before=AFTER)
                beside.append(stack.enter_context(running))
                here += [f"--ignore={folder}" for folder in folders]
        print(
            "other tests, those that start servers or Java first of all, run beside these; "
            "their output comes last",
            flush=True,
        )
        codes = [_run(here, before=AFTER)]
        print("\nthe other tests are being waited for", flush=True)
        codes += [process.wait() for process in beside]
    failed = [code for code in codes if code not in (0, NOTHING_CHOSEN)]
    return failed[0] if failed else min(codes)


def _run_fast(arguments: Sequence[str]) -> int:
    if arguments:
        return _run([*arguments, "-m", FAST])
    ignored = [f"--ignore={folder}" for folder in UNIT_BESIDE]
    with _running([*UNIT_BESIDE, "-m", FAST]) as beside:
        codes = [_run(["tests/unit", *ignored, "-m", FAST]), beside.wait()]
    return max(codes)


def files_with(markers: Sequence[str]) -> list[str]:
    """Return the test files that name one of the markers, sorted.

    To collect a file takes a while, and there are hundreds; to search them takes none.
    """
    named = re.compile(rf"\bmark\.({'|'.join(markers)})\b")
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in files if named.search(file.read_text(encoding="utf-8"))]


def _parts(markers: Sequence[str]) -> list[list[str]]:
    """Return the files of each part: those that share servers wait for them most of the time, so they are two parts."""
    files = [
        file
        for file in files_with(markers)
        if file not in ALONE and not file.startswith(WITH_A_BROWSER)
    ]
    return [files[::2], files[1::2]] if markers == BESIDE[_SERVED] else [files]


@contextmanager
def _running(
    arguments: Sequence[str], *, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Run a part in the background; at the end of the block it has ended, and its output is told."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        _pytest([*arguments, "-p", "no:cacheprovider"]) as command,
    ):
        process = subprocess.Popen(
            [*before, *command],
            env=ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            _print_all(output)


def _run(arguments: Sequence[str], *, before: Sequence[str] = ()) -> int:
    with _pytest(arguments) as command:
        return subprocess.run([*before, *command], env=ENVIRONMENT, check=False).returncode


@contextmanager
def _pytest(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give the command of a part; its tests' folders are in one that ends with the block.

    In the folder that processes share by default each removes those of earlier runs, and one that finds
    another at it ends with an error after its last test.
    """
    with tempfile.TemporaryDirectory(prefix="braid-tests-", ignore_cleanup_errors=True) as folder:
        yield [sys.executable, "-m", "pytest", f"--basetemp={folder}/part", *arguments]


def _print_all(output: IO[str]) -> None:
    output.seek(0)
    for line in output:
        sys.stdout.write(line)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
