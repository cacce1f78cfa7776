"""Runs all tests as two processes side by side: `python -m tests.side_by_side [pytest's arguments]`.

Those that start servers or Java wait much of their time, the others compute: together they take little
longer than the longer half alone. Arguments go to both. With a choice of markers (`-m`), or on one core, there
is one process.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

ALWAYS = "not benchmark and not soak"
WAITING = "(integration or spark or interop)"
SERVERS = f"{ALWAYS} and {WAITING}"
OTHERS = f"{ALWAYS} and not {WAITING}"
NOTHING_CHOSEN = 5
"""Pytest's exit code when no test was chosen; one of the halves may be empty."""


def main(arguments: Sequence[str]) -> int:
    """Return pytest's exit code: 0 when both halves passed."""
    if (os.cpu_count() or 1) < 2 or any(argument.startswith("-m") for argument in arguments):
        return subprocess.run(_pytest(arguments), check=False).returncode
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        command = _pytest([*arguments, "-m", SERVERS, "-p", "no:cacheprovider"])
        servers = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        print(
            "the tests that start servers or Java run beside these; their output comes last",
            flush=True,
        )
        try:
            others = subprocess.run(_pytest([*arguments, "-m", OTHERS]), check=False).returncode
            print("\nthe tests that start servers or Java are being waited for", flush=True)
            codes = (others, servers.wait())
        except BaseException:
            servers.terminate()
            servers.wait()
            raise
        finally:
            _print_all(output)
    failed = [code for code in codes if code not in (0, NOTHING_CHOSEN)]
    return failed[0] if failed else min(codes)


def _pytest(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", *arguments]


def _print_all(output: IO[str]) -> None:
    output.seek(0)
    for line in output:
        sys.stdout.write(line)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
