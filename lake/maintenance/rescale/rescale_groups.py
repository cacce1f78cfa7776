"""Groups of new buckets that are written in one pass over the old files. Pure functions.

Buckets without rows are not counted, so the number of passes depends on the rows and not on the number of new
buckets.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.lake.format.bucket import Int32Array

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketGroup:
    """A range of new buckets.

    Attributes:
        first: The lowest bucket.
        last: The highest bucket.
        count: The number of buckets from `first` to `last` that have rows.
    """

    first: int
    last: int
    count: int

    def holds(self, buckets: Int32Array) -> npt.NDArray[np.bool_]:
        """Return for each bucket whether it is in the range."""
        return (buckets >= self.first) & (buckets <= self.last)


class BucketSizes:
    """Bytes of rows by new bucket, summed up batch by batch; memory depends on the buckets with rows."""

    def __init__(self) -> None:
        """Create sizes without any rows."""
        self._buckets: Int32Array = np.zeros(0, dtype=np.int32)
        self._sizes: FloatArray = np.zeros(0)
        self._parts: list[tuple[Int32Array, FloatArray]] = []
        self._pending = 0

    def add(self, buckets: Int32Array, size: int) -> None:
        """Add rows.

        Args:
            buckets: New bucket of each row.
            size: Bytes of all rows together; each row counts the same.
        """
        if not len(buckets):
            return
        found, counts = np.unique(buckets, return_counts=True)
        self._parts.append((found, counts * np.float64(size / len(buckets))))
        self._pending += len(found)
        if self._pending > len(self._buckets):
            self._join()

    def groups(self, *, count_max: int, bytes_max: int) -> Iterator[BucketGroup]:
        """Yield groups, ascending; each ends at `count_max` buckets or `bytes_max` bytes, whichever is later.

        So two neighbouring groups together have more than `bytes_max`, and the number of passes over the old
        files is bounded by the bytes of rows and not by the number of new buckets.
        """
        assert count_max >= 1, "a group has a bucket"
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
        # Called when the pending part is as large as the joined one, so all calls together cost no more
        # than sorting everything a few times.
        buckets = np.concatenate([self._buckets, *(part for part, _ in self._parts)])
        sizes = np.concatenate([self._sizes, *(part for _, part in self._parts)])
        self._buckets, inverse = np.unique(buckets, return_inverse=True)
        self._sizes = np.zeros(len(self._buckets))
        np.add.at(self._sizes, inverse, sizes)
        self._parts, self._pending = [], 0
