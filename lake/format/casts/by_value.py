"""Casts that need a look at each value: done once for each that occurs."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def by_value(column: pa.Array, target: pa.DataType, convert: Callable[[Any], object]) -> pa.Array:
    """Return the column with every value converted, nulls left alone.

    Args:
        column: Any type that Arrow can encode as a dictionary.
        target: Arrow type of the result.
        convert: From one value to another, None included; never called with None.

    Raises:
        ValueError: `convert` does.
    """
    encoded = column.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(values, target).take(encoded.indices)
