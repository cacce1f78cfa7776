"""File index of one data file, built while the file is written: Bloom filters of the declared columns or map keys."""

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrow_types import elements, to_arrow_type
from braid.lake.format.indexes.bloom_filter import BloomFilterBuilder, encode_bloom_filter
from braid.lake.format.indexes.file_index import BLOOM_FILTER, encode_file_index
from braid.lake.format.indexes.indexed_columns import IndexedColumn, indexed_columns
from braid.lake.format.indexes.value_hash import value_hashes
from braid.lake.format.schema import TableSchema


class FileIndexWriter:
    """Builds the Bloom filters of a file's indexed columns.

    Memory: that of a `BloomFilterBuilder` for each indexed column.
    """

    def __init__(self, schema: TableSchema) -> None:
        """Begin without rows."""
        self._columns = [
            (column, BloomFilterBuilder(fpp=column.declared.fpp, items=column.declared.items))
            for column in indexed_columns(schema)
        ]

    def add(self, rows: pa.Table) -> None:
        """Add the values of some rows.

        Args:
            rows: Rows with all table columns, retracts included: a lookup has to find retracts as
                well.
        """
        for column, builder in self._columns:
            builder.add(value_hashes(_values(rows, column), column.type))

    def finish(self) -> bytes | None:
        """Return the index; None where no column has one."""
        if not self._columns:
            return None
        return encode_file_index(
            {
                column.declared.name: {BLOOM_FILTER: encode_bloom_filter(builder.finish())}
                for column, builder in self._columns
            }
        )


def _values(rows: pa.Table, column: IndexedColumn) -> pa.ChunkedArray:
    declared = column.declared
    values = rows.column(declared.column)
    if declared.map_key is None:
        return values
    chunks = [_of_key(chunk, declared.map_key) for chunk in values.chunks]
    return pa.chunked_array(chunks, to_arrow_type(column.type))


def _of_key(maps: pa.MapArray, key: str) -> pa.Array:
    """Return the values of a key in the maps that have the key."""
    entries = elements(maps.drop_null())
    keys, items = entries.field(0), entries.field(1)
    return items.filter(pc.equal(keys, pa.scalar(key, keys.type)))
