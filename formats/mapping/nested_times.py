"""Conversion of texts inside ARRAY, MAP and ROW values to dates and times, by the time format that the column declares.

In a MAP only the values are converted; the keys stay as they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import TimeFormat
from braid.formats.mapping.time_formats import TimeTexts, time_texts
from braid.formats.times import DATE_AND_TIME_TYPES
from braid.lake import DataType, TypeRoot, parse_type, to_arrow_type

NESTED: Final = (TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.ROW)
"""The types that have dates and times inside."""
_TEXT: Final = parse_type("STRING")
_Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class UnfitTime:
    """A text inside of a value that is no date or time of its form.

    Attributes:
        text: The text.
        type: The type that it would have.
        reason: Why it is unfit.
    """

    text: str
    type: DataType
    reason: DeadLetterReason


def text_type(data_type: DataType) -> DataType:
    """Return a type with texts in the place of all dates and times, nullable as these are.

    Example:
        >>> str(text_type(parse_type("ROW<n INT, days ARRAY<DATE NOT NULL>>")))
        'ROW<`n` INT, `days` ARRAY<STRING NOT NULL>>'
    """
    if data_type.root in DATE_AND_TIME_TYPES:
        return _TEXT.with_nullable(data_type.nullable)
    fields = tuple(replace(field, type=text_type(field.type)) for field in data_type.fields)
    element = None if data_type.element is None else text_type(data_type.element)
    value = None if data_type.value is None else text_type(data_type.value)
    return replace(data_type, fields=fields, element=element, value=value)


def times_in(data_type: DataType) -> Iterator[DataType]:
    """Yield the types of the dates and times in a type, itself included."""
    if data_type.root in DATE_AND_TIME_TYPES:
        yield data_type
    for part in (data_type.element, data_type.value, *(field.type for field in data_type.fields)):
        if part is not None:
            yield from times_in(part)


class NestedTimes:
    """Reads the dates and times of a nested column."""

    def __init__(self, declared: TimeFormat, data_type: DataType) -> None:
        """Prepare to read.

        Args:
            declared: The form of all dates and times inside.
            data_type: ARRAY, MAP or ROW.

        Raises:
            ValueError: There is no such form, or none for a type inside.
        """
        self._type = data_type
        self._texts: dict[DataType, TimeTexts] = {
            one: time_texts(declared, one) for one in times_in(data_type)
        }

    def column(self, array: pa.Array) -> tuple[pa.Array, dict[int, UnfitTime]]:
        """Return a column in the Arrow form of its type, and the first unfit text by row; such a text is null.

        Args:
            array: The column, in the Arrow form of its `text_type`.
        """
        unfit: dict[int, UnfitTime] = {}
        return self._converted(array, self._type, np.arange(len(array)), unfit), unfit

    def _converted(
        self, array: pa.Array, data_type: DataType, rows: _Rows, unfit: dict[int, UnfitTime]
    ) -> pa.Array:
        """Return a part of the column; `rows` are the rows of its items."""
        if data_type in self._texts:
            found, wrong = self._texts[data_type].column(array)
            for place, reason in wrong.items():
                text = array[place].as_py()
                unfit.setdefault(int(rows[place]), UnfitTime(text, data_type, reason))
            return found
        if next(times_in(data_type), None) is None:
            return array
        wanted: Any = to_arrow_type(data_type)
        is_null = array.is_null()
        match data_type.root:
            case TypeRoot.ROW:
                parts = [
                    self._converted(part, field.type, rows, unfit)
                    for part, field in zip(array.flatten(), data_type.fields, strict=True)
                ]
                return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=is_null)
            case TypeRoot.ARRAY:
                assert data_type.element is not None, "an ARRAY has a type of items"
                held, offsets = _held(array)
                inner = np.repeat(rows, np.diff(offsets))
                items = self._converted(held.values, data_type.element, inner, unfit)
                return pa.ListArray.from_arrays(pa.array(offsets), items, type=wanted, mask=is_null)
            case _:
                assert data_type.value is not None, "a MAP has a type of values"
                held, offsets = _held(array)
                inner = np.repeat(rows, np.diff(offsets))
                items = self._converted(held.items, data_type.value, inner, unfit)
                return pa.MapArray.from_arrays(
                    pa.array(offsets), held.keys, items, type=wanted, mask=is_null
                )


def _held(array: Any) -> tuple[Any, npt.NDArray[np.int32]]:
    """Return a list or map with nothing but its own items, and its offsets from 0."""
    alone = array.take(pa.array(np.arange(len(array))))
    offsets: npt.NDArray[np.int32] = alone.offsets.to_numpy().astype(np.int32)
    assert not len(alone) or offsets[0] == 0, "a copy begins with its own items"
    return alone, offsets if len(alone) else np.zeros(1, np.int32)
