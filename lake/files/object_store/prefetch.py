"""Parts of a stored file that are read once each, and known beforehand: fetched several at a time.

Who reads some columns of a file knows from its footer which bytes they are. Fetching just those, many at
once, takes fewer bytes than fetching what lies around them and fewer waits than one after the other.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from lake.files.storage.positioned_input import ByteRange

ReadRanges: TypeAlias = Callable[[Sequence[ByteRange]], Sequence[bytes]]

GAP_BYTES: Final = 128 << 10
"""Between two parts that are fetched with one request; what lies between is thrown away."""

REQUEST_BYTES: Final = 1 << 20
"""Of a request that fetches several parts. A part that is larger is fetched with one of its own."""

AHEAD_BYTES: Final = 4 << 20
"""Fetched at once, in several requests; of a file that is read, and many are when runs are merged."""


class PrefetchedRanges:
    """What was announced of a file and not read yet; not safe between threads."""

    def __init__(self, read_ranges: ReadRanges) -> None:
        """Begin with nothing announced."""
        self._read_ranges = read_ranges
        self._requests: list[_Request] = []
        self._begins: list[int] = []

    def prefetch(self, parts: Iterable[ByteRange]) -> None:
        """Take these parts as the next ones to be read; what else was announced is forgotten."""
        self._requests = _requests(parts)
        self._begins = [request.begin for request in self._requests]

    def read(self, begin: int, end: int) -> bytes | None:
        """Return the bytes of an announced part; None of any other."""
        number = bisect_right(self._begins, begin) - 1
        if number < 0 or end > self._requests[number].end:
            return None
        request = self._requests[number]
        if request.data is None:
            self._fetch(number)
        assert request.data is not None
        found = request.data[begin - request.begin : end - request.begin]
        request.unread -= end - begin
        if request.unread <= 0:
            del self._requests[number], self._begins[number]
        return found

    def _fetch(self, number: int) -> None:
        """Fetch a request's bytes and those of requests after it, as many as are kept."""
        chosen: list[_Request] = []
        size = 0
        for request in self._requests[number:]:
            size += request.end - request.begin
            if request.data is not None or (chosen and size > AHEAD_BYTES):
                break
            chosen.append(request)
        ranges = [(request.begin, request.end) for request in chosen]
        for request, data in zip(chosen, self._read_ranges(ranges), strict=True):
            request.data = data


@dataclass(slots=True)
class _Request:
    """One request for one or more parts, and what came of it."""

    begin: int
    end: int
    unread: int
    data: bytes | None = None


def _requests(parts: Iterable[ByteRange]) -> list[_Request]:
    """Return the requests for some parts, in the file's order."""
    requests: list[_Request] = []
    for begin, end in sorted(parts):
        last = requests[-1] if requests else None
        if last is not None and begin - last.end <= GAP_BYTES and end - last.begin <= REQUEST_BYTES:
            last.end = max(last.end, end)
            last.unread += end - begin
        else:
            requests.append(_Request(begin=begin, end=end, unread=end - begin))
    return requests
