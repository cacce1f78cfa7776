"""Statistics of a data file for its manifest entry, collected while the file is written.

The numbers of rows, retracts and nulls, the first and the last key, and the range of sequence numbers are collected
from the rows. The Parquet writer computes most bounds of columns anyway and keeps them in the footer; computing them
again would take a tenth of the time of writing. Bounds are computed here only where the footer lacks them: for
floats, because Parquet's statistics skip NaN, and for texts that are too long for a footer. Avro files have no
bounds, and Arrow does not give access to the bounds in ORC files. So in files of both formats all columns of types
with bounds are scanned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.files.parquet.bounds import ColumnBounds
from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.binary_row import encode_rows
from braid.lake.format.data_types import TEXT_ROOTS, DataField, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.format.statistics import (
    SimpleStats,
    collect_statistics,
    find_bounds,
    has_bounds,
)
from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND, RowKind

_FOOTER_BYTES_MAX: Final = 4_096
"""Length in bytes above which Arrow's writer leaves bounds out."""

_FLOAT_ROOTS: Final = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})


class FileStatistics:
    """Collects the statistics of one file, row group by row group.

    Attributes:
        row_count: The number of rows of all row groups so far.
        delete_row_count: The number of retracts (-U and -D) among these rows.
        min_sequence_number: The smallest number of all rows; 0 without rows.
        max_sequence_number: The greatest number of all rows; 0 without rows.
    """

    def __init__(self, schema: TableSchema, *, has_footer: bool = True) -> None:
        """Begin without rows.

        Args:
            schema: The table's schema.
            has_footer: The file has a Parquet footer, with the bounds of most columns.
        """
        self._schema = schema
        self._has_footer = has_footer
        self._scanned = [
            field
            for field in schema.fields
            if (_may_lack_bounds(field) if has_footer else has_bounds(field.type))
        ]
        self._null_counts = dict.fromkeys(schema.field_names, 0)
        self._bounds: dict[str, dict[int, pa.Array]] = {f.name: {} for f in self._scanned}
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None
        self._groups = 0
        self.row_count = 0
        self.delete_row_count = 0
        self.min_sequence_number = 0
        self.max_sequence_number = 0

    def add(self, rows: pa.Table) -> None:
        """Add the next row group, a key-value table of at least one row, sorted by key."""
        assert rows.num_rows, "a row group has rows"
        keys = rows.select(self._schema.trimmed_primary_keys)
        sequence = pc.min_max(rows.column(SEQUENCE_NUMBER)).as_py()
        least, greatest = sequence["min"], sequence["max"]
        if self._first is None:
            self._first = keys.take([0])
            self.min_sequence_number, self.max_sequence_number = least, greatest
        self._last = keys.take([rows.num_rows - 1])
        self.min_sequence_number = min(self.min_sequence_number, least)
        self.max_sequence_number = max(self.max_sequence_number, greatest)
        self.delete_row_count += _retracts(rows)
        for name in self._null_counts:
            self._null_counts[name] += rows.column(name).null_count
        for field in self._scanned:
            column = rows.column(field.name)
            if column.null_count == len(column):
                continue  # no values, no bounds
            if not self._has_footer or _lacks_bounds(column, field):
                bounds = find_bounds(column, field.type)
                self._bounds[field.name][self._groups] = pa.array(bounds, to_arrow_type(field.type))
        self.row_count += rows.num_rows
        self._groups += 1

    @property
    def key_range(self) -> tuple[bytes, bytes]:
        """The first and the last key, as serialised binary rows. Requires: at least one row."""
        assert self._first is not None, "no rows"
        assert self._last is not None, "no rows"
        ends = pa.concat_tables([self._first, self._last])
        first, last = encode_rows(ends.columns, self._schema.key_fields)
        return first, last

    def of(
        self,
        fields: Sequence[DataField],
        bounds: Mapping[str, ColumnBounds],
        *,
        truncate: int | None,
    ) -> SimpleStats:
        """Return the statistics of some columns.

        Args:
            fields: The columns.
            bounds: The bounds of the file's footer.
            truncate: As for `collect_statistics`.
        """
        # The bounds of the file are the extremes of its row groups' bounds. Null counts are summed
        # by `add`.
        columns = {field.name: self._extremes(field, bounds.get(field.name)) for field in fields}
        longest = max(len(values) for values in columns.values())
        extremes = pa.table(
            {
                name: pa.concat_arrays([values, pa.nulls(longest - len(values), values.type)])
                for name, values in columns.items()
            }
        )
        stats = collect_statistics(extremes, fields, truncate=truncate)
        return replace(stats, null_counts=tuple(self._null_counts[field.name] for field in fields))

    def _extremes(self, field: DataField, bounds: ColumnBounds | None) -> pa.Array:
        """Return some values of a column, its least and greatest among them; none where unknown."""
        kind = to_arrow_type(field.type)
        if not has_bounds(field.type):
            return pa.nulls(0, kind)
        found = self._bounds.get(field.name, {})
        parts = list(found.values())
        if bounds is not None:
            # A row group whose bounds neither the footer nor `add` has may have any values.
            if not set(bounds.groups_without_bounds.tolist()) <= found.keys():
                return pa.nulls(0, kind)
            parts += [bounds.minima, bounds.maxima]
        return pa.concat_arrays(parts) if parts else pa.nulls(0, kind)


def _may_lack_bounds(field: DataField) -> bool:
    return field.type.root in _FLOAT_ROOTS or field.type.root in TEXT_ROOTS


def _lacks_bounds(column: pa.ChunkedArray, field: DataField) -> bool:
    """Return whether the footer may lack bounds of these values."""
    if field.type.root in _FLOAT_ROOTS:
        return True
    # Cheap test first: where all texts together are short, none is long.
    if column.nbytes <= _FOOTER_BYTES_MAX:
        return False
    return bool(pc.max(pc.binary_length(column)).as_py() > _FOOTER_BYTES_MAX)


def _retracts(table: pa.Table) -> int:
    kinds = table.column(VALUE_KIND).to_numpy()
    return int(np.count_nonzero((kinds == RowKind.UPDATE_BEFORE) | (kinds == RowKind.DELETE)))
