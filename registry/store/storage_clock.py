"""Storage's clock, as a process reads it: from the modification time of a file that it has just written.

Storage dates documents by its own clock. So machines with different clocks agree about the age of a document if they use this clock.
"""

from typing import Final

from braid.lake import Clock, FileIO
from braid.registry.store import paths

_EMPTY: Final = b""


class StorageClock:
    """Reads storage's clock: one write and one request for metadata, unless it was read a moment ago."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Measures the time since the last reading, and nothing else: it may be set wrong.
        """
        self._file_io = file_io
        # One file that every process overwrites, so nothing accumulates: each of them is dated now.
        self._path = paths.clock_file(warehouse)
        self._clock = clock
        # Storage's time and this process's at the last reading; replaced as a whole, for any thread.
        self._read: tuple[int, int] | None = None

    def now_ms(self, *, max_age_ms: int) -> int | None:
        """Return storage's time, or a little less, but never more.

        Args:
            max_age_ms: A reading that is older is repeated. Between two readings the time is counted by this
                process's clock; if that is set meanwhile, the result is wrong by less than this.

        Returns:
            Milliseconds since the epoch; None from a storage without a clock.

        Raises:
            LakeError: Storage does not answer.
        """
        read = self._read
        if read is not None and 0 <= (passed_ms := self._clock.now_ms() - read[1]) <= max_age_ms:
            return read[0] + passed_ms
        self._file_io.overwrite(self._path, _EMPTY)
        stored_ms = self._file_io.modified_ms(self._path)
        if stored_ms is None:
            return None
        # Dated after the answers: the time counted from here is behind storage's by what they took.
        self._read = stored_ms, self._clock.now_ms()
        return stored_ms
