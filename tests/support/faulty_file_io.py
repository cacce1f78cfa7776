"""Storage that fails on purpose, at one call or at several, or under which the process dies."""

import errno
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Final, TypeVar

import pyarrow as pa
from typing_extensions import Buffer

from braid.lake.errors import StorageUnavailable
from braid.lake.files.storage.file_io import FileIO, FileStatus

T = TypeVar("T")
Fault = Callable[[int, str, str], None]

BLOCK_BYTES: Final = 1024
"""Of a file that is streamed: each block is a call of its own."""

STREAM_CALLS: Final = frozenset({"read", "write"})
"""Calls of an open file. Their errors are the system's; all others are those of `FileIO`."""


class Died(BaseException):
    """The process is gone: nothing may catch this, and nothing it does any more has an effect."""


class Moment(StrEnum):
    """When in a call a process dies.

    In its midst, what takes several steps is half done: half of a new file is there under its name,
    and of a file that appears at once, a temporary one beside it.
    """

    BEFORE = "before"
    MIDST = "in the midst of"
    AFTER = "after"


class FaultyFileIO:
    """Passes calls on to real storage, and asks `before` and `after` each whether it fails.

    Reading and writing an open file are calls as well: `read`, `write` of a block, `close_output`.

    Attributes:
        calls: (method, path) of every call so far, in order.
        before: Called with (number of the call, method, path); raises to fail it undone.
        after: Likewise; raises to lose the answer of what was done.
    """

    parallel_reads = 1  # so that calls have an order

    def __init__(self, inner: FileIO) -> None:
        self._inner = inner
        self.calls: list[tuple[str, str]] = []
        self.before: Fault = lambda *_: None
        self.after: Fault = lambda *_: None
        self._death: tuple[int, Moment] | None = None
        self._is_dead = False

    def fail_calls(self, number: int, *, is_done: bool, is_lasting: bool) -> None:
        """Let the call of that number (from 0), and all later ones if lasting, fail.

        Either undone or, with `is_done`, done and with its answer lost.
        """

        def fault(at: int, method: str, path: str) -> None:
            if at == number or (is_lasting and at > number):
                message = f"{method} {path} failed on purpose"
                if method in STREAM_CALLS:
                    raise OSError(errno.EIO, message)
                raise StorageUnavailable(message)

        if is_done:
            self.after = fault
        else:
            self.before = fault

    def die_at(self, number: int, moment: Moment) -> None:
        """Let the process die at the call of that number: this and every later one is `Died`."""
        self._death = number, moment

    def read_bytes(self, path: str) -> bytes:
        return self._call("read_bytes", path, lambda: self._inner.read_bytes(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._call("read_range", path, lambda: self._inner.read_range(path, offset, length))

    def open_input(self, path: str) -> pa.NativeFile:
        source = self._call("open_input", path, lambda: self._inner.open_input(path))
        return pa.PythonFile(_Input(self, path, source), mode="r")

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        output = _Output(self, path)
        try:
            with ExitStack() as opened:
                output.sink = opened.enter_context(self._inner.open_output(path))
                self._call("open_output", path, output.open)
                yield pa.PythonFile(output, mode="w")
                output.write_block()
                self._call("close_output", path, opened.close)
        except Died:
            # Nobody is left to remove half a file.
            if output.is_open and not self._inner.exists(path):
                self._inner.write_new(path, bytes(output.written))
            raise

    def write_new(self, path: str, data: bytes) -> None:
        self._call(
            "write_new",
            path,
            lambda: self._inner.write_new(path, data),
            half=lambda: self._inner.write_new(path, data[: len(data) // 2]),
        )

    def create_exclusive(self, path: str, data: bytes) -> bool:
        return self._call(
            "create_exclusive",
            path,
            lambda: self._inner.create_exclusive(path, data),
            half=lambda: self._inner.write_new(_beside(path), data),
        )

    def overwrite(self, path: str, data: bytes) -> None:
        self._call(
            "overwrite",
            path,
            lambda: self._inner.overwrite(path, data),
            half=lambda: self._inner.write_new(_beside(path), data),
        )

    def list(self, path: str) -> list[FileStatus]:
        return self._call("list", path, lambda: self._inner.list(path))

    def list_tree(self, path: str) -> Sequence[FileStatus]:
        return self._call("list_tree", path, lambda: self._inner.list_tree(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self._inner.exists(path))

    def has_directory(self, path: str) -> bool:
        return self._call("has_directory", path, lambda: self._inner.has_directory(path))

    def size(self, path: str) -> int:
        return self._call("size", path, lambda: self._inner.size(path))

    def modified_ms(self, path: str) -> int | None:
        return self._call("modified_ms", path, lambda: self._inner.modified_ms(path))

    def delete(self, path: str) -> bool:
        return self._call("delete", path, lambda: self._inner.delete(path))

    def delete_tree(self, path: str) -> None:
        self._call("delete_tree", path, lambda: self._inner.delete_tree(path))

    def sync_directory(self, path: str) -> None:
        self._call("sync_directory", path, lambda: self._inner.sync_directory(path))

    def probe_exclusive_create(self, directory: str) -> None:
        self._inner.probe_exclusive_create(directory)

    def _call(
        self,
        method: str,
        path: str,
        call: Callable[[], T],
        *,
        half: Callable[[], object] | None = None,
    ) -> T:
        number = len(self.calls)
        self.calls.append((method, path))
        self._die_if_time(number, Moment.BEFORE)
        self.before(number, method, path)
        if half is not None and self._death == (number, Moment.MIDST):
            half()
        self._die_if_time(number, Moment.MIDST)
        result = call()
        self._die_if_time(number, Moment.AFTER)
        self.after(number, method, path)
        return result

    def _die_if_time(self, number: int, moment: Moment) -> None:
        if self._is_dead or self._death == (number, moment):
            self._is_dead = True
            raise Died


class _Input(io.RawIOBase):
    """A file that is read; each read is a call."""

    def __init__(self, storage: FaultyFileIO, path: str, source: pa.NativeFile) -> None:
        self._storage = storage
        self._path = path
        self._source = source

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        return int(self._source.tell())

    def read(self, size: int = -1, /) -> bytes:
        wanted = None if size < 0 else size
        return self._storage._call("read", self._path, lambda: bytes(self._source.read(wanted)))

    def close(self) -> None:
        self._source.close()
        super().close()


class _Output(io.RawIOBase):
    """A file that is written; each block is a call."""

    def __init__(self, storage: FaultyFileIO, path: str) -> None:
        self._storage = storage
        self._path = path
        self._block = bytearray()
        self.sink: pa.NativeFile = None
        self.is_open = False
        self.written = bytearray()

    def open(self) -> None:
        self.is_open = True

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return len(self.written) + len(self._block)

    def write(self, data: Buffer, /) -> int:
        self._block += data
        if len(self._block) >= BLOCK_BYTES:
            self.write_block()
        return memoryview(data).nbytes

    def write_block(self) -> None:
        """Hand on what has been gathered."""
        block = bytes(self._block)
        if not block:
            return
        self._block.clear()
        half = block[: len(block) // 2]
        self._storage._call(
            "write", self._path, lambda: self._pass(block), half=lambda: self._pass(half)
        )

    def _pass(self, data: bytes) -> None:
        self.sink.write(data)
        self.written += data


def _beside(path: str) -> str:
    """Return the temporary name of a file that appears at once."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.half.tmp"
