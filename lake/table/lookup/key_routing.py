"""Routing of keys to the buckets of a snapshot that may have them: by partition, then by hash.

If the number of buckets is not fixed, or another function routes rows, hashes are not used: a key may be in any
bucket of a partition.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from braid.lake.format.bucket import BucketId, bucket_hashes, buckets_of
from braid.lake.format.schema import TableSchema
from braid.lake.options.table_options import BucketFunction
from braid.lake.read.lookup.point_key import PointKeys, PointValue
from braid.lake.read.lookup.wanted_keys import Rows
from braid.lake.table.lookup.key_partitions import KeyPartitions
from braid.lake.table.lookup.lookup_keys import KeyArrays


class KeyRouting:
    """Finds the buckets that keys may be in."""

    def __init__(self, total_buckets: Mapping[BucketId, int], schema: TableSchema) -> None:
        """Set the buckets that have files.

        Args:
            total_buckets: For each bucket with files, the number of buckets that they were routed
                for: a table that is being rescaled has two such numbers.
            schema: The table's schema.
        """
        self._schema = schema
        self._total_buckets = total_buckets
        self._buckets: defaultdict[bytes, list[BucketId]] = defaultdict(list)
        for bucket_id in total_buckets:
            self._buckets[bucket_id[0]].append(bucket_id)
        self._partitions = KeyPartitions(list(self._buckets), schema)
        options = schema.table_options
        # In other tables a key's bucket is not computed from the key: the key may be in any bucket.
        self._is_routed = (
            options.bucket >= 1 and options.bucket_function_type is BucketFunction.DEFAULT
        )

    def buckets_of(self, keys: KeyArrays) -> Iterator[tuple[BucketId, Rows]]:
        """Yield buckets, each with the numbers of the keys that may be in it, ascending."""
        complete = _without_nulls(keys)
        hashes: npt.NDArray[np.int32] | None = None
        for partition, numbers in self._partitions.of(keys, complete):
            buckets = self._buckets[partition]
            # The only bucket of a partition has all of its keys: no hash is needed.
            if len(buckets) == 1 and self._total_buckets[buckets[0]] == 1:
                yield buckets[0], numbers
                continue
            if not self._is_routed:
                for bucket_id in buckets:
                    yield bucket_id, numbers
                continue
            if hashes is None:
                fields = [self._schema.field(name) for name in self._schema.bucket_keys]
                hashes = bucket_hashes([keys[field.name] for field in fields], fields)
            yield from self._by_hash(buckets, hashes, numbers)

    def bucket_of(self, keys: PointKeys, values: Sequence[PointValue]) -> BucketId | None:
        """Return the bucket that one key may be in, None if no bucket with files.

        Args:
            keys: The conversion of the table's keys.
            values: A key (`point_key`). Requires: `is_computed`.
        """
        partition = self._partitions.of_point(values)
        if partition is None:
            return None
        [total] = self._totals[partition]
        bucket_id = partition, keys.bucket_of(values, total)
        return bucket_id if bucket_id in self._total_buckets else None

    @cached_property
    def is_computed(self) -> bool:
        """Whether the one bucket that a key may be in is computed from the key."""
        has_one_total = all(len(totals) == 1 for totals in self._totals.values())
        return self._is_routed and has_one_total and self._partitions.are_in_key

    @cached_property
    def _totals(self) -> Mapping[bytes, frozenset[int]]:
        """By partition, the numbers of buckets that its files were routed for."""
        return {
            partition: frozenset(self._total_buckets[bucket_id] for bucket_id in buckets)
            for partition, buckets in self._buckets.items()
        }

    def _by_hash(
        self, buckets: Sequence[BucketId], hashes: npt.NDArray[np.int32], numbers: Rows
    ) -> Iterator[tuple[BucketId, Rows]]:
        totals = {bucket_id: self._total_buckets[bucket_id] for bucket_id in buckets}
        for total in set(totals.values()):
            wanted = buckets_of(hashes[numbers], total)
            for bucket_id in buckets:
                if totals[bucket_id] == total:
                    here = numbers[wanted == bucket_id[1]]
                    if len(here):
                        yield bucket_id, here


def _without_nulls(keys: KeyArrays) -> Rows:
    """Return the numbers of the keys that have no null."""
    columns = list(keys.values())
    numbers = np.arange(len(columns[0]))
    for column in columns:
        if column.null_count:
            numbers = numbers[np.asarray(pc.is_valid(column))[numbers]]
    return numbers
