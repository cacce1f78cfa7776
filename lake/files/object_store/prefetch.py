"""Announced byte ranges of a file: reading one fetches it and some of the next ones concurrently.

A reader of some columns knows their byte ranges from the footer. Fetching these ranges, with small
gaps between them, transfers fewer bytes than fetching whole blocks around them. Fetching several
ranges concurrently takes less time than one after another. Each range is to be read once. Nothing
is fetched in the background.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from braid.lake.files.storage.positioned_input import ByteRange

ReadRanges: TypeAlias = Callable[[Sequence[ByteRange]], Sequence[bytes]]
"""Returns the bytes of each range; fetches them concurrently."""

GAP_BYTES: Final = 128 << 10
"""Largest gap between two ranges that one request fetches; the bytes of the gap are discarded."""

REQUEST_BYTES: Final = 1 << 20
"""Largest size of a request for several ranges, in bytes. A larger range has a request of its own."""

AHEAD_BYTES: Final = 4 << 20
"""Bytes per file that are fetched at once, in several requests; bounded, because merging many runs reads many
files at once."""


class PrefetchedRanges:
    """Announced ranges of one file that have not been read yet; not safe between threads."""

    def __init__(self, read_ranges: ReadRanges) -> None:
        """Begin without announced ranges."""
        self._read_ranges = read_ranges
        self._requests: list[_Request] = []
        self._begins: list[int] = []

    def prefetch(self, ranges: Iterable[ByteRange]) -> None:
        """Announce the ranges that will be read next, replacing earlier ones; fetches nothing yet."""
        self._requests = _requests(ranges)
        self._begins = [request.begin for request in self._requests]
        assert self._begins == sorted(self._begins), "binary search needs them in order"

    def read(self, begin: int, end: int) -> bytes | None:
        """Return the bytes of an announced range, or None if it was not announced."""
        assert begin < end, "a read has bytes"
        # The last request that begins at or before the range: the only one that can contain it.
        number = bisect_right(self._begins, begin) - 1
        if number < 0 or end > self._requests[number].end:
            return None
        request = self._requests[number]
        if request.data is None:
            self._fetch(number)
        assert request.data is not None, "`_fetch` fills at least this request"
        found = request.data[begin - request.begin : end - request.begin]
        # Each range is read once, so the bytes are dropped when all ranges of the request were read.
        request.unread -= end - begin
        if request.unread <= 0:
            del self._requests[number], self._begins[number]
        return found

    def _fetch(self, number: int) -> None:
        """Make a request and the requests after it, together up to `AHEAD_BYTES`."""
        chosen: list[_Request] = []
        size = 0
        for request in self._requests[number:]:
            size += request.end - request.begin
            # The first request is made however large it is.
            if request.data is not None or (chosen and size > AHEAD_BYTES):
                break
            chosen.append(request)
        ranges = [(request.begin, request.end) for request in chosen]
        for request, data in zip(chosen, self._read_ranges(ranges), strict=True):
            request.data = data


@dataclass(slots=True)
class _Request:
    """One request for one or more ranges; after it was made, with its bytes.

    Attributes:
        begin: First byte.
        end: One past the last byte.
        unread: Number of bytes of its announced ranges that have not been read yet.
        data: Bytes of the answer; None before the request is made.
    """

    begin: int
    end: int
    unread: int
    data: bytes | None = None


def _requests(ranges: Iterable[ByteRange]) -> list[_Request]:
    """Return the requests for some ranges, in file order."""
    requests: list[_Request] = []
    for begin, end in sorted(ranges):
        last = requests[-1] if requests else None
        if last is not None and begin - last.end <= GAP_BYTES and end - last.begin <= REQUEST_BYTES:
            last.end = max(last.end, end)
            last.unread += end - begin
        else:
            requests.append(_Request(begin=begin, end=end, unread=end - begin))
    return requests
