"""File of refused records on the local disk: each line is a JSON object with the record, its place and the reason.

Lines are written and synced before the commit whose account counts them, so no refused record is lost. If a
process ends after the lines are written and before the commit, the next process writes them again. Repeated lines
have the same file and row, or the same partition and offset.
"""

import os
from pathlib import Path
from typing import Any, Final

from braid.backfill.json_text import strict_json_text
from braid.formats.fault import Fault

_HELD_BYTES_MAX: Final = 8 << 20
MESSAGE_MAX: Final = 1_000


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
        line = {**record, "reason": fault.reason.value, "message": fault.message[:MESSAGE_MAX]}
        text = strict_json_text(line).encode("utf-8", "surrogatepass") + b"\n"
        self._held.append(text)
        self._held_bytes += len(text)
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


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
