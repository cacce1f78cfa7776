"""Runs all tests as processes side by side: `python -m tests.side_by_side [pytest's arguments]`.

The tests are parts, and one more than the machine has cores run at once. Parts that start servers begin first: they
take the longest, and wait part of their time. Those that compute fill the gaps, with a lower priority. More parts at
once would take longer: servers that wait for a core do so by asking again and again.

Each part collects the files that it has tests in, and no others. With arguments, which go to each part, those with
servers are one part and the others too, and each part collects what they name. With a choice of markers (`-m`), or on one core, there is one
process.

`--unit` as the first argument runs the fast tests of `tests/unit`; with more arguments, those that they name.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO

ALWAYS = "not benchmark and not soak and not cdc"
SERVERS = "(integration or spark)"
_SERVED = f"{ALWAYS} and {SERVERS}"
BESIDE = {
    _SERVED: ("integration", "spark"),
    f"{ALWAYS} and interop and not {SERVERS}": ("interop",),
}
"""Choices of tests with servers and of tests with Java, and their markers."""
ALONE = tuple(
    f"tests/integration/test_{name}.py" for name in ("chaos", "cluster", "flights", "wheel")
)
"""Files whose tests start their own servers: beside those that share them they take no longer."""
WITH_A_BROWSER = "tests/console/"
"""Folder of tests that need what only a system's package manager has: `make console-test` runs them."""
OTHERS = f"{ALWAYS} and not interop and not {SERVERS}"
FAST = f"{OTHERS} and not slow"
UNIT_GROUPS = (
    ("tests/unit/lake",),
    ("tests/unit/client", "tests/unit/docs", "tests/unit/service"),
    ("tests/unit/formats", "tests/unit/registry"),
)
"""Folders of `tests/unit` by part, for its fast tests; all others of it are one more."""
WHOLLY_BESIDE = ("tests/integration", "tests/interop")
"""Folders in which every test has one of those markers."""
LONG = (
    ("tests/property",),
    ("tests/unit/lake/maintenance", "tests/unit/lake/table"),
)
"""Folders of which each group takes longer than all that are in no part of their own."""
SHORT = ("tests/conformance", "tests/unit/client", "tests/unit/docs", "tests/unit/service")
"""Folders that together take somewhat less: the part that begins last is to end with the others."""
AFTER = ("nice", "-n", "5")
"""Before the command of a part that computes: servers that wait for each other are not to wait for it, too."""
MORE_THAN_CORES = 1
"""Parts that run at once, besides one for each core: parts with servers wait part of their time."""
NOTHING_CHOSEN = 5
"""Pytest's exit code when no test was chosen; a part may be empty."""
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""Of every part: tests start Python hundreds of times, and each would compile the code anew."""
_PRINTING = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Tests that one process runs.

    Attributes:
        name: Of the part, in the output.
        arguments: Pytest's.
        before: Stands before the command.
    """

    name: str
    arguments: Sequence[str]
    before: Sequence[str] = ()


def main(arguments: Sequence[str]) -> int:
    """Return pytest's exit code: 0 when every part passed."""
    if arguments[:1] == ["--unit"]:
        if arguments[1:]:
            return _run([*arguments[1:], "-m", FAST])
        return _run_all(_fast_parts())
    if (os.cpu_count() or 1) < 2 or any(argument.startswith("-m") for argument in arguments):
        return _run(arguments)
    return _run_all(_chosen_parts(arguments) if arguments else _all_parts())


def _fast_parts() -> list[Part]:
    left = [f"--ignore={folder}" for folders in UNIT_GROUPS for folder in folders]
    return [
        *(
            Part(name=" ".join(folders), arguments=[*folders, "-m", FAST])
            for folders in UNIT_GROUPS
        ),
        Part(name="others", arguments=["tests/unit", *left, "-m", FAST]),
    ]


def _chosen_parts(arguments: Sequence[str]) -> list[Part]:
    choices = {**{choice: markers[0] for choice, markers in BESIDE.items()}, OTHERS: "others"}
    return [
        Part(name=name, arguments=[*arguments, "-m", choice]) for choice, name in choices.items()
    ]


def _all_parts() -> list[Part]:
    """Return all parts, in the order in which they begin."""
    served, java = BESIDE
    apart = [folder for folders in (WHOLLY_BESIDE, *LONG, SHORT) for folder in folders]
    longest, *long = [_computing(" ".join(folders), folders) for folders in LONG]
    return [
        *(
            Part(name=f"servers {number}", arguments=[*files, "-m", served])
            for number, files in enumerate(_halves(_files_beside(served)), 1)
        ),
        Part(name="servers of their own", arguments=[*ALONE, "-m", ALWAYS]),
        longest,
        _computing("others", [f"--ignore={folder}" for folder in apart]),
        Part(name="Java", arguments=[*_files_beside(java), "-m", java]),
        *long,
        _computing(" ".join(SHORT), SHORT),
    ]


def _computing(name: str, arguments: Sequence[str]) -> Part:
    return Part(name=name, arguments=[*arguments, "-m", OTHERS], before=AFTER)


def files_with(markers: Sequence[str]) -> list[str]:
    """Return the test files that name one of the markers, sorted.

    To collect a file takes a while, and there are hundreds; to search them takes none.
    """
    named = re.compile(rf"\bmark\.({'|'.join(markers)})\b")
    files = sorted(Path("tests").rglob("test_*.py"))
    return [str(file) for file in files if named.search(file.read_text(encoding="utf-8"))]


def _files_beside(choice: str) -> list[str]:
    """Return the files of a choice that its parts share."""
    return [
        file
        for file in files_with(BESIDE[choice])
        if file not in ALONE and not file.startswith(WITH_A_BROWSER)
    ]


def _halves(files: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    return files[::2], files[1::2]


def _run_all(parts: Sequence[Part]) -> int:
    """Run parts, a few at once; the output of each is told when it has ended."""
    at_once = (os.cpu_count() or 1) + MORE_THAN_CORES
    print(f"{len(parts)} parts, {at_once} at once; the output of each comes at its end", flush=True)
    codes = []
    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(_run_part, part) for part in parts]
        try:
            for number, ended in enumerate(as_completed(running), 1):
                codes.append(ended.result())
                with _PRINTING:
                    print(f"{number} of {len(parts)} parts have ended\n", flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    failed = [code for code in codes if code not in (0, NOTHING_CHOSEN)]
    return failed[0] if failed else min(codes)


def _run_part(part: Part) -> int:
    """Run a part, and tell its output when it has ended."""
    with _PRINTING:
        print(f"begins: {part.name}", flush=True)
    start = time.monotonic()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        _pytest([*part.arguments, "-p", "no:cacheprovider"]) as command,
    ):
        code = subprocess.run(
            [*part.before, *command],
            env=ENVIRONMENT,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
        with _PRINTING:
            _print_all(output)
            print(f"\n{part.name}: ended after {time.monotonic() - start:.0f} s", flush=True)
    return code


def _run(arguments: Sequence[str]) -> int:
    """Run pytest with its output shown as it comes."""
    with _pytest(arguments) as command:
        return subprocess.run(command, env=ENVIRONMENT, check=False).returncode


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
