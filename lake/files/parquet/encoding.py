"""Choice of Parquet encodings, from a small sample of each column of the first row group.

The rules follow from a measurement with 250 000 rows and zstd level 1. Each cell has the
milliseconds to write, the milliseconds to read, and the size in kB:

| column | dictionary | plain | delta binary packed |
|---|---|---|---|
| text, 1 000 different | 14, 10, 316 | 22, 12, 541 | |
| text, all different | 30, 17, 1 703 | 38, 15, 1 587 | |
| integers, 1 000 different | 8, 1.6, 316 | 13, 6, 403 | 5, 1.7, 352 |
| integers, all different | 28, 5, 1 754 | 8, 4, 1 496 | 9, 2, 1 295 |
| sequence numbers | 29, 7, 514 | 12, 6, 256 | 3, 1, 2 |

A dictionary with nearly as many entries as rows costs time and saves no space. So a column gets a
dictionary only if its values repeat. Otherwise it is packed as differences (`DELTA_BINARY_PACKED`)
if Parquet stores it as integers, as it does dates, timestamps and short decimals; all other columns
are plain. Two kinds of columns are not examined: nested columns always get dictionaries, and
booleans are always plain.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

_SAMPLE_ROWS = 1_024
_ROWS_PER_VALUE_MIN = 4
"""With fewer rows per distinct value a dictionary costs more than it saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEncodings:
    """The encodings of a file's columns; a column that neither attribute has is plain.

    Attributes:
        dictionary: Paths of leaves with a dictionary.
        explicit: Parquet encodings of other leaves, by path.
    """

    dictionary: list[str]
    explicit: dict[str, str]


def choose_encodings(table: pa.Table) -> ColumnEncodings:
    """Return encodings for a file whose first row group is this table.

    Cost: one take of at most 1 024 rows per column.
    """
    dictionary: list[str] = []
    explicit: dict[str, str] = {}
    sample = _sample(table)
    for field in table.schema:
        if pa.types.is_nested(field.type):
            dictionary += _leaf_paths(field)
        elif pa.types.is_boolean(field.type):
            continue
        elif _repeats(sample.column(field.name), table.num_rows):
            dictionary.append(field.name)
        elif _is_stored_as_integer(field.type):
            explicit[field.name] = "DELTA_BINARY_PACKED"

    return ColumnEncodings(dictionary=dictionary, explicit=explicit)


def _sample(table: pa.Table) -> pa.Table:
    if table.num_rows <= _SAMPLE_ROWS:
        return table
    rows = np.linspace(0, table.num_rows - 1, _SAMPLE_ROWS, dtype=np.int64)
    return table.take(pa.array(rows))


def _repeats(sample: pa.ChunkedArray, row_count: int) -> bool:
    valid = len(sample) - sample.null_count
    distinct = len(sample.unique()) - (sample.null_count > 0)
    if distinct <= 1:
        return True
    if row_count <= _SAMPLE_ROWS:
        return bool(valid >= _ROWS_PER_VALUE_MIN * distinct)
    # Estimate the distinct values of the whole column, as in the birthday problem: among s draws from
    # c equally likely values about s² / 2c repeat an earlier one, so c is about s² / 2 repeats.
    repeated = valid - distinct
    values = valid * valid / (2 * repeated) if repeated else np.inf
    rows = row_count * valid / len(sample)
    return bool(rows >= _ROWS_PER_VALUE_MIN * min(values, rows))


def _is_stored_as_integer(data_type: pa.DataType) -> bool:
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= 18)
    return bool(pa.types.is_integer(data_type) or pa.types.is_temporal(data_type))


def _leaf_paths(field: pa.Field) -> list[str]:
    return [".".join((field.name, *path)) for path in _leaves(field.type)]


def _leaves(data_type: pa.DataType) -> list[tuple[str, ...]]:
    if pa.types.is_list(data_type):
        return [("list", "element", *rest) for rest in _leaves(data_type.value_type)]
    if pa.types.is_map(data_type):
        keys = [("key_value", "key", *rest) for rest in _leaves(data_type.key_type)]
        return keys + [("key_value", "value", *rest) for rest in _leaves(data_type.item_type)]
    if pa.types.is_struct(data_type):
        return [(inner.name, *rest) for inner in data_type for rest in _leaves(inner.type)]
    return [()]
