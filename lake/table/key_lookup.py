"""One row by its primary key."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from lake.errors import CorruptData, LakeError, UnsupportedFeature
from lake.format.schema import TableSchema
from lake.options import DYNAMIC_BUCKET
from lake.read.predicate import Condition
from lake.table.python_rows import python_rows
from lake.table.scan import Scan
from lake.table.snapshot_lookup import SnapshotLookup


class KeyLookup:
    """Finds the row of one key."""

    def __init__(self, schema: TableSchema, key: Mapping[str, object]) -> None:
        """Take a value for each column of the primary key."""
        self._schema = schema
        self._key = key

    def find(
        self,
        lookup: SnapshotLookup,
        scan: Callable[[Sequence[str] | None, Sequence[Condition]], Scan],
        columns: Sequence[str] | None,
    ) -> dict[str, object] | None:
        """Return the row, None when there is none.

        Args:
            lookup: Of the snapshot.
            scan: From columns and conditions to a scan of the snapshot; says what is wrong with a value
                that does not fit its column.
            columns: Of the row; None means all.

        Raises:
            CorruptData: The table has the key more than once.
            UnsupportedFeature: The key is in several partitions, as tables of other engines may
                have it; or a date or time outside the years 1 to 9999.
        """
        of_each = lookup.rows_per_key([self._key], columns=columns)
        if of_each is not None:
            [found] = of_each
        else:
            found = [row for batch in self._scanned(scan, columns) for row in python_rows(batch)]
        if len(found) > 1:
            raise self._several(len(found))
        return found[0] if found else None

    def _scanned(
        self,
        scan: Callable[[Sequence[str] | None, Sequence[Condition]], Scan],
        columns: Sequence[str] | None,
    ) -> Iterator[pa.RecordBatch]:
        where = [Condition(column=name, op="=", value=value) for name, value in self._key.items()]
        return scan(columns, where).to_batches()

    def _several(self, count: int) -> LakeError:
        message = f"the table has {count} rows of the key {dict(self._key)}"
        keys = self._schema.primary_keys
        outside = [name for name in self._schema.partition_keys if name not in keys]
        if outside and self._schema.table_options.bucket != DYNAMIC_BUCKET:
            message += (
                f", because it is partitioned by columns outside of the key: {', '.join(outside)}\n"
                "hint: `scan` gives the rows; conditions on these columns tell them apart"
            )
            return UnsupportedFeature(message)
        return CorruptData(message)
