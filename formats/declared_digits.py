"""Truncation of times and timestamps, at any depth of a column, to the digits of the second that the column's type declares.

Readers return TIMEs and TIMESTAMPs in their Arrow forms, which have 3, 6 or 9 digits of the second. A type may declare fewer
digits: the values of a TIMESTAMP(0) are whole seconds. Every module that takes columns from a reader truncates them, so the
value is the same for every format, part of a record and expression: rows (`record_reader`), the buckets of their keys
(`bucket_routing`), conditions (`record_kinds`) and the fields that expressions see (`computed_reader`).

The keys of a MAP stay as they are: streams fill only MAPs whose keys are texts.
"""

import pyarrow as pa

from braid.formats.arrow_cast import with_child, with_map_entries
from braid.lake import DataType, TypeRoot


def with_declared_digits(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return a column whose times and timestamps have no more digits of the second than the type declares.

    Args:
        array: The column, in the Arrow form of its type; may be a slice.
        data_type: The type.

    Returns:
        The same number of values under the same nulls; further digits are cut off, towards the past. The array itself,
        if the type has as many digits as its Arrow form.
    """
    if not _has_fewer_digits(data_type):
        return array
    match data_type.root:
        case TypeRoot.ARRAY:
            assert data_type.element is not None, "an ARRAY has an element type"
            return with_child(
                array, array.type, with_declared_digits(array.values, data_type.element)
            )
        case TypeRoot.MAP:
            assert data_type.value is not None, "a MAP has a value type"
            items = with_declared_digits(array.items, data_type.value)
            return with_map_entries(array, array.type, array.keys, items)
        case TypeRoot.ROW:
            # `flatten` applies the struct's own nulls and offset, so the parts have its length.
            pairs = zip(array.flatten(), data_type.fields, strict=True)
            parts = [with_declared_digits(part, field.type) for part, field in pairs]
            return pa.StructArray.from_arrays(parts, fields=list(array.type), mask=array.is_null())
        case _:
            return _cut(array, _step(data_type))


def _has_fewer_digits(data_type: DataType) -> bool:
    parts = (data_type.element, data_type.value)
    return (
        _step(data_type) > 1
        or any(part is not None and _has_fewer_digits(part) for part in parts)
        or any(_has_fewer_digits(field.type) for field in data_type.fields)
    )


def _step(data_type: DataType) -> int:
    """Return how many units of its Arrow form a type's last digit is; 1 for types without digits of the second."""
    precision = data_type.precision or 0
    match data_type.root:
        case TypeRoot.TIME:  # its Arrow form has milliseconds, whatever it declares
            missing = max(3 - precision, 0)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            missing = -precision % 3 if precision else 3
        case _:
            return 1
    return (1, 10, 100, 1_000)[missing]


def _cut(array: pa.Array, step: int) -> pa.Array:
    number = pa.int32() if pa.types.is_time32(array.type) else pa.int64()
    found = array.cast(number).fill_null(0).to_numpy(zero_copy_only=False)
    is_null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    # The remainder is never negative, so that years before 1970 are cut towards the past, too.
    return pa.array(found - found % step, type=number, mask=is_null).cast(array.type)
