"""File of refused records on the local disk: each line is a JSON object with the record, its place and the reason.

Lines are written and synced before the commit whose account counts them, so no refused record is lost. If a
process ends after the lines are written and before the commit, the next process writes them again. Repeated lines
have the same file and row, or the same partition and offset.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from braid.backfill.json_text import strict_json_text
from braid.formats.fault import Fault
from braid.lake import LimitExceeded

_HELD_BYTES_MAX: Final = 8 << 20
MESSAGE_MAX: Final = 1_000


class TooManyRejects(LimitExceeded):
    """More records were refused than are allowed.

    Args:
        total: Number of refused records of the whole backfill.
        allowed: Number of allowed ones.
        fault: Why the last one is refused.
        path: The file of refused records.
    """

    def __init__(self, total: int, allowed: int, fault: Fault, path: Path) -> None:
        super().__init__(
            f"refused records: {total}, allowed: {allowed}; the last one: "
            f"{fault.reason.value}: {fault.message[:300]}\n"
            f"hint: {path} has them with their reasons; mend the source, or allow "
            "more with --rejects-max"
        )


class Rejects(Protocol):
    """Takes refused records."""

    @property
    def path(self) -> Path:
        """The file in which they are found at last."""
        ...

    def add(self, record: dict[str, Any], fault: Fault) -> None:
        """Hold a refused record (see `RejectFile`)."""
        ...

    def flush(self) -> None:
        """Store what is held, where this process stores it."""
        ...


class HeldRejects:
    """Holds the lines of refused records for another process, which appends them to its file."""

    def __init__(self, path: Path) -> None:
        """Hold nothing yet.

        Args:
            path: The file of the other process, for messages.
        """
        self._path = path
        self.lines: list[bytes] = []
        self.last_fault: Fault | None = None

    @property
    def path(self) -> Path:
        """The file of the other process."""
        return self._path

    def add(self, record: dict[str, Any], fault: Fault) -> None:
        """Hold a refused record."""
        self.lines.append(_line(record, fault))
        self.last_fault = fault

    def flush(self) -> None:
        """Do nothing: the other process stores them."""


class RejectFile:
    """Appends refused records to a file on the local disk."""

    def __init__(self, path: Path) -> None:
        """Choose the file, which is made with the first line."""
        self._path = path
        self._held: list[bytes] = []
        self._held_bytes = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def add(self, record: dict[str, Any], fault: Fault) -> None:
        """Hold a refused record until `flush`, or until many are held.

        Args:
            record: The record with its place, as a source describes it.
            fault: Why it is refused.

        Raises:
            OSError: The file cannot be written.
        """
        self.add_lines([_line(record, fault)])

    def add_lines(self, lines: Sequence[bytes]) -> None:
        """Hold lines of refused records, as `HeldRejects` has them.

        Raises:
            OSError: The file cannot be written.
        """
        self._held += lines
        self._held_bytes += sum(map(len, lines))
        if self._held_bytes >= _HELD_BYTES_MAX:
            self.flush()

    def forget(self) -> None:
        """Forget what is held: its records are read again."""
        self._held, self._held_bytes = [], 0

    def flush(self) -> None:
        """Write what is held, durable on return.

        Raises:
            OSError: The file cannot be written.
        """
        if not self._held:
            return
        is_new = not self._path.exists()
        with self._path.open("ab") as file:
            file.writelines(self._held)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            _sync_directory(self._path.parent)
        self._held, self._held_bytes = [], 0


def _line(record: dict[str, Any], fault: Fault) -> bytes:
    line = {**record, "reason": fault.reason.value, "message": fault.message[:MESSAGE_MAX]}
    return strict_json_text(line).encode("utf-8", "surrogatepass") + b"\n"


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
