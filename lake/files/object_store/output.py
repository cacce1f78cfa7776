"""Writing a file of an object store: in one request while it is small, in parts when it is not."""

import io
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Protocol, Self

from obstore.exceptions import BaseError
from typing_extensions import Buffer

from lake.errors import LakeError

PART_BYTES: Final = 8 << 20
"""Of a part, and the bound of a file that is written with one request. With three parts under way
this bounds the memory of a file that is written; ten thousand parts are the most there can be."""


class Upload(Protocol):
    """An upload in parts, which leaves nothing when it is left by an error."""

    def write(self, buffer: Buffer, /) -> int:
        """Take bytes over."""
        ...

    def close(self) -> None:
        """Make the file visible."""
        ...

    def __exit__(self, *error: Any) -> None:
        """Give up, when there is an error."""
        ...


class MultipartOutput(io.RawIOBase):
    """A file that is written; leaving its context makes it visible, or discards it.

    Attributes:
        size: Bytes written so far.
        error: Why the last request of an upload in parts failed; the file may be there.
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
            open_upload: Begins an upload in parts of so many bytes.
            put: Writes a whole file.
            guard: Calls something and translates the errors of the store.
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
        """Take bytes over; those of a part go on their way."""
        view = memoryview(data).cast("B")
        if self._upload is None and len(self._gathered) + view.nbytes <= PART_BYTES:
            self._gathered += view
        else:
            self._send(view)
        self.size += view.nbytes
        return view.nbytes

    def close(self) -> None:
        """Do nothing: whoever writes may close it before it is known that all went well."""

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the file visible, or discard what there is of it."""
        upload = self._upload
        if error is not None:
            if upload is not None:
                # The first error is the one to report.
                with suppress(BaseError, OSError):
                    upload.__exit__(kind, error, trace)
            return
        if upload is None:
            self._put(bytes(self._gathered))
            return
        try:
            self._guard(upload.close)
        except (LakeError, FileNotFoundError) as failed:
            self.error = failed

    def _send(self, data: memoryview) -> None:
        if self._upload is None:
            self._upload = self._open_upload(PART_BYTES)
        upload = self._upload
        if self._gathered:
            gathered = bytes(self._gathered)
            self._gathered.clear()
            self._guard(lambda: upload.write(gathered))
        self._guard(lambda: upload.write(bytes(data)))
