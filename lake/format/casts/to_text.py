"""Casts to text, in the reference's spelling.

Numbers, BOOLEAN and texts are truncated to the length of the type and, for CHAR, padded with
blanks; bytes, dates, times and nested values are not. A TIMESTAMP has as many fractional digits of
the second as its type, or more if its value has more. A TIME has the three digits of its
milliseconds without zeros at the end, but at least one digit. These digits are then cut to the
precision of the type: 0.005 s is `.00` in a TIME(2).

Years have four digits. For a year with more digits, or before year 0, the reference writes the text
of another moment, so such dates and timestamps are refused here. Timestamps of year 0 are refused
as well.

Source: merge-semantics 8.2; conformance cases K.
"""

from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.lake.format.arrow_types import as_list, elements
from braid.lake.format.binary_row import EPOCH
from braid.lake.format.casts.by_value import by_value
from braid.lake.format.data_types import TIMESTAMP_ROOTS, DataType, TypeRoot
from braid.lake.format.java_text import java_float_text

_NANOS: Final = 1_000_000_000
_DAYS_MIN: Final = -719_528
"""0000-01-01, in days since 1970."""
_DAYS_MAX: Final = 2_932_896
"""9999-12-31."""
_PER_SECOND: Final = {"ms": 1_000, "us": 1_000_000, "ns": _NANOS}


def to_text(column: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Return the values as texts of a CHAR or VARCHAR type.

    Raises:
        ValueError: The year of a date is not between 0 and 9999, or that of a timestamp not between 1 and 9999.
    """
    texts = _texts(column, source)
    # As in the reference, only these casts respect the length of the target.
    has_length = not source.is_nested and source.root not in _TIMES and not _is_bytes(source)
    return fit_text(texts, target) if has_length else texts


def fit_text(texts: pa.Array, target: DataType) -> pa.Array:
    """Return texts truncated to the length of a type and, for CHAR, padded with blanks to that length."""
    assert target.length is not None
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    if longest > target.length:
        texts = pc.utf8_slice_codeunits(texts, 0, target.length)
    if target.root is TypeRoot.CHAR:
        texts = pc.utf8_rpad(texts, target.length, " ")
    return texts


_TIMES: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME, *TIMESTAMP_ROOTS})


def _is_bytes(source: DataType) -> bool:
    return source.root in (TypeRoot.BINARY, TypeRoot.VARBINARY)


def _texts(column: pa.Array, source: DataType) -> pa.Array:
    match source.root:
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return column
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return by_value(column, pa.string(), _decoded)
        case TypeRoot.FLOAT:
            return by_value(column, pa.string(), lambda value: java_float_text(np.float32(value)))
        case TypeRoot.DOUBLE:
            return by_value(column, pa.string(), java_float_text)
        case TypeRoot.DECIMAL:
            return by_value(column, pa.string(), lambda value: f"{value:f}")
        case TypeRoot.DATE:
            return _dates(column)
        case root if root in TIMESTAMP_ROOTS:
            return _timestamps(column, source.precision or 0)
        case TypeRoot.TIME:
            return _times(column, source.precision or 0)
        case TypeRoot.ARRAY | TypeRoot.MAP | TypeRoot.ROW:
            return _nested(column, source)
        case _:
            return column.cast(pa.string())


def _decoded(value: object) -> str:
    assert isinstance(value, bytes)
    # Invalid UTF-8 is replaced, as by Java's String, which never fails on bytes.
    return value.decode(errors="replace")


def _dates(column: pa.Array) -> pa.Array:
    days = pc.min_max(column.cast(pa.int32())).as_py()
    for day in (days["min"], days["max"]):
        if day is not None and not _DAYS_MIN <= day <= _DAYS_MAX:
            message = f"the date {day} days after 1970-01-01 cannot be written as text: expected a year from 0 to 9999"
            raise ValueError(message)
    return column.cast(pa.string())


def _timestamps(column: pa.Array, precision: int) -> pa.Array:
    per_second = _PER_SECOND[column.type.unit]

    def text(value: object) -> str:
        assert isinstance(value, int)
        seconds, fraction = divmod(value, per_second)
        try:
            moment = EPOCH + timedelta(seconds=seconds)
        except OverflowError:
            message = (
                f"the timestamp {seconds} seconds after 1970-01-01 cannot be written as text: "
                "expected a year from 1 to 9999"
            )
            raise ValueError(message) from None
        digits = f"{fraction * (_NANOS // per_second):09}"
        # The declared digits are always kept, further ones only up to the last that is not zero.
        kept = digits[:precision] + digits[precision:].rstrip("0")
        # `strftime` would not fill up the years before 1000 to four digits.
        return moment.isoformat(" ", "seconds") + (f".{kept}" if kept else "")

    return by_value(column.cast(pa.int64()), pa.string(), text)


def _times(column: pa.Array, precision: int) -> pa.Array:
    def text(value: object) -> str:
        assert isinstance(value, int)
        seconds, millis = divmod(value, 1_000)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if precision == 0:
            return clock
        digits = f"{millis:03}".rstrip("0") or "0"
        return f"{clock}.{digits[:precision]}"

    return by_value(column.cast(pa.int32()), pa.string(), text)


def _nested(column: pa.Array, source: DataType) -> pa.Array:
    """Return `[1, null]`, `{a -> 1}` and `{1, x}`."""
    match source.root:
        case TypeRoot.ARRAY:
            assert source.element is not None
            texts = _bracketed(column, _element_texts(elements(column), source.element), "[]")
        case TypeRoot.MAP:
            assert source.key is not None
            assert source.value is not None
            entries = elements(column)
            keys = _element_texts(entries.field(0), source.key)
            values = _element_texts(entries.field(1), source.value)
            pairs = [f"{key} -> {value}" for key, value in zip(keys, values, strict=True)]
            texts = _bracketed(column, pairs, "{}")
        case _:
            parts = [
                _element_texts(column.field(index), field.type)
                for index, field in enumerate(source.fields)
            ]
            texts = ["{" + ", ".join(row) + "}" for row in zip(*parts, strict=True)]
    return pc.if_else(column.is_valid(), pa.array(texts, pa.string()), None)


def _element_texts(column: pa.Array, source: DataType) -> list[str]:
    """Return the text of each value inside a nested one; `null` for null."""
    return ["null" if text is None else text for text in _texts(column, source).to_pylist()]


def _bracketed(column: pa.Array, texts: list[str], brackets: str) -> list[str]:
    """Return the texts of the elements of each list or map, joined and in brackets."""
    ends = np.cumsum(
        pc.list_value_length(as_list(column)).fill_null(0).to_numpy(zero_copy_only=False)
    )
    starts = [0, *ends[:-1]]
    return [
        brackets[0] + ", ".join(texts[start:end]) + brackets[1]
        for start, end in zip(starts, ends, strict=True)
    ]
