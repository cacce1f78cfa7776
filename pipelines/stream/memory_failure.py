"""Memory failures: the errors of a task or of the runner that too little memory causes, and their meaning. Pure.

| the error's text has | what has happened |
|---|---|
| `MemoryError`, also Arrow's and numpy's, `Cannot allocate memory`, `Python daemon failed to launch worker` | a Python process got no memory from the system |
| `java.lang.OutOfMemoryError` | the heap of Spark's JVM is full |
| `Python worker exited unexpectedly`; `EOFException` in `PythonWorkerFactory` | a worker was killed (most often by the kernel, because memory ran out), or got no more memory, or crashed |

The innermost error of such a text does not show the cause: it is `Connection reset` for a worker that was killed, and `Broken
pipe` for a worker that got no memory, because Spark still sends records when the worker ends.
"""

import re
from typing import Final

_SMALLER: Final = "declare a smaller `max_bytes_per_batch` or `max_records_per_batch` of the stream"
_OF_SYSTEM: Final = f"give the runner's container or machine more memory, run it with fewer `--cores`, or {_SMALLER}"
HEAP_HINT: Final = f"start the runner with a larger `--memory`, or {_SMALLER}"
"""The hint for a full heap of Spark's JVM."""
# Python prints an error without a message without a colon.
_KINDS: Final = (
    (
        re.compile(
            r"^(?:[\w.]+\.)?_?(?:Arrow|Array)?MemoryError(?::|$)"
            r"|\bCannot allocate memory\b|\bPython daemon failed to launch worker\b",
            re.MULTILINE,
        ),
        "a Python process of the runner got no memory from the system",
        _OF_SYSTEM,
    ),
    (
        re.compile(r"\bjava\.lang\.OutOfMemoryError\b"),
        "the heap of Spark's JVM is full",
        HEAP_HINT,
    ),
    (
        re.compile(
            r"\bPython worker exited unexpectedly\b"
            # It ended before it could say that it had begun.
            r"|\bjava\.io\.EOFException\b[^\n]*\n[^\n]*DataInputStream\.readInt\b[^\n]*\n[^\n]*\bat org\.apache\.spark\.api\.python\.PythonWorkerFactory\."
        ),
        "a Python worker of Spark ended within a micro-batch: the system killed it because "
        "memory ran out, or it could not get more memory, or it crashed",
        _OF_SYSTEM,
    ),
)


def memory_failure(text: str) -> str | None:
    """Return what has happened, in words, with a hint as the second line; None for an error of another kind.

    Args:
        text: Class and message of an error, with the traces of tasks that Spark puts into it.

    Example:
        >>> print(memory_failure("MemoryError: "))
        a Python process of the runner got no memory from the system; the micro-batch is written again
        hint: give the runner's container or machine more memory, run it with fewer `--cores`, or declare a smaller `max_bytes_per_batch` or `max_records_per_batch` of the stream
    """
    for sign, what, hint in _KINDS:
        if sign.search(text):
            return f"{what}; the micro-batch is written again\nhint: {hint}"
    return None
