"""Which new buckets get their rows in one reading of the old files; pure.

What that costs is told from the rows alone: buckets without any take no part, however many there are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lake.format.bucket import Int32Array

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketGroup:
    """Neighbours among the new buckets that have rows.

    Attributes:
        first: The lowest bucket.
        last: The highest.
        count: How many buckets from `first` to `last` have rows.
    """

    first: int
    last: int
    count: int

    def holds(self, buckets: Int32Array) -> npt.NDArray[np.bool_]:
        """Return whether each bucket is one of them."""
        return (buckets >= self.first) & (buckets <= self.last)


class BucketSizes:
    """Bytes of rows by new bucket, as rows come; memory by the buckets that have any."""

    def __init__(self) -> None:
        """Begin without rows."""
        self._buckets: Int32Array = np.zeros(0, dtype=np.int32)
        self._sizes: FloatArray = np.zeros(0)
        self._parts: list[tuple[Int32Array, FloatArray]] = []
        self._pending = 0

    def add(self, buckets: Int32Array, size: int) -> None:
        """Take note of rows.

        Args:
            buckets: Of each row.
            size: Bytes of all of them.
        """
        if not len(buckets):
            return
        found, counts = np.unique(buckets, return_counts=True)
        self._parts.append((found, counts * np.float64(size / len(buckets))))
        self._pending += len(found)
        if self._pending > len(self._buckets):
            self._join()

    def groups(self, *, count_max: int, bytes_max: int) -> Iterator[BucketGroup]:
        """Yield groups, ascending, of so many buckets or of so many bytes, whichever is more.

        So every two neighbours together are of more than `bytes_max`.
        """
        self._join()
        first, size = 0, 0.0
        for index, more in enumerate(self._sizes.tolist()):
            if index - first >= count_max and size + more > bytes_max:
                yield self._group(first, index)
                first, size = index, 0.0
            size += more
        if first < len(self._buckets):
            yield self._group(first, len(self._buckets))

    def _group(self, start: int, end: int) -> BucketGroup:
        first, last = int(self._buckets[start]), int(self._buckets[end - 1])
        return BucketGroup(first=first, last=last, count=end - start)

    def _join(self) -> None:
        # Not at each `add`: together they cost as much as sorting what came, a few times.
        buckets = np.concatenate([self._buckets, *(part for part, _ in self._parts)])
        sizes = np.concatenate([self._sizes, *(part for _, part in self._parts)])
        self._buckets, places = np.unique(buckets, return_inverse=True)
        self._sizes = np.zeros(len(self._buckets))
        np.add.at(self._sizes, places, sizes)
        self._parts, self._pending = [], 0
