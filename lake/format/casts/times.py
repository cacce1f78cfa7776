"""Casts between dates, times and timestamps, and to and from seconds.

A cast to a timestamp with fewer fractional digits of the second rounds towards the past. A TIME has
whole milliseconds, whatever its precision, and keeps them in a cast to a timestamp, which is on
1970-01-01. A timestamp that is cast to a number becomes whole seconds since 1970: it is first
rounded to milliseconds towards the past, and then to seconds towards 1970. Local time is UTC.

Source: merge-semantics 8.2; conformance cases K.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.casts.numbers import number_to_number

_DAY_MS: Final = 86_400_000
_PER_SECOND: Final = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def seconds_to_timestamp(column: pa.Array, target: pa.TimestampType) -> pa.Array:
    """Return seconds since 1970 as timestamps."""
    return _scaled(column.cast(pa.int64()), _PER_SECOND[target.unit]).cast(target)


def timestamp_to_number(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the whole milliseconds since 1970 as seconds, rounded towards 1970; the low 32 bits for INT."""
    millis = _floor_divide(column, _PER_SECOND[column.type.unit] // 1_000)
    # Arrow's integer division truncates towards 0, like Java's.
    return number_to_number(pc.divide(millis, 1_000), target)


def date_to_timestamp(column: pa.Array, target: pa.TimestampType) -> pa.Array:
    """Return the first moment of each day."""
    days = column.cast(pa.int32()).cast(pa.int64())
    return _scaled(days, 86_400 * _PER_SECOND[target.unit]).cast(target)


def time_to_timestamp(column: pa.Array, target: pa.TimestampType) -> pa.Array:
    """Return each time of day as a timestamp on 1970-01-01."""
    millis = column.cast(pa.int32()).cast(pa.int64())
    return _scaled(millis, _PER_SECOND[target.unit] // 1_000).cast(target)


def timestamp_to_date(column: pa.Array) -> pa.Array:
    """Return the date of each timestamp."""
    days = _floor_divide(column, 86_400 * _PER_SECOND[column.type.unit])
    return days.cast(pa.int32()).cast(pa.date32())


def timestamp_to_time(column: pa.Array) -> pa.Array:
    """Return the time of day of each timestamp, in milliseconds."""
    millis = _floor_divide(column, _PER_SECOND[column.type.unit] // 1_000)
    of_day = pc.subtract(millis, pc.multiply(_floor_divide(millis, _DAY_MS), _DAY_MS))
    return of_day.cast(pa.int32()).cast(pa.time32("ms"))


def timestamp_to_timestamp(
    column: pa.Array, target: pa.TimestampType, *, precision: int
) -> pa.Array:
    """Return timestamps with at most `precision` digits of the second."""
    source = _PER_SECOND[column.type.unit]
    wanted = _PER_SECOND[target.unit]
    step = max(1, source // 10**precision)
    values = column.cast(pa.int64())
    if step > 1:
        values = pc.multiply(_floor_divide(values, step), step)
    if source > wanted:
        values = _floor_divide(values, source // wanted)
    return _scaled(values, max(1, wanted // source)).cast(target)


def _floor_divide(column: pa.Array, divisor: int) -> pa.Array:
    values = column.cast(pa.int64())
    if divisor == 1:
        return values
    plain: npt.NDArray[np.int64] = values.fill_null(0).to_numpy(zero_copy_only=False)
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    return pa.array(np.floor_divide(plain, divisor), pa.int64(), mask=mask)


def _scaled(column: pa.Array, factor: int) -> pa.Array:
    """Return the product; ArrowInvalid when 64 bits cannot hold it."""
    return column if factor == 1 else pc.multiply_checked(column, factor)
