"""Casts in Python, value by value, each distinct value once."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def by_value(column: pa.Array, target: pa.DataType, convert: Callable[[Any], object]) -> pa.Array:
    """Return the column with every value converted, and null for null.

    Args:
        column: Of a type that Arrow can encode as a dictionary.
        target: Arrow type of the result.
        convert: From a value that is not None to a value or None.

    Raises:
        ValueError: From `convert`.
    """
    encoded = column.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(values, target).take(encoded.indices)
