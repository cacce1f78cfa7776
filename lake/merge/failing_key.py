"""The smallest key whose records cannot be merged, found by bisection after a merge has failed.

Errors of merging name a column but no row. To find the key, the lower half of the keys is merged: if that fails, the
key is in the lower half, otherwise in the upper half, and the search continues there. `error_of_key` puts the key
into the error.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from braid.lake.errors import SchemaMismatch
from braid.lake.merge.order.key_codes import Uints


def records_of_failing_key(
    table: pa.Table, codes: Uints, merge: Callable[[pa.Table], object]
) -> pa.Table:
    """Return the records of the smallest key that cannot be merged, in their order.

    Args:
        table: Key-value table whose merge fails.
        codes: One code per row; codes order rows by key.
        merge: Merges records; raises SchemaMismatch where it fails.
    """
    while True:
        assert len(codes), "a merge of no records does not fail"
        low, high = codes.min(), codes.max()
        if low == high:
            return table
        keys = np.unique(codes)
        is_lower = codes < keys[len(keys) // 2]
        lower = table.filter(pa.array(is_lower))
        half = is_lower if _fails(lower, merge) else ~is_lower
        table, codes = table.filter(pa.array(half)), codes[half]


def error_of_key(
    error: SchemaMismatch, key: pa.Table, key_columns: Sequence[str]
) -> SchemaMismatch:
    """Return the error with the key in its message.

    Args:
        error: The error raised by merging the records of one key.
        key: At least one row with the key columns.
        key_columns: Their names.
    """
    text = ", ".join(f"{name} = {_shown(key.column(name)[0])}" for name in key_columns)
    message = f"the records of key {text} cannot be merged"
    values = {name: _value(key.column(name)[0]) for name in key_columns}
    return SchemaMismatch(message, problems=error.problems, key=values)


def _shown(value: pa.Scalar) -> str:
    found = _value(value)
    return str(found) if pa.types.is_temporal(value.type) else repr(found)


def _value(value: pa.Scalar) -> object:
    if pa.types.is_temporal(value.type):
        return value.cast(pa.string()).as_py()  # Python's times have no nanoseconds
    return value.as_py()


def _fails(table: pa.Table, merge: Callable[[pa.Table], object]) -> bool:
    try:
        merge(table)
    except SchemaMismatch:
        return True
    return False
