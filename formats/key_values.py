"""Parser of row keys: converts the texts of a URL, or the JSON values of a request body, to values of the key columns' types."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Final

from braid.formats.type_bounds import INTEGER_BOUND
from braid.lake import DataField, DataType, InvalidRequest, TableSchema, TypeRoot
from braid.schemas import FieldProblem
from braid.schemas.field_problems import quoted_list

_NUMBER = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[.,]([0-9]+)")  # ISO 8601 has both
_DIGITS_MAX: Final = 19  # of a BIGINT
_NANOSECONDS_BOUND: Final = 1 << 63
_BOOLEANS = {"true": True, "false": False}
_EXAMPLES: Final[Mapping[TypeRoot, str]] = {
    TypeRoot.BOOLEAN: "true",
    TypeRoot.TINYINT: "1",
    TypeRoot.SMALLINT: "1",
    TypeRoot.INT: "1",
    TypeRoot.BIGINT: "1",
    TypeRoot.FLOAT: "1.5",
    TypeRoot.DOUBLE: "1.5",
    TypeRoot.DECIMAL: "12.50",
    TypeRoot.CHAR: "AA",
    TypeRoot.VARCHAR: "AA",
    TypeRoot.BINARY: "AQI= (base64)",
    TypeRoot.VARBINARY: "AQI= (base64)",
    TypeRoot.DATE: "2013-01-31",
    TypeRoot.TIME: "05:15:00",
    TypeRoot.TIMESTAMP: "2013-01-31T05:15:00",
    TypeRoot.TIMESTAMP_LTZ: "2013-01-31T05:15:00Z",
}


class FieldsRefused(InvalidRequest):
    """Fields of a request do not fit the table; `parameters` has the problems."""

    def __init__(self, message: str, problems: Sequence[FieldProblem]) -> None:
        self.parameters = tuple(problems)
        super().__init__(message)


class KeyRefused(FieldsRefused):
    """The parameters of an address are not a key of the table."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__("the parameters are not a key of the table", problems)


def parse_key(
    schema: TableSchema,
    parameters: Sequence[tuple[str, str]],
    *,
    columns: Sequence[str] | None = None,
) -> dict[str, object]:
    """Return the primary key's values in the order of the key.

    Args:
        schema: The table's schema.
        parameters: Names and texts of the address's parameters.
        columns: The columns that are expected instead of the whole primary key: some of it, or those of an index.

    Raises:
        KeyRefused: A key column is missing, given more than once or not of its type, or a parameter
            is not a key column; the problems name every such parameter.
    """
    names = schema.primary_keys if columns is None else columns
    fields = {name: schema.field(name) for name in names}
    problems = [
        _problem(name, text, "no key column has this name", f"key: {quoted_list(fields)}")
        for name, text in parameters
        if name not in fields
    ]
    key: dict[str, object] = {}
    for name, field in fields.items():
        texts = [text for parameter, text in parameters if parameter == name]
        example = f"for example {name}={_EXAMPLES[field.type.root]}"
        if len(texts) != 1:
            message = f"expected one value for the key column of type {_plain(field.type)}, found {len(texts)}"
            problems.append(_problem(name, ", ".join(texts) or None, message, example))
            continue
        try:
            key[name] = parse_value(texts[0], field)
        except ValueError as error:
            message = f"expected {_plain(field.type)}: {error}"
            problems.append(_problem(name, texts[0], message, example))
    if problems:
        raise KeyRefused(problems)
    assert tuple(key) == tuple(names)
    return key


def parse_keys(
    schema: TableSchema, keys: Sequence[Mapping[str, str | int | float]]
) -> list[dict[str, object]]:
    """Return the values of several keys, each as `parse_key` returns it.

    Args:
        schema: The table's schema.
        keys: The keys, each with a value by column: text, or a JSON number or boolean, which is parsed by its
            JSON text.

    Raises:
        KeyRefused: Some are not keys of the table; the problems locate wrong values of each of them.
    """
    parsed: list[dict[str, object]] = []
    problems: list[FieldProblem] = []
    for number, key in enumerate(keys):
        try:
            parsed.append(parse_json_key(schema, key, pointer=f"/keys/{number}"))
        except KeyRefused as refused:
            problems += refused.parameters
    if problems:
        raise KeyRefused(problems)
    assert len(parsed) == len(keys)
    return parsed


def parse_json_key(
    schema: TableSchema,
    key: Mapping[str, str | int | float],
    *,
    pointer: str,
    columns: Sequence[str] | None = None,
) -> dict[str, object]:
    """Return the values of a key as one of `parse_keys`.

    Args:
        schema: The table's schema.
        key: The key.
        pointer: JSON pointer of the key in the request.
        columns: The columns that are expected instead of the whole primary key: some of it, or those of an index.

    Raises:
        KeyRefused: It is not a key of the table; the problems locate its wrong values.
    """
    texts = [
        (name, value if isinstance(value, str) else json.dumps(value))
        for name, value in key.items()
    ]
    problems = [*_inexact(schema, key)]
    if not problems:
        try:
            return parse_key(schema, texts, columns=columns)
        except KeyRefused as refused:
            problems = [*refused.parameters]
    raise KeyRefused(
        [
            problem.model_copy(update={"pointer": f"{pointer}/{problem.field}"})
            for problem in problems
        ]
    )


def _inexact(schema: TableSchema, key: Mapping[str, str | int | float]) -> Iterator[FieldProblem]:
    """Yield a problem for each JSON number that may have lost digits of the request."""
    for name, value in key.items():
        # As a DOUBLE, 0.10 is 0.1 and 12345678901234567.8 another number: as a key of text or DECIMAL
        # either could be the key of another row.
        if isinstance(value, float) and name in schema.primary_keys:
            kind = schema.field(name).type
            if kind.root in (TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.DECIMAL):
                message = (
                    f"expected {_plain(kind)}: a JSON number with a fraction is read as DOUBLE"
                )
                yield _problem(name, json.dumps(value), message, "write it as a text")


def parse_value(text: str, field: DataField) -> object:
    """Return the value of a text, in the form that `pa.array` accepts for the column's type.

    Raises:
        ValueError: The text is not a value of the type; the message has the reason.
    """
    parse = _PARSERS[field.type.root]
    return parse(text, field.type)


def _parse_boolean(text: str, _: DataType) -> bool:
    if text.lower() not in _BOOLEANS:
        message = "it is neither `true` nor `false`"
        raise ValueError(message)
    return _BOOLEANS[text.lower()]


def _parse_integer(text: str, data_type: DataType) -> int:
    if not _NUMBER.fullmatch(text):
        message = "not a whole number"
        raise ValueError(message)
    bound = INTEGER_BOUND[data_type.root]
    # Python refuses to convert very long texts, with a message of its own.
    sign, digits = text[:1], text.lstrip("+-0") or "0"
    value = int(f"{'-' if sign == '-' else ''}{digits}") if len(digits) <= _DIGITS_MAX else bound
    if not -bound <= value < bound:
        message = f"outside {-bound} to {bound - 1}"
        raise ValueError(message)
    return value


def _parse_float(text: str, _: DataType) -> float:
    try:
        return float(_without_underscores(text))
    except ValueError as error:
        message = "not a number"
        raise ValueError(message) from error


def _without_underscores(text: str) -> str:
    """Return the text of a number; raise ValueError for one that only Python reads, such as `1_0`."""
    if "_" in text or not text.isascii():
        raise ValueError
    return text


def _parse_decimal(text: str, data_type: DataType) -> Decimal:
    assert data_type.precision is not None
    assert data_type.scale is not None
    try:
        value = Decimal(_without_underscores(text))
    except (InvalidOperation, ValueError) as error:
        message = "not a decimal number"
        raise ValueError(message) from error
    if not value.is_finite():
        message = "not a finite number"
        raise ValueError(message)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    # By digits, not by arithmetic, which rounds to the 28 digits of the decimal context: a type has up
    # to 38. Trailing zeros are dropped and added again, so that 1.50 and 1.5 are one key.
    text_digits = "".join(map(str, digits)).strip("0")
    exponent += len(digits) - len("".join(map(str, digits)).rstrip("0"))
    if text_digits and -exponent > data_type.scale:
        message = f"more than {data_type.scale} digits after the point"
        raise ValueError(message)
    if text_digits and len(text_digits) + exponent > data_type.precision - data_type.scale:
        message = f"more than {data_type.precision - data_type.scale} digits before the point"
        raise ValueError(message)
    zeros = "0" * (exponent + data_type.scale) if text_digits else ""
    unscaled = tuple(int(digit) for digit in text_digits + zeros) or (0,)
    return Decimal((sign, unscaled, -data_type.scale))


def _parse_text(text: str, data_type: DataType) -> str:
    if data_type.length is not None and len(text) > data_type.length:
        message = f"longer than {data_type.length} characters"
        raise ValueError(message)
    return text


def _parse_bytes(text: str, data_type: DataType) -> bytes:
    # An unescaped `+` in an address arrives as a blank, which base64 does not have; `-` and `_` are the
    # URL-safe alphabet.
    plain = text.replace(" ", "+").replace("-", "+").replace("_", "/")
    try:
        value = base64.b64decode(plain, validate=True)
    except binascii.Error as error:
        message = "not base64"
        raise ValueError(message) from error
    if data_type.length is not None and len(value) > data_type.length:
        message = f"longer than {data_type.length} bytes"
        raise ValueError(message)
    return value


def _parse_date(text: str, _: DataType) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        message = "not an ISO 8601 date"
        raise ValueError(message) from error


def _parse_time(text: str, data_type: DataType) -> time:
    try:
        value = time.fromisoformat(text)
    except ValueError as error:
        message = "not an ISO 8601 time of day"
        raise ValueError(message) from error
    if value.tzinfo is not None:
        message = "the value has a time zone, which a time of day cannot have"
        raise ValueError(message)
    _fraction(text, data_type)
    return value


def _parse_timestamp(text: str, data_type: DataType) -> datetime | int:
    is_local = data_type.root is TypeRoot.TIMESTAMP_LTZ
    nanoseconds = _fraction(text, data_type)
    try:
        value = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    except ValueError as error:
        message = "not an ISO 8601 date and time"
        raise ValueError(message) from error
    if is_local and value.tzinfo is None:
        message = "the time zone is missing; end with Z for UTC"
        raise ValueError(message)
    if not is_local and value.tzinfo is not None:
        message = "the value has a time zone, but the column has none"
        raise ValueError(message)
    if is_local:
        try:
            value = value.astimezone(UTC)
        except OverflowError as error:
            message = "outside the years 1 to 9999 in UTC"
            raise ValueError(message) from error
    if (data_type.precision or 0) <= 6:
        return value.replace(microsecond=nanoseconds // 1_000)
    # A datetime has only microseconds; Arrow accepts an integer of nanoseconds since the epoch instead.
    count = int(value.replace(tzinfo=UTC).timestamp()) * 1_000_000_000 + nanoseconds
    if not -_NANOSECONDS_BOUND <= count < _NANOSECONDS_BOUND:
        message = "outside the years 1677 to 2262, the range of 64-bit nanoseconds"
        raise ValueError(message)
    return count


def _fraction(text: str, data_type: DataType) -> int:
    """Return the fraction of a second in nanoseconds.

    Raises:
        ValueError: The fraction has more digits than the type; trailing zeros do not count.
    """
    found = _FRACTION.search(text)
    digits = found.group(1) if found else ""
    precision = data_type.precision or 0
    if len(digits.rstrip("0")) > precision:
        message = f"more than {precision} fractional digits of a second"
        raise ValueError(message)
    return int(digits[:9].ljust(9, "0"))


_PARSERS: Final[Mapping[TypeRoot, Callable[[str, DataType], object]]] = {
    TypeRoot.BOOLEAN: _parse_boolean,
    **dict.fromkeys(INTEGER_BOUND, _parse_integer),
    TypeRoot.FLOAT: _parse_float,
    TypeRoot.DOUBLE: _parse_float,
    TypeRoot.DECIMAL: _parse_decimal,
    TypeRoot.CHAR: _parse_text,
    TypeRoot.VARCHAR: _parse_text,
    TypeRoot.BINARY: _parse_bytes,
    TypeRoot.VARBINARY: _parse_bytes,
    TypeRoot.DATE: _parse_date,
    TypeRoot.TIME: _parse_time,
    TypeRoot.TIMESTAMP: _parse_timestamp,
    TypeRoot.TIMESTAMP_LTZ: _parse_timestamp,
}


def _plain(data_type: DataType) -> str:
    return str(data_type.with_nullable(True))


def _problem(name: str, value: str | None, message: str, hint: str) -> FieldProblem:
    return FieldProblem(pointer=None, field=name, value=value, message=message, hint=hint)
