"""BinaryRow."""

from collections.abc import Sequence

import pyarrow as pa

from lake.format.data_types import DataField, DataType

EMPTY_ROW = bytes(12)


def encode_row(values: Sequence[object], types: Sequence[DataType | DataField]) -> bytes:
    """Return one serialised row (arity first)."""
    raise NotImplementedError


def encode_rows(
    arrays: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType | DataField]
) -> list[bytes]:
    """Return the serialised row (arity first) of every row of the columns."""
    raise NotImplementedError


def decode_row(data: bytes, types: Sequence[DataType | DataField]) -> tuple[object, ...]:
    """Return the values of a serialised row."""
    raise NotImplementedError


def decode_rows(rows: Sequence[bytes], fields: Sequence[DataField]) -> pa.Table:
    """Return serialised rows as a table of the fields, all nullable."""
    raise NotImplementedError
