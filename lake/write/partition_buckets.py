"""Which bucket of a partition holds a key, when buckets are made as they are needed; pure.

1. The hash of a key that was seen before stays in its bucket, for good.
2. A new hash goes into the first bucket that has room for another one.
3. When none has, a bucket is made, numbered with the smallest free number.
4. When no more buckets may be made, new hashes are spread over all of them beyond their room.

Keys of equal hash share a bucket, so hashes are all that is remembered: 6 bytes a key.

Source: table-format 15.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lake.errors import CorruptData, LimitExceeded
from lake.format.bucket import Int32Array

Int16Array = npt.NDArray[np.int16]

BUCKETS_MAX = 32_767
"""Other engines keep bucket numbers of such tables in 16 bits."""


class PartitionBuckets:
    """The buckets of one partition and the hashes in each."""

    def __init__(
        self, hashes_by_bucket: Mapping[int, Int32Array], *, target_rows: int, buckets_max: int
    ) -> None:
        """Take over what is indexed.

        Args:
            hashes_by_bucket: Distinct hashes of each bucket, as its index file has them.
            target_rows: Keys that a bucket has room for.
            buckets_max: Buckets that may be made; -1 for as many as the format allows.

        Raises:
            CorruptData: A hash is in two buckets: its keys may be in the table twice.
        """
        self._target_rows = target_rows
        self._buckets_max = BUCKETS_MAX if buckets_max == -1 else min(buckets_max, BUCKETS_MAX)
        self._is_bounded = buckets_max != -1
        self._counts = {bucket: len(hashes) for bucket, hashes in hashes_by_bucket.items()}
        self._first_free = 0
        self._hashes = np.zeros(0, dtype=np.int32)  # ascending
        self._buckets = np.zeros(0, dtype=np.int16)  # of each of them
        if hashes_by_bucket:
            # At once: there may be thousands of buckets, and each insertion copies all hashes.
            numbers = np.array(list(hashes_by_bucket), dtype=np.int16)
            hashes = np.concatenate(list(hashes_by_bucket.values()))
            self._insert(hashes, np.repeat(numbers, list(self._counts.values())))
        if bool((self._hashes[1:] == self._hashes[:-1]).any()):
            message = "the hash index of a partition has one hash in two buckets"
            raise CorruptData(message)
        self._grown: set[int] = set()

    def assign(self, hashes: Int32Array) -> Int32Array:
        """Return the bucket of each hash, making buckets where new ones need them.

        Args:
            hashes: Of keys in the order they come, repeated or not.

        Raises:
            LimitExceeded: More buckets would be needed than the format can number.
        """
        # Looked up in ascending order, neighbours share the cache lines they are found by; with the
        # row below the hash, numpy's vectorised sort of plain numbers is stable.
        packed = np.sort((hashes.astype(np.int64) << 32) | np.arange(len(hashes)))
        order, ascending = packed & 0xFFFFFFFF, (packed >> 32).astype(np.int32)
        known = self._are_known(ascending)
        if not known.all():
            self._add(ascending[~known], order[~known])
        buckets = np.empty(len(hashes), dtype=np.int32)
        buckets[order] = self._buckets[np.searchsorted(self._hashes, ascending)]
        return buckets

    def grown(self) -> dict[int, Int32Array]:
        """Return all hashes of each bucket that got any since `settle`, by bucket."""
        grown = np.array(sorted(self._grown), dtype=np.int16)
        if not len(grown):
            return {}
        places = np.flatnonzero(np.isin(self._buckets, grown))
        # Numpy sorts 16 bits by counting: one pass, however many buckets have grown.
        places = places[np.argsort(self._buckets[places], kind="stable")]
        ends = np.cumsum([self._counts[bucket] for bucket in grown.tolist()])
        parts = np.split(self._hashes[places], ends[:-1])
        return dict(zip(grown.tolist(), parts, strict=True))

    def settle(self) -> None:
        """Forget which buckets have grown: their indexes are written."""
        self._grown = set()

    def _are_known(self, hashes: Int32Array) -> npt.NDArray[np.bool_]:
        if not len(self._hashes):
            return np.zeros(len(hashes), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known: npt.NDArray[np.bool_] = self._hashes[places] == hashes
        return known

    def _add(self, hashes: Int32Array, rows: npt.NDArray[np.int64]) -> None:
        """Put new hashes into buckets in the order they came.

        Args:
            hashes: Ascending, repeated or not.
            rows: Where each came, ascending for equal hashes.
        """
        is_first = np.ones(len(hashes), dtype=np.bool_)
        np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
        distinct = hashes[is_first]
        buckets = np.empty(len(distinct), dtype=np.int16)
        buckets[np.argsort(rows[is_first])] = self._make_room(len(distinct))
        self._insert(distinct, buckets)
        self._grown.update(np.unique(buckets).tolist())

    def _make_room(self, count: int) -> Int16Array:
        """Return a bucket for each of so many new hashes, and count them in."""
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
            buckets = np.concatenate([buckets, self._beyond_room(count, list(taken))])
        for bucket, added in zip(*np.unique(buckets, return_counts=True), strict=True):
            self._counts[int(bucket)] += int(added)
        return buckets

    def _new_bucket(self) -> int:
        while self._first_free in self._counts:
            self._first_free += 1
        self._counts[self._first_free] = 0
        return self._first_free

    def _beyond_room(self, count: int, buckets: list[int]) -> Int16Array:
        if not self._is_bounded:
            message = (
                f"a partition needs more than {BUCKETS_MAX} buckets of {self._target_rows} keys\n"
                "hint: raise `dynamic-bucket.target-row-num`"
            )
            raise LimitExceeded(message)
        return np.resize(np.array(buckets, dtype=np.int16), count)

    def _insert(self, hashes: Int32Array, buckets: Int16Array) -> None:
        order = np.argsort(hashes, kind="stable")
        places = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, places, hashes[order])
        self._buckets = np.insert(self._buckets, places, buckets[order])
