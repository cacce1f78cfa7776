"""Readers of column values from plain texts, such as the values of CSV: an exact reader of one text, and a vectorised one.

| type | text |
|---|---|
| BOOLEAN | `true` or `false` |
| TINYINT, SMALLINT, INT, BIGINT | digits, with or without a sign |
| FLOAT, DOUBLE | a number as for DECIMAL, `NaN`, or `Infinity` or `INF` with or without a sign |
| DECIMAL | a number in decimal or scientific notation |
| CHAR, VARCHAR | the text itself |
| BINARY, VARBINARY | base64 |
| DATE, TIME, TIMESTAMP of either kind | ISO 8601 (`formats.times`) |
| ARRAY, MAP, ROW | JSON |
| VARIANT | JSON, of which `null` is a value |
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_where
from braid.formats.dead_letter import DeadLetterReason
from braid.formats.fault import Fault, Faults
from braid.formats.json.exact_values import (
    NUMBER_TEXT,
    ValueFault,
    exact_value,
    expected_form,
    shown,
    variant_of_text,
)
from braid.formats.json.message import (
    NUMBER_CHARACTERS_MAX,
    OversizedNumber,
    read_message,
    written_number,
)
from braid.formats.mapped_column import MappedColumn
from braid.formats.times import DATE_AND_TIME_TYPES, time_array
from braid.formats.type_bounds import INTEGER_BOUND, length_bound
from braid.lake import DataType, NotVariant, TypeRoot, to_arrow_type, variant_of_json

_BOOLEANS: Final = {"true": True, "false": False}
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
# All of 64 bits, but for a few numbers that are decided one by one.
_INTEGER: Final = r"^-?([0-9]{1,18}|[1-8][0-9]{18})$"


def text_value(text: str, data_type: DataType) -> Any:
    """Return the value of a text in the form that `pa.array` accepts for the type's Arrow form.

    Args:
        text: The text.
        data_type: The type; anything but MULTISET.

    Raises:
        ValueFault: The text is no value of the type.
    """
    if data_type.root is TypeRoot.VARIANT:
        return variant_of_text(text, data_type)
    try:
        return exact_value(meant_value(text, data_type), data_type)
    except (ValueError, RecursionError):
        reason = DeadLetterReason.WRONG_TYPE
    raise ValueFault(reason, "", shown(text), expected_form(data_type))


def meant_value(text: str, data_type: DataType) -> Any:
    """Return the JSON value that a text stands for, which need not fit the type.

    Raises:
        ValueError: The type is nested, and the text is not JSON.
        RecursionError: It is nested too deeply.
    """
    if not data_type.is_plain:
        return read_message(text.encode())
    if data_type.root is TypeRoot.BOOLEAN:
        return _BOOLEANS.get(text, text)
    if data_type.root in INTEGER_BOUND and _WHOLE.fullmatch(text):
        return int(text) if len(text) <= NUMBER_CHARACTERS_MAX else OversizedNumber(text)
    if data_type.root in _FLOATS and NUMBER_TEXT.fullmatch(text):
        return written_number(text)
    return text


def text_column(
    texts: Sequence[str | None] | pa.StringArray,
    column: MappedColumn,
    faults: Faults,
    *,
    subject: str,
) -> pa.Array:
    """Return the column of texts, in the Arrow form of its type.

    Args:
        texts: The texts; None is null.
        column: The column.
        faults: The faults of the messages, to which those of the texts are added.
        subject: What a text is in its message, such as `field price`.
    """
    array = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())
    found = plain_values(array, column.type)
    is_undecided = pc.and_(found.is_null(), array.is_valid())
    rows = rows_where(is_undecided)
    if not rows:
        return found
    values: list[Any] = []
    for row in rows:
        try:
            values.append(text_value(array[row].as_py(), column.type))
        except ValueFault as fault:
            values.append(None)
            message = (
                f"{subject}: found {fault.found}, expected {fault.expected} for {column.purpose}"
            )
            faults.add(row, Fault(fault.reason, message))
    return replace_rows(found, rows, values)


def plain_values(texts: pa.StringArray, data_type: DataType) -> pa.Array:
    """Return a column, null where a text is null or `text_value` has to decide."""
    wanted = to_arrow_type(data_type)
    if data_type.root in DATE_AND_TIME_TYPES:
        return time_array(texts, data_type)
    if data_type.root is TypeRoot.VARIANT:
        return pa.array([_variant_or_none(text) for text in texts.to_pylist()], wanted)
    if data_type.root in (TypeRoot.CHAR, TypeRoot.VARCHAR):
        bound = length_bound(data_type)
        return (
            texts if bound is None else _where(pc.less_equal(pc.utf8_length(texts), bound), texts)
        )
    if data_type.root in INTEGER_BOUND:
        # Arrow's cast refuses a whole column for one number that is too large, so the bounds are compared first.
        numbers = _cast(texts, _INTEGER, pa.int64())
        bound = INTEGER_BOUND[data_type.root]
        is_near = pc.and_(pc.greater_equal(numbers, -bound), pc.less_equal(numbers, bound - 1))
        return _where(is_near, numbers).cast(wanted)
    if data_type.root is TypeRoot.DECIMAL:
        return _cast(texts, _decimal_pattern(data_type), wanted)
    if data_type.root is TypeRoot.DOUBLE:
        return _finite(_cast(texts, r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$", wanted))
    return pa.nulls(len(texts), wanted)


def _variant_or_none(text: str | None) -> dict[str, bytes] | None:
    if text is None:
        return None
    try:
        value, metadata = variant_of_json(text)
    except NotVariant:
        return None
    return {"value": value, "metadata": metadata}


def _cast(texts: pa.StringArray, pattern: str, wanted: pa.DataType) -> pa.Array:
    """Return the values of texts of a pattern, each of which has a value; null for other texts."""
    return _where(pc.match_substring_regex(texts, pattern), texts).cast(wanted)


def _decimal_pattern(data_type: DataType) -> str:
    """Return a pattern of texts that are exactly values of a DECIMAL."""
    assert data_type.precision is not None, "a DECIMAL has a precision"
    assert data_type.scale is not None, "a DECIMAL has a scale"
    whole = data_type.precision - data_type.scale
    # Arrow casts a number with more digits than it can hold to another number, without an error.
    before = rf"[0-9]{{1,{whole}}}" if whole else "0"
    after = rf"(\.[0-9]{{1,{data_type.scale}}})?" if data_type.scale else ""
    return rf"^-?{before}{after}$"


def _finite(numbers: pa.Array) -> pa.Array:
    return _where(pc.is_finite(numbers), numbers)


def _where(mask: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(mask, values, pa.scalar(None, values.type))
