"""Key of a single-row lookup as Python numbers and bytes: its values, its hash in copies of files, and its bucket.

Arrays of one value cost tens of microseconds; these numbers cost a few. Keys of integers, dates and texts have this
form. All other keys, and values that do not fit their column exactly, have none, and are looked up as arrays
(`wanted_keys`).

Source: table-format 8, 11 (binary rows and buckets).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import pyarrow as pa

from braid.lake.format.bucket import bucket_of_row
from braid.lake.format.data_types import DataField, TypeRoot
from braid.lake.format.row_words import INLINE_BYTES_MAX, WORD_BYTES
from braid.lake.read.lookup.key_hash import hash_of_values, is_number, raw_numbers

PointValue = int | bytes
"""A whole number, a date as days since 1970, or a text in UTF-8."""

_INTEGER_BYTES: Final = {
    TypeRoot.TINYINT: 1,
    TypeRoot.SMALLINT: 2,
    TypeRoot.INT: 4,
    TypeRoot.BIGINT: 8,
}
_DATE_BYTES: Final = 4
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    root: TypeRoot
    width: int  # bytes of the number in its slot; 0 for a text

    def value_of(self, value: object) -> PointValue | None:
        """Return a value in this form; None where it has none."""
        if self.root is TypeRoot.VARCHAR:
            return _utf8(value)
        if self.root is TypeRoot.DATE:
            return value.toordinal() - _EPOCH_ORDINAL if type(value) is date else None
        bound = 1 << (8 * self.width - 1)
        return value if type(value) is int and -bound <= value < bound else None


class PointKeys:
    """Converts the keys of one table."""

    def __init__(
        self, columns: Sequence[_Column], *, hashed: Sequence[int], bucket: Sequence[int]
    ) -> None:
        """Set the columns (use `point_keys`).

        Args:
            columns: The primary key.
            hashed: Indexes of the trimmed primary key's columns among them.
            bucket: Indexes of the bucket key's columns.
        """
        self._columns = tuple(columns)
        self.hashed = tuple(hashed)
        self._bucket = tuple(bucket)

    def values_of(self, key: Mapping[str, object]) -> tuple[PointValue, ...] | None:
        """Return the values of a key in the order of the primary key; None where it has no such form."""
        if len(key) != len(self._columns):
            return None
        values = []
        for column in self._columns:
            value = column.value_of(key.get(column.name))
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def hash_of(self, values: Sequence[PointValue]) -> int:
        """Return the hash that copies of files have of a key (`key_hash`)."""
        return hash_of_values([values[index] for index in self.hashed])

    def bucket_of(self, values: Sequence[PointValue], total_buckets: int) -> int:
        """Return the bucket of a key."""
        if total_buckets == 1:
            return 0
        chosen = [(values[index], self._columns[index].width) for index in self._bucket]
        return bucket_of_row(_binary_row(chosen), total_buckets)


def point_keys(
    primary_key: Sequence[DataField], *, trimmed: Sequence[str], bucket_keys: Sequence[str]
) -> PointKeys | None:
    """Return the conversion of a table's keys; None for a table with a key column of another type."""
    columns = []
    for field in primary_key:
        root = field.type.root
        width = _DATE_BYTES if root is TypeRoot.DATE else _INTEGER_BYTES.get(root, 0)
        if not width and root is not TypeRoot.VARCHAR:
            return None
        columns.append(_Column(field.name, root, width))
    names = [field.name for field in primary_key]
    return PointKeys(
        columns,
        hashed=[names.index(name) for name in trimmed],
        bucket=[names.index(name) for name in bucket_keys],
    )


def point_values(column: pa.Array) -> list[PointValue]:
    """Return the values of a key column in this form. Requires: the column is one of `point_keys`."""
    if is_number(column.type):
        numbers: list[PointValue] = raw_numbers(column).tolist()
        return numbers
    return [value.encode() for value in column.to_pylist()]


def _utf8(value: object) -> bytes | None:
    if type(value) is not str:
        return None
    try:
        return value.encode()
    except UnicodeEncodeError:
        return None


def _binary_row(values: Sequence[tuple[PointValue, int]]) -> bytes:
    """Return the words of a binary row without nulls, its header first."""
    header = bytes((len(values) + 71) // 64 * WORD_BYTES)
    slots, tail = [], b""
    begin = len(header) + WORD_BYTES * len(values)
    for value, width in values:
        if isinstance(value, int):
            slots.append(value.to_bytes(width, "little", signed=True).ljust(WORD_BYTES, b"\0"))
        elif len(value) <= INLINE_BYTES_MAX:
            slots.append(value.ljust(INLINE_BYTES_MAX, b"\0") + bytes((0x80 | len(value),)))
        else:
            slots.append(
                len(value).to_bytes(4, "little") + (begin + len(tail)).to_bytes(4, "little")
            )
            tail += value.ljust(-(-len(value) // WORD_BYTES) * WORD_BYTES, b"\0")
    return header + b"".join(slots) + tail
