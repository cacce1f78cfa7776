"""The output of a file in an object store: one request for a small file, otherwise a multipart upload."""

import io
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Protocol, Self

from obstore.exceptions import BaseError
from typing_extensions import Buffer

from braid.lake.errors import LakeError

PART_BYTES: Final = 8 << 20
"""Bytes of a part; also the largest file that is written with one request. At most three parts of a file are
uploaded at once, which bounds the memory of an open file. Stores accept at most 10 000 parts, so a file has at
most about 80 GB."""


class Upload(Protocol):
    """A multipart upload; an error in its context discards it whole."""

    def write(self, buffer: Buffer, /) -> int:
        """Append bytes."""
        ...

    def close(self) -> None:
        """Make the file visible."""
        ...

    def __exit__(self, *error: Any) -> None:
        """Abort the upload if the context ends with an error."""
        ...


class MultipartOutput(io.RawIOBase):
    """A file being written. The end of its context makes it visible, or discards it after an error.

    Attributes:
        size: Bytes written so far.
        error: Error of the request that completes a multipart upload, after which the file may exist or
            not; None without an error.
    """

    def __init__(
        self,
        *,
        open_upload: Callable[[int], Upload],
        put: Callable[[bytes], None],
        guard: Callable[[Callable[[], Any]], Any],
    ) -> None:
        """Prepare to write.

        Args:
            open_upload: Begins a multipart upload with parts of the given size in bytes.
            put: Writes a whole file.
            guard: Calls its argument and translates errors of the store.
        """
        self._open_upload = open_upload
        self._put = put
        self._guard = guard
        self._gathered = bytearray()
        self._upload: Upload | None = None
        self.size = 0
        self.error: Exception | None = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self.size

    def write(self, data: Buffer, /) -> int:
        """Append bytes; full parts are uploaded in the background."""
        view = memoryview(data).cast("B")
        if self._upload is None and len(self._gathered) + view.nbytes <= PART_BYTES:
            self._gathered += view
        else:
            self._send(view)
        self.size += view.nbytes
        return view.nbytes

    def close(self) -> None:
        """Do nothing: Arrow closes its sink before the caller knows whether the write succeeded."""

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the file visible, or discard it after an error."""
        upload = self._upload
        if error is not None:
            if upload is not None:
                # Errors of aborting are dropped: the first error is the one to report.
                with suppress(BaseError, OSError):
                    upload.__exit__(kind, error, trace)
            return
        if upload is None:
            assert len(self._gathered) == self.size, "nothing was sent before"
            self._put(bytes(self._gathered))
            return
        try:
            self._guard(upload.close)
        except (LakeError, FileNotFoundError) as failed:
            # Not raised here: the request may have succeeded, which the caller checks.
            self.error = failed

    def _send(self, data: memoryview) -> None:
        if self._upload is None:
            self._upload = self._open_upload(PART_BYTES)
        upload = self._upload
        # First the bytes that were gathered while the file fitted into one request.
        if self._gathered:
            gathered = bytes(self._gathered)
            self._gathered.clear()
            self._guard(lambda: upload.write(gathered))
        self._guard(lambda: upload.write(bytes(data)))
