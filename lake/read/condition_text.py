"""Conditions given as SQL text, on columns of a table or on fields of messages; values are parsed by their types.

`condition_syntax` has the grammar. A date or time must be written in full, and the column's type must hold it exactly
(`exact_times`). A time with a zone (`'2026-01-31T05:15:00+01:00'`, `…Z`) is a value of TIMESTAMP WITH LOCAL TIME ZONE
columns; a time without a zone is in UTC there. The word before a text, such as `DATE`, has to fit the type of the
column. `'NaN'`, `'Infinity'` and `'-Infinity'` are values of FLOAT and DOUBLE columns. For a column of bytes, a text
is its bytes in UTF-8.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Final

from braid.lake.errors import InvalidRequest, Problem, SchemaMismatch
from braid.lake.format.casts.cast import read_text
from braid.lake.format.casts.exact_times import why_not_exact
from braid.lake.format.data_types import TEXT_ROOTS, TIMESTAMP_ROOTS, DataType, TypeRoot
from braid.lake.format.schema import TableSchema
from braid.lake.read.condition_syntax import Comparison, Literal, LiteralKind, parse_comparisons
from braid.lake.read.predicate import (
    BoundCondition,
    Condition,
    Operator,
    bind_conditions,
    bind_to_types,
    no_such_column,
)

_READ_BY_CAST: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME, *TIMESTAMP_ROOTS})
_BYTES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_FLOATS: Final = (TypeRoot.FLOAT, TypeRoot.DOUBLE)
_FLOAT_WORDS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_ROOTS_OF_WORDS: Final = {
    # A date is also the midnight at which it begins, as in SQL.
    "date": frozenset({TypeRoot.DATE, *TIMESTAMP_ROOTS}),
    "time": frozenset({TypeRoot.TIME}),
    "timestamp": TIMESTAMP_ROOTS,
}
_MISFIT: Final = "the conditions do not fit the table"
_DIGITS_MAX: Final = 100  # more than any type of a column has
_FRACTION: Final = re.compile(r"\.\d+")
_ZONE: Final = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)\Z")


def parse_conditions(text: str, schema: TableSchema) -> tuple[Condition, ...]:
    """Return the conjunction that a text expresses.

    Args:
        text: See the grammar of `condition_syntax`; keywords in upper or lower case.
        schema: The table's schema; values are parsed by the types of their columns.

    Raises:
        InvalidRequest: The text cannot be parsed; or there is no such column, or a value is not of
            its column's type.

    Example:
        `parse_conditions("id >= 7", schema)` is `(Condition(column="id", op=">=", value=7),)`.
    """
    types = {field.name: field.type for field in schema.fields}
    conditions = tuple(
        _condition(one, ".".join(one.path), types) for one in parse_comparisons(text)
    )
    bind_conditions(conditions, schema)
    return conditions


def bind_comparisons(
    comparisons: Sequence[Comparison], types: Mapping[str, DataType]
) -> tuple[BoundCondition, ...]:
    """Return comparisons of fields with values of the fields' types.

    Args:
        comparisons: The conjunction.
        types: The type of each field, by its address.

    Raises:
        InvalidRequest: A field has no type in `types`, or a value is not of its field's type.
    """
    conditions = [_condition(one, one.address, types) for one in comparisons]
    return bind_to_types(conditions, types)


def _condition(comparison: Comparison, name: str, types: Mapping[str, DataType]) -> Condition:
    kind = types.get(name)
    if kind is None:
        raise InvalidRequest(_MISFIT, problems=[no_such_column(name, types)])
    values = [_value(name, literal, kind) for literal in comparison.literals]
    match comparison.op:
        case Operator.IS_NULL | Operator.NOT_NULL:
            return Condition(column=name, op=comparison.op)
        case Operator.IN:
            return Condition(column=name, op=comparison.op, value=values)
        case _:
            return Condition(column=name, op=comparison.op, value=values[0])


def _value(column: str, literal: Literal, kind: DataType) -> object:
    match literal.kind:
        case LiteralKind.BYTES:
            return bytes.fromhex(literal.text)
        case LiteralKind.BOOLEAN:
            return literal.text == "true"
        case LiteralKind.NUMBER | LiteralKind.TEXT:
            pass
    if literal.type_word is not None and kind.root not in _ROOTS_OF_WORDS[literal.type_word]:
        problem = Problem(
            field=column,
            value=f"{literal.type_word.upper()} '{literal.text}'",
            message=f"the word does not fit the type {kind}",
            hint="leave the word out, or compare with something of that type",
        )
        raise InvalidRequest(_MISFIT, problems=[problem])
    parse = _number if literal.kind is LiteralKind.NUMBER else _of_text
    try:
        return parse(literal.text, kind)
    except (ValueError, OverflowError, SchemaMismatch) as error:
        problem = Problem(field=column, value=literal.text, message=f"not of type {kind}: {error}")
        raise InvalidRequest(_MISFIT, problems=[problem]) from error


def _number(text: str, kind: DataType) -> object:
    if kind.root in _FLOATS:
        return _finite(text)
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        message = "the exponent is too large"
        raise ValueError(message) from error
    # `1e999999999` is whole, and an int of a billion digits: it stays a Decimal, which no column holds.
    is_short = number.adjusted() < _DIGITS_MAX
    return int(number) if is_short and number == number.to_integral_value() else number


def _finite(text: str) -> float:
    value = float(text)
    if isinf(value):
        message = "the exponent is too large"
        raise ValueError(message)
    return value


def _of_text(text: str, kind: DataType) -> object:
    """Return a quoted text as a value of the column."""
    if kind.root in _BYTES:
        return text.encode()
    if kind.root in _FLOATS and text in _FLOAT_WORDS:
        return float(text)
    if kind.root in TEXT_ROOTS or kind.root not in _READ_BY_CAST:
        return text
    if kind.root is TypeRoot.TIMESTAMP_LTZ and ":" in text and _ZONE.search(text):
        text = _in_utc(text)
    reason = why_not_exact(text, kind)
    if reason is not None:
        raise ValueError(reason)
    scalar = read_text(text, kind)
    is_nanoseconds = kind.root in TIMESTAMP_ROOTS and (kind.precision or 0) > 6
    return scalar.value if is_nanoseconds else scalar.as_py()


def _in_utc(text: str) -> str:
    """Return a time with a zone as the text of the same time in UTC, its fraction unchanged.

    Raises:
        ValueError: The text is no time in ISO 8601.
        OverflowError: The time is outside the years 1 to 9999 in UTC.
    """
    # The fraction is kept apart, because `datetime` ends at microseconds.
    fraction = _FRACTION.search(text)
    moment = datetime.fromisoformat(_FRACTION.sub("", text, count=1)).astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat(sep=' ')}{fraction[0] if fraction else ''}"
