"""Storage that fails on purpose, at one call or at several."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

from lake.errors import StorageUnavailable
from lake.files.file_io import FileIO, FileStatus

T = TypeVar("T")
Fault = Callable[[int, str, str], None]


class FaultyFileIO:
    """Passes calls on to real storage, and asks `before` and `after` each whether it fails.

    Attributes:
        calls: (method, path) of every call so far, in order.
        before: Called with (number of the call, method, path); raises to fail it undone.
        after: Likewise; raises to lose the answer of what was done.
    """

    def __init__(self, inner: FileIO) -> None:
        self._inner = inner
        self.calls: list[tuple[str, str]] = []
        self.before: Fault = lambda *_: None
        self.after: Fault = lambda *_: None

    def fail_calls(self, number: int, *, is_done: bool, is_lasting: bool) -> None:
        """Let the call of that number (from 0), and all later ones if lasting, fail.

        Either undone or, with `is_done`, done and with its answer lost.
        """

        def fault(at: int, method: str, path: str) -> None:
            if at == number or (is_lasting and at > number):
                message = f"{method} {path} failed on purpose"
                raise StorageUnavailable(message)

        if is_done:
            self.after = fault
        else:
            self.before = fault

    def _call(self, method: str, path: str, call: Callable[[], T]) -> T:
        number = len(self.calls)
        self.calls.append((method, path))
        self.before(number, method, path)
        result = call()
        self.after(number, method, path)
        return result

    def read_bytes(self, path: str) -> bytes:
        return self._call("read_bytes", path, lambda: self._inner.read_bytes(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._call("read_range", path, lambda: self._inner.read_range(path, offset, length))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._call("open_input", path, lambda: self._inner.open_input(path))

    @contextmanager
    def open_output(self, path: str) -> Iterator[pa.NativeFile]:
        output = self._call("open_output", path, lambda: self._inner.open_output(path))
        with output as sink:
            yield sink

    def write_new(self, path: str, data: bytes) -> None:
        self._call("write_new", path, lambda: self._inner.write_new(path, data))

    def create_exclusive(self, path: str, data: bytes) -> bool:
        return self._call(
            "create_exclusive", path, lambda: self._inner.create_exclusive(path, data)
        )

    def overwrite(self, path: str, data: bytes) -> None:
        self._call("overwrite", path, lambda: self._inner.overwrite(path, data))

    def list(self, path: str) -> list[FileStatus]:
        return self._call("list", path, lambda: self._inner.list(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self._inner.exists(path))

    def size(self, path: str) -> int:
        return self._call("size", path, lambda: self._inner.size(path))

    def delete(self, path: str) -> bool:
        return self._call("delete", path, lambda: self._inner.delete(path))

    def delete_tree(self, path: str) -> None:
        self._call("delete_tree", path, lambda: self._inner.delete_tree(path))

    def probe_exclusive_create(self, directory: str) -> None:
        self._inner.probe_exclusive_create(directory)
