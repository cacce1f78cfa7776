"""Casts that change no value, except that numbers for FLOAT are rounded: Arrow's safe casts, with a check.

The check is for numbers that become infinite: Arrow's safe cast turns a number that is too large for FLOAT into
infinity without an error. Numbers that are too small for FLOAT become 0.

Source: merge-semantics 1.3 asks for values of the column's type; the reference accepts no DOUBLE
for a FLOAT column.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc


def lossless_cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    """Return the column under another type; only floating-point numbers may be rounded.

    Raises:
        pa.ArrowInvalid: A value does not fit, or a finite number would become infinite.
        pa.ArrowNotImplementedError: There is no such cast.
    """
    cast = column.cast(target)
    # Infinities are counted, because those that the column had before the cast are legal.
    if _holds_float(target) and _infinities(cast) > _infinities(column):
        text = "a finite number is not in range and would become infinite"
        raise pa.ArrowInvalid(text)
    return cast


def _holds_float(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_holds_float(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_float32(kind))


def _infinities(column: pa.ChunkedArray) -> int:
    """Return the number of infinite values, including values inside of nested values."""
    return sum(
        pc.sum(pc.is_inf(leaf)).as_py() or 0 for chunk in column.chunks for leaf in _floats(chunk)
    )


def _floats(values: pa.Array) -> Iterator[pa.Array]:
    kind = values.type
    if pa.types.is_floating(kind):
        yield values
    elif pa.types.is_dictionary(kind):
        yield from _floats(values.dictionary_decode())
    elif pa.types.is_struct(kind):
        for part in values.flatten():
            yield from _floats(part)
    elif pa.types.is_map(kind):
        # `keys` and `items` have the entries of the whole buffer, of which the array may be a
        # slice.
        start, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        for part in (values.keys, values.items):
            yield from _floats(part.slice(start, end - start))
    elif pa.types.is_nested(kind):
        yield from _floats(values.flatten())
