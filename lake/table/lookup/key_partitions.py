"""Partitions that keys may be in, by the values of their partition columns."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array
from braid.lake.format.binary_row import decode_rows
from braid.lake.format.schema import TableSchema
from braid.lake.merge.order.key_order import key_codes
from braid.lake.read.lookup.point_key import PointValue, point_values
from braid.lake.read.lookup.wanted_keys import Rows


class KeyPartitions:
    """Finds the partitions that keys may be in."""

    def __init__(self, partitions: Sequence[bytes], schema: TableSchema) -> None:
        """Decode serialised partition rows, each once."""
        self._partitions = partitions
        self._schema = schema
        # The value of a partition column outside of the key is unknown, so it excludes no
        # partition.
        self._columns = [name for name in schema.partition_keys if name in schema.primary_keys]
        values = decode_rows(partitions, schema.partition_fields) if self._columns else None
        assert values is None or values.num_rows == len(partitions), "a row per partition"
        self._values = None if values is None else values.select(self._columns)

    @property
    def are_in_key(self) -> bool:
        """Whether the primary key contains all partition columns, so that a key has one partition."""
        return len(self._columns) == len(self._schema.partition_keys)

    def of_point(self, values: Sequence[PointValue]) -> bytes | None:
        """Return the partition of one key (`point_key`), None if it has no files. Requires: `are_in_key`."""
        if self._values is None:
            return self._partitions[0] if self._partitions else None
        return self._by_point.get(tuple(values[index] for index in self._indexes))

    @cached_property
    def _by_point(self) -> Mapping[tuple[PointValue, ...], bytes]:
        assert self._values is not None, "a table with partitions"
        arrays = [combined_array(column) for column in self._values.columns]
        # A key has no nulls, so no key is in a partition with one.
        numbers = [
            number
            for number in range(len(self._partitions))
            if all(array[number].is_valid for array in arrays)
        ]
        columns = [point_values(array.take(pa.array(numbers, pa.int64()))) for array in arrays]
        partitions = [self._partitions[number] for number in numbers]
        return dict(zip(zip(*columns, strict=True), partitions, strict=True))

    @cached_property
    def _indexes(self) -> tuple[int, ...]:
        return tuple(self._schema.primary_keys.index(name) for name in self._columns)

    def of(self, keys: dict[str, pa.Array], complete: Rows) -> Iterator[tuple[bytes, Rows]]:
        """Yield partitions, each with the numbers of the keys that may be in it.

        Args:
            keys: The columns of the primary key, in the table's types, by name.
            complete: The numbers of the keys without nulls, ascending.
        """
        if self._values is None:
            for partition in self._partitions:
                yield partition, complete
            return
        count = len(self._partitions)
        codes = key_codes(
            [
                pa.chunked_array([*self._values.column(name).chunks, keys[name]])
                for name in self._columns
            ]
        )
        # Codes of partitions and keys together compare as the values do. Keys are sorted once; each
        # partition's keys are then found by two binary searches.
        of_partitions, of_keys = codes[:count], codes[count:][complete]
        order = np.argsort(of_keys, kind="stable")
        ordered = of_keys[order]
        firsts = np.searchsorted(ordered, of_partitions, side="left")
        ends = np.searchsorted(ordered, of_partitions, side="right")
        for number in np.flatnonzero(ends > firsts).tolist():
            yield self._partitions[number], complete[np.sort(order[firsts[number] : ends[number]])]
