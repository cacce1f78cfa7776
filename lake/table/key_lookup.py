"""One row by its primary key, and rows as Python values."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from lake.errors import CorruptData, LakeError, UnsupportedFeature
from lake.format.schema import TableSchema
from lake.options import DYNAMIC_BUCKET
from lake.read.predicate import Condition
from lake.table.scan import Scan


class KeyLookup:
    """Finds the row of one key."""

    def __init__(self, schema: TableSchema, key: Mapping[str, object]) -> None:
        """Take a value for each column of the primary key."""
        self._schema = schema
        self._key = key

    def find(
        self,
        scan: Callable[[Sequence[str] | None, Sequence[Condition]], Scan],
        columns: Sequence[str] | None,
    ) -> dict[str, object] | None:
        """Return the row, None when there is none.

        Args:
            scan: From columns and conditions to a scan of the snapshot.
            columns: Of the row; None means all.

        Raises:
            CorruptData: The table has the key more than once.
            UnsupportedFeature: The key is in several partitions, as tables of other engines may
                have it; or a date or time outside the years 1 to 9999.
        """
        where = [Condition(column=name, op="=", value=value) for name, value in self._key.items()]
        found: list[dict[str, object]] = []
        for batch in scan(columns, where).to_batches():
            found += python_rows(batch)
        if len(found) > 1:
            raise self._several(len(found))
        return found[0] if found else None

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


def python_rows(batch: pa.RecordBatch) -> list[dict[str, object]]:
    """Return the rows as `to_pylist` does; TIMESTAMP(7..9) as whole nanoseconds since 1970.

    So are those inside of nested values. Python's datetime holds no nanoseconds, and Arrow's answer depends on whether pandas is there.

    Raises:
        UnsupportedFeature: A date or time that Python cannot hold; names the column.
    """
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            columns[name] = column.cast(_without_nanoseconds(column.type)).to_pylist()
        except (OverflowError, ValueError) as error:
            message = (
                f"column `{name}` of type {column.type} has a value that Python cannot hold: "
                f"{error}\nhint: read it with `scan`, which gives Arrow data"
            )
            raise UnsupportedFeature(message) from error
    return [{name: values[row] for name, values in columns.items()} for row in range(len(batch))]


def _without_nanoseconds(kind: pa.DataType) -> pa.DataType:
    """Return the type with 64-bit numbers where it has timestamps of nanoseconds."""

    def part(field: pa.Field) -> pa.Field:
        return field.with_type(_without_nanoseconds(field.type))

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([part(kind.field(index)) for index in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(part(kind.key_field), part(kind.item_field))
    return pa.list_(part(kind.value_field)) if pa.types.is_list(kind) else kind
