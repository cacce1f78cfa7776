"""One part of the changed keys of a table, whose rows are looked up in one snapshot and written as events.

The part finds the keys of a subscription by their hashes. A different key with the same hash causes an event without a change,
and never hides one.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.json_values import json_writer
from braid.lake import ChangedKeys, Snapshot, SnapshotLookup, TableSchema, python_rows
from braid.registry.layout.physical_table import shown_fields
from braid.service.subscription.server_sent_events import row_event

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Columns = tuple[str, ...] | None

CHUNK_ROWS: Final = 1_000
"""Rows that are looked up and written at once."""

_KEPT_CHUNKS: Final = 4
"""Written chunks that a part keeps for other subscriptions."""


class RowEvents:
    """Writes rows of one snapshot as events, with some columns or all that are shown."""

    def __init__(self, schema: TableSchema, snapshot: Snapshot | None, columns: Columns) -> None:
        """Choose the columns; an unknown name is refused when rows are read."""
        known = schema.fields_by_name
        self._columns = columns
        self._snapshot_id = 0 if snapshot is None else snapshot.id
        self._write_key = json_writer([schema.field(name) for name in schema.primary_keys])
        self._write_row = json_writer(
            shown_fields(schema)
            if columns is None
            else [known[name] for name in columns if name in known]
        )

    def of_keys(self, lookup: SnapshotLookup, keys: Sequence[Mapping[str, object]]) -> bytes:
        """Return the events of the rows of keys, in their order; may read storage."""
        rows = lookup.get_many(keys, columns=self._columns)
        return b"".join(self._event(key, row) for key, row in zip(keys, rows, strict=True))

    def of_rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Return the events of rows that have the columns of the key, too."""
        return b"".join(self._event(row, row) for row in rows)

    def _event(self, key: Mapping[str, Any], row: Mapping[str, Any] | None) -> bytes:
        return row_event(
            self._write_key(key),
            None if row is None else self._write_row(row),
            snapshot_id=self._snapshot_id,
        )


class ChangedRows:
    """One part of the changed keys; safe between threads.

    Attributes:
        end: The position after the part.
    """

    def __init__(self, changed: ChangedKeys, lookup: SnapshotLookup) -> None:
        """Hash the keys; rows are looked up when they are wanted.

        Args:
            changed: The keys.
            lookup: Rows at a snapshot that is not older than the end of the part.
        """
        self.end = changed.end
        self._keys = changed.keys
        self._lookup = lookup
        self._hashes: Hashes = lookup.hashes_of(changed.keys)
        self._chunks: OrderedDict[tuple[Columns, int, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def numbers_of(self, wanted: Hashes | None) -> Numbers:
        """Return the numbers of the keys with some hashes, of all keys if `wanted` is None."""
        if wanted is None:
            return np.arange(len(self._hashes))
        return np.isin(self._hashes, wanted).nonzero()[0]

    def events(self, numbers: Numbers, columns: Columns) -> bytes:
        """Return the events of some keys, not more than a chunk; may read storage."""
        assert 0 < len(numbers) <= CHUNK_ROWS
        first, last = int(numbers[0]), int(numbers[-1])
        if last - first + 1 != len(numbers):
            return self._written(numbers, columns)
        # Keys in a row are most likely those of a subscription to all keys: the others want the same events. Under the
        # lock, so that one of them writes the events.
        chunk_id = columns, first, last
        with self._lock:
            events = self._chunks.get(chunk_id)
            if events is None:
                events = self._chunks[chunk_id] = self._written(numbers, columns)
                while len(self._chunks) > _KEPT_CHUNKS:
                    self._chunks.popitem(last=False)
        return events

    def _written(self, numbers: Numbers, columns: Columns) -> bytes:
        keys = self._keys.take(pa.array(numbers))
        values = [key for batch in keys.to_batches() for key in python_rows(batch)]
        lookup = self._lookup
        return RowEvents(lookup.schema, lookup.snapshot, columns).of_keys(lookup, values)
