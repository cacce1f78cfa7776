"""Column statistics of a data file or a manifest: bounds and null counts.

The bounds are two binary rows with a field for each covered column; a column without bounds is null in both.
Readers skip files by their bounds, so a bound may be too wide but never too narrow. Bounds are in the order in
which readers compare: text by UTF-8 bytes, floats as Java orders them (-0.0 below 0.0, NaN above everything).

These columns have no bounds, only null counts: nested ones, timestamps of precision 7 and more,
binary ones, columns of nulls alone, and texts whose upper bound cannot be shortened. Binary columns
have none because Java's readers compare their bounds as signed bytes, while files are sorted by
unsigned bytes, and a reader that misinterprets a bound loses rows.

Source: table-format 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrow_types import to_arrow_form, to_arrow_type
from braid.lake.format.binary_row import EMPTY_ROW, encode_rows
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataField,
    DataType,
    TypeRoot,
)
from braid.lake.format.float_order import total_order
from braid.lake.format.null_counts import Counts, whole_counts

_CODE_POINT_MAX = 0x10FFFF
_SURROGATE_FIRST = 0xD800
_SURROGATE_LAST = 0xDFFF
_MICROS_PRECISION_MAX = 6

# Least and greatest value, as scalars of Arrow or Python; None for no bound.
Bounds = tuple[Any, Any]
_NO_BOUNDS: Bounds = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleStats:
    """Bounds and null counts of some columns.

    Attributes:
        min_values: Lower bounds as a serialised binary row (arity first), one field per covered column.
        max_values: Upper bounds, in the same form.
        null_counts: One count per covered column; None where unknown. Equal to the tuple of its counts.
    """

    min_values: bytes
    max_values: bytes
    null_counts: Counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedStats(SimpleStats):
    """Statistics without bounds, which only tell which columns hold nothing but nulls; never written."""


REDUCED_FROM: Final = 2_000
"""Bytes from which on statistics are worth reducing: those of a hundred columns and more."""


def reduced(stats: SimpleStats, rows: int) -> SimpleStats:
    """Return statistics of a file of some rows, reduced if they are large."""
    if len(stats.min_values) + len(stats.max_values) < REDUCED_FROM:
        return stats
    counts = whole_counts(stats.null_counts, rows)
    return ReducedStats(min_values=EMPTY_ROW, max_values=EMPTY_ROW, null_counts=counts)


EMPTY_STATS = SimpleStats(min_values=EMPTY_ROW, max_values=EMPTY_ROW, null_counts=())


def collect_statistics(
    table: pa.Table, fields: Sequence[DataField], *, truncate: int | None
) -> SimpleStats:
    """Return the statistics of the columns that `fields` name, in their order.

    Args:
        table: Any number of rows; columns in the Arrow form of their type, or in a type that casts to it.
        fields: The columns to cover.
        truncate: Longest text bound in characters. A truncated upper bound is rounded up, so that
            no value exceeds it; if that is impossible, the column has no bounds. None keeps bounds whole.

    Returns:
        Statistics of arity `len(fields)`. Binary and nested types, and timestamps of precision
        7 and more, have null bounds, as the files of the released Java have.

    Raises:
        SchemaMismatch: A column has the wrong type.
    """
    if not fields:
        return EMPTY_STATS
    arrays: list[pa.Array] = []
    null_counts: list[int] = []
    for field in fields:
        column = to_arrow_form(table.column(field.name), field.type)
        null_counts.append(column.null_count)
        bounds = _NO_BOUNDS
        if null_counts[-1] < len(column) and has_bounds(field.type):
            bounds = _truncated(find_bounds(column, field.type), field.type, truncate)
        arrays.append(pa.array(bounds, type=to_arrow_type(field.type)))
    # Two rows: `bounds` gave each column its least and its greatest value.
    min_values, max_values = encode_rows(arrays, fields)
    return SimpleStats(min_values=min_values, max_values=max_values, null_counts=tuple(null_counts))


def has_bounds(data_type: DataType) -> bool:
    """Return whether statistics of a column of this type hold bounds."""
    if data_type.root in TIMESTAMP_ROOTS:
        assert data_type.precision is not None, data_type
        return data_type.precision <= _MICROS_PRECISION_MAX
    return data_type.is_plain and data_type.root not in BYTES_ROOTS


def find_bounds(column: pa.ChunkedArray, data_type: DataType) -> Bounds:
    """Return the least and the greatest value that is not null.

    Requires:
        The column has a value that is not null.
    """
    if data_type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE):
        return _float_bounds(column)
    bounds = pc.min_max(column)
    return bounds["min"], bounds["max"]


def _float_bounds(column: pa.ChunkedArray) -> Bounds:
    values = column.drop_null().to_numpy()
    numbers = total_order(values)
    return float(values[numbers.argmin()]), float(values[numbers.argmax()])


def _truncated(bounds: Bounds, data_type: DataType, truncate: int | None) -> Bounds:
    """Return text bounds of at most `truncate` characters, other bounds unchanged."""
    if truncate is None or data_type.root not in TEXT_ROOTS:
        return bounds
    least, greatest = (bound.as_py() for bound in bounds)
    upper = round_up_text(greatest, truncate)
    return _NO_BOUNDS if upper is None else (least[:truncate], upper)


def round_up_text(text: str, length: int) -> str | None:
    """Return a text of at most `length` characters that is not below `text`, or None if there is none.

    Within the length, the last character that has a successor is replaced by it; the rest is dropped.
    """
    if len(text) <= length:
        return text
    for index in range(length - 1, -1, -1):
        successor = ord(text[index]) + 1
        if _SURROGATE_FIRST <= successor <= _SURROGATE_LAST:
            successor = _SURROGATE_LAST + 1  # surrogates cannot be encoded as UTF-8
        if successor <= _CODE_POINT_MAX:
            upper = text[:index] + chr(successor)
            # Code points and UTF-8 bytes have the same order.
            assert upper > text, "an upper bound is not below the text"
            return upper
    return None  # every character is the highest code point
