"""Timestamps that an ORC file cannot give back.

Any year fits into the file, but Arrow reads all timestamps of ORC as 64 bits of nanoseconds, which
end in the years 1677 and 2262, and fails on others. A file that nobody here can read again, nor
compact, is not written.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lake.errors import Problem
from lake.format.arrow_types import elements

_PER_UNIT: Final = {"ms": 10**6, "us": 10**3}
_NANOS_MAX: Final = (1 << 63) - 1
_HINT: Final = "keep such times in Parquet or Avro files: set `file.format`"


def orc_time_problems(name: str, column: pa.ChunkedArray) -> Iterator[Problem]:
    """Yield the first timestamp of a column, or inside of it, that is outside the years 1677 to 2262.

    Args:
        name: Of the column.
        column: In the Arrow form of its type.
    """
    if not _holds_wide_times(column.type):
        return
    for times in (found for chunk in column.chunks for found in _wide_times(chunk)):
        limit = _NANOS_MAX // _PER_UNIT[times.type.unit]
        ends = pc.min_max(times.cast(pa.int64())).as_py()
        for end in (ends["min"], ends["max"]):
            if end is not None and not -limit <= end <= limit:
                yield Problem(
                    field=name,
                    value=f"{end} {times.type.unit} since 1970",
                    message="a time outside of the years 1677 to 2262 cannot be kept in an ORC file",
                    hint=_HINT,
                )
                return


def _holds_wide_times(data_type: pa.DataType) -> bool:
    if pa.types.is_timestamp(data_type):
        return data_type.unit in _PER_UNIT
    return pa.types.is_nested(data_type) and any(
        _holds_wide_times(data_type.field(index).type) for index in range(data_type.num_fields)
    )


def _wide_times(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the timestamps of an array in parts, those under null left out."""
    if not _holds_wide_times(array.type):
        return
    if pa.types.is_timestamp(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _wide_times(part)
    else:
        yield from _wide_times(elements(array))
