"""The cast from one column type to another, chosen by the two types; and the value of a single text.

Source: merge-semantics 8.2.
"""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from braid.lake.format.arrow_types import to_arrow_type
from braid.lake.format.casts.from_text import fit_bytes, from_text
from braid.lake.format.casts.numbers import (
    decimal_to_number,
    number_to_bool,
    number_to_decimal,
    number_to_number,
)
from braid.lake.format.casts.rules import has_conversion
from braid.lake.format.casts.times import (
    date_to_timestamp,
    seconds_to_timestamp,
    time_to_timestamp,
    timestamp_to_date,
    timestamp_to_number,
    timestamp_to_time,
    timestamp_to_timestamp,
)
from braid.lake.format.casts.to_text import fit_text, to_text
from braid.lake.format.data_types import (
    BYTES_ROOTS,
    TEXT_ROOTS,
    TIMESTAMP_ROOTS,
    DataType,
    TypeRoot,
)

ColumnCast: TypeAlias = Callable[[pa.Array], pa.Array]


def column_cast(source: DataType, target: DataType) -> ColumnCast | None:
    """Return the cast of columns from one type to another; None for the identity.

    The cast takes a column in the Arrow form of `source`, returns one in that of `target`, and
    raises ValueError (ArrowInvalid is one) for a value that cannot be converted.

    Args:
        source: Type of the values.
        target: Type of the result.

    Requires:
        `has_conversion(source, target)`.
    """
    if source.with_nullable(True) == target.with_nullable(True) or _is_longer(source, target):
        return None
    assert has_conversion(source, target), (source, target)
    arrow_type = to_arrow_type(target)
    if target.root in TEXT_ROOTS:
        if source.root in TEXT_ROOTS:
            return lambda column: fit_text(column, target)
        return lambda column: to_text(column, source, target)
    if source.root in TEXT_ROOTS:
        return lambda column: from_text(column, target)
    if source.root in BYTES_ROOTS:
        return lambda column: fit_bytes(column, target)
    if source.root in TIMESTAMP_ROOTS:
        return _from_timestamp(target, arrow_type)
    if target.root in TIMESTAMP_ROOTS:
        return _to_timestamp(source, arrow_type)
    return _between_numbers(source, target, arrow_type)


def _is_longer(source: DataType, target: DataType) -> bool:
    """Return whether the types are texts or bytes, and every value of the source is unchanged in the target."""
    has_room = (source.length or 0) <= (target.length or 0)
    is_text = source.root in TEXT_ROOTS and target.root is TypeRoot.VARCHAR
    is_bytes = source.root in BYTES_ROOTS and target.root is TypeRoot.VARBINARY
    return has_room and (is_text or is_bytes)


def read_text(text: str, target: DataType) -> pa.Scalar:
    """Return the value of a type from its text, in the spelling of default values.

    A decimal with too many digits is null.

    Raises:
        ValueError: The text is not a value of the type.
    """
    texts = pa.array([text])
    return (fit_text if target.root in TEXT_ROOTS else from_text)(texts, target)[0]


def _from_timestamp(target: DataType, arrow_type: pa.DataType) -> ColumnCast:
    match target.root:
        case TypeRoot.DATE:
            return timestamp_to_date
        case TypeRoot.TIME:
            return timestamp_to_time
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            precision = target.precision or 0
            return lambda column: timestamp_to_timestamp(column, arrow_type, precision=precision)
        case _:
            return lambda column: timestamp_to_number(column, arrow_type)


def _to_timestamp(source: DataType, arrow_type: pa.TimestampType) -> ColumnCast:
    match source.root:
        case TypeRoot.DATE:
            return lambda column: date_to_timestamp(column, arrow_type)
        case TypeRoot.TIME:
            return lambda column: time_to_timestamp(column, arrow_type)
        case _:
            return lambda column: seconds_to_timestamp(column, arrow_type)


def _between_numbers(source: DataType, target: DataType, arrow_type: pa.DataType) -> ColumnCast:
    if target.root is TypeRoot.DECIMAL:
        return lambda column: number_to_decimal(column, arrow_type)
    if source.root is TypeRoot.DECIMAL:
        return lambda column: decimal_to_number(column, arrow_type)
    if target.root is TypeRoot.BOOLEAN:
        return number_to_bool
    return lambda column: number_to_number(column, arrow_type)
