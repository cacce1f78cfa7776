"""Timestamps that cannot be kept in an ORC file.

ORC itself holds any year. But Arrow reads all timestamps of ORC as 64-bit nanoseconds, which range
from the year 1677 to 2262, and fails on other years. So this engine could neither read nor compact
a file with such timestamps. And Arrow writes a fraction of a second before 1970 as a negative
number of nanoseconds, which Java refuses.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.arrow_types import elements

_PER_SECOND: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOS_MAX: Final = (1 << 63) - 1
_HINT: Final = "keep such times in Parquet or Avro files: set `file.format`"


def orc_time_problems(name: str, column: pa.ChunkedArray) -> Iterator[Problem]:
    """Yield the first timestamp of a column, at any depth, that no ORC file can keep.

    Args:
        name: Name of the column.
        column: The column in the Arrow form of its type.
    """
    if not _holds_times(column.type):
        return
    for times in (found for chunk in column.chunks for found in _times(chunk)):
        numbers = times.drop_null().view(pa.int64()).to_numpy()
        per_second = _PER_SECOND[times.type.unit]
        limit = _NANOS_MAX // (10**9 // per_second)
        for is_wrong, message in (
            ((numbers > limit) | (numbers < -limit), "a time outside of the years 1677 to 2262"),
            ((numbers < 0) & (numbers % per_second != 0), "a fraction of a second before 1970"),
        ):
            if is_wrong.any():
                yield _problem(name, times, numbers[is_wrong], message)
                return


def _problem(name: str, times: pa.Array, numbers: npt.NDArray[np.int64], message: str) -> Problem:
    return Problem(
        field=name,
        value=f"{numbers[0]} {times.type.unit} since 1970",
        message=f"{message} cannot be kept in an ORC file",
        hint=_HINT,
    )


def _holds_times(data_type: pa.DataType) -> bool:
    if pa.types.is_timestamp(data_type):
        return True
    return pa.types.is_nested(data_type) and any(
        _holds_times(data_type.field(index).type) for index in range(data_type.num_fields)
    )


def _times(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the timestamps of an array, one array per leaf, without values inside of null."""
    if not _holds_times(array.type):
        return
    if pa.types.is_timestamp(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _times(part)
    else:
        yield from _times(elements(array))
