"""A Python function applied to each distinct value of a column once, for casts that Arrow does not have."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def by_value(column: pa.Array, target: pa.DataType, convert: Callable[[Any], object]) -> pa.Array:
    """Return the column with every value converted, and null for null.

    Args:
        column: Values of a type that Arrow can encode as a dictionary.
        target: Arrow type of the result.
        convert: Returns the converted value, or None, for a value that is not None.

    Raises:
        ValueError: Raised by `convert`.
    """
    encoded = column.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(values, target).take(encoded.indices)
