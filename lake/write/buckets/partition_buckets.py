"""Assignment of keys to the dynamic buckets of one partition, by their hashes, in memory.

1. A known hash stays in its bucket.
2. A new hash goes into the first bucket with room for another key.
3. If none has room, a new bucket gets the smallest free number.
4. If `dynamic-bucket.max-buckets` does not allow another bucket, new hashes are spread over all buckets,
   although the buckets are full. In a table without that bound it is an error to need more buckets than
   the format can number.

Keys with the same hash share a bucket. So only hashes are kept in memory, not keys: 6 bytes for each hash with its
bucket number. `dynamic_buckets` reads and writes the index files.

Source: table-format 15.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from braid.lake.errors import CorruptData, LimitExceeded
from braid.lake.format.bucket import Int32Array
from braid.lake.merge.segments import run_starts

Int16Array = npt.NDArray[np.int16]

BUCKETS_MAX = 32_767
"""Other engines keep bucket numbers of such tables in 16 bits."""


class PartitionBuckets:
    """The buckets of one partition and the hashes in each."""

    def __init__(
        self, hashes_by_bucket: Mapping[int, Int32Array], *, target_rows: int, buckets_max: int
    ) -> None:
        """Begin with the hashes of an index.

        Args:
            hashes_by_bucket: Distinct hashes of each bucket, from its index file.
            target_rows: Keys that a bucket has room for.
            buckets_max: The number of buckets allowed; -1 for as many as the format can number.

        Raises:
            CorruptData: A hash is in two buckets, so its keys may be in the table twice.
        """
        self._target_rows = target_rows
        self._buckets_max = BUCKETS_MAX if buckets_max == -1 else min(buckets_max, BUCKETS_MAX)
        self._is_bounded = buckets_max != -1
        self._counts = {bucket: len(hashes) for bucket, hashes in hashes_by_bucket.items()}
        self._first_free = 0
        self._hashes = np.zeros(0, dtype=np.int32)  # ascending and distinct
        self._buckets = np.zeros(0, dtype=np.int16)  # the bucket of each hash
        if hashes_by_bucket:
            # All at once: there may be thousands of buckets, and each insertion copies all hashes.
            numbers = np.array(list(hashes_by_bucket), dtype=np.int16)
            hashes = np.concatenate(list(hashes_by_bucket.values()))
            self._insert(hashes, np.repeat(numbers, list(self._counts.values())))
        if bool((self._hashes[1:] == self._hashes[:-1]).any()):
            message = "the hash index of a partition has one hash in two buckets"
            raise CorruptData(message)
        self._changed: set[int] = set()

    def assign(self, hashes: Int32Array) -> Int32Array:
        """Return the bucket of each hash, after new buckets were made where needed.

        Args:
            hashes: Hashes of keys in arrival order, repeated or not.

        Raises:
            LimitExceeded: More buckets are needed than the format can number.
        """
        # Searched in ascending order, neighbouring hashes share cache lines. With the row number in the
        # lower bits, numpy's vectorised sort of plain numbers is stable.
        packed = np.sort((hashes.astype(np.int64) << 32) | np.arange(len(hashes)))
        order, ascending = packed & 0xFFFFFFFF, (packed >> 32).astype(np.int32)
        known = self._are_known(ascending)
        if not known.all():
            self._add(ascending[~known], order[~known])
        buckets = np.empty(len(hashes), dtype=np.int32)
        buckets[order] = self._buckets[np.searchsorted(self._hashes, ascending)]
        return buckets

    def changed_hashes(self) -> dict[int, Int32Array]:
        """Return all hashes of each bucket that got new hashes since `mark_written`, by bucket."""
        changed = np.array(sorted(self._changed), dtype=np.int16)
        if not len(changed):
            return {}
        indexes = np.flatnonzero(np.isin(self._buckets, changed))
        # Numpy uses radix sort for 16 bits: linear, however many buckets have changed.
        indexes = indexes[np.argsort(self._buckets[indexes], kind="stable")]
        ends = np.cumsum([self._counts[bucket] for bucket in changed.tolist()])
        assert ends[-1] == len(indexes), "each hash is counted in its bucket"
        parts = np.split(self._hashes[indexes], ends[:-1])
        return dict(zip(changed.tolist(), parts, strict=True))

    def mark_written(self) -> None:
        """Forget which buckets have changed, because their indexes are written."""
        self._changed = set()

    def _are_known(self, hashes: Int32Array) -> npt.NDArray[np.bool_]:
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.bool_)
        # The index of a hash above all known hashes would be beyond the end.
        indexes = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known: npt.NDArray[np.bool_] = self._hashes[indexes] == hashes
        return known

    def _add(self, hashes: Int32Array, rows: npt.NDArray[np.int64]) -> None:
        """Assign new hashes to buckets in arrival order.

        Args:
            hashes: Ascending, repeated or not.
            rows: The row number of each hash, ascending for equal hashes.
        """
        is_first = run_starts(hashes)
        distinct = hashes[is_first]
        buckets = np.empty(len(distinct), dtype=np.int16)
        # `_make_room` returns buckets in the order in which they are filled; hashes get them by
        # first arrival.
        buckets[np.argsort(rows[is_first])] = self._make_room(len(distinct))
        self._insert(distinct, buckets)
        self._changed.update(np.unique(buckets).tolist())

    def _make_room(self, count: int) -> Int16Array:
        """Return a bucket for each of `count` new hashes, and add them to the buckets' counts."""
        wanted = count
        taken: dict[int, int] = {}
        for bucket in sorted(self._counts):
            taken[bucket] = min(count, max(0, self._target_rows - self._counts[bucket]))
            count -= taken[bucket]
        while count and len(taken) < self._buckets_max:
            bucket = self._new_bucket()
            taken[bucket] = min(count, self._target_rows)
            count -= taken[bucket]
        buckets = np.repeat(np.array(list(taken), dtype=np.int16), list(taken.values()))
        if count:
            buckets = np.concatenate([buckets, self._beyond_room(count, taken)])
        assert len(buckets) == wanted, "every hash gets a bucket"
        for bucket, added in zip(*np.unique(buckets, return_counts=True), strict=True):
            self._counts[int(bucket)] += int(added)
        return buckets

    def _new_bucket(self) -> int:
        while self._first_free in self._counts:
            self._first_free += 1
        self._counts[self._first_free] = 0
        return self._first_free

    def _beyond_room(self, count: int, taken: Mapping[int, int]) -> Int16Array:
        """Return buckets in turns, for hashes beyond the room of all; the least filled one first."""
        if not self._is_bounded:
            message = (
                f"a partition needs more than {BUCKETS_MAX} buckets of {self._target_rows} keys\n"
                "hint: raise `dynamic-bucket.target-row-num`"
            )
            raise LimitExceeded(message)
        # A call may have a single hash: always from the lowest number on, one bucket would get them all.
        by_count = sorted(taken, key=lambda bucket: self._counts[bucket] + taken[bucket])
        return np.resize(np.array(by_count, dtype=np.int16), count)

    def _insert(self, hashes: Int32Array, buckets: Int16Array) -> None:
        order = np.argsort(hashes, kind="stable")
        indexes = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, indexes, hashes[order])
        self._buckets = np.insert(self._buckets, indexes, buckets[order])
        assert len(self._hashes) == len(self._buckets), "each hash has a bucket"
