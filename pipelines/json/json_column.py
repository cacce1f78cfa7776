"""JSON columns: for each type the form in which Spark reads it, and the checks afterwards.

| column | read as | then |
|---|---|---|
| BOOLEAN, INT, BIGINT | itself | |
| TINYINT, SMALLINT | INT | range checked: Spark wraps a TINYINT of 200 round to -56 |
| FLOAT, DOUBLE | itself | refused as out of range if it is infinite although the text has no infinity |
| DECIMAL | itself | Spark rounds half up to the scale and refuses what has too many digits |
| CHAR, VARCHAR | STRING | length checked; numbers, booleans and objects become their JSON text |
| BINARY, VARBINARY | base64 text | length checked |
| TIME | `HH:mm[:ss[.fraction]]` | milliseconds of the day, as INT |
| DATE | text | ISO 8601 as `2026-01-02`, years 0001 to 9999 |
| TIMESTAMP of either kind, up to 6 digits | text | ISO 8601, with or without a zone, years 0001 to 9999 |
| TIMESTAMP of either kind, 7 to 9 digits | text | nanoseconds since the epoch, as BIGINT: Spark's own timestamps have microseconds |
| ARRAY, MAP, ROW of BOOLEAN, INT, DATE, ... | itself | values inside: lengths, years, infinite numbers and NOT NULL checked; MAP: repeated keys refused |

A text with a zone denotes a moment, and a text without a zone is read as UTC. A TIMESTAMP without a zone
holds the moment as a clock in UTC shows it, so that only the zone itself is lost.

Dates and times are read as text because Spark's parser accepts numbers as days and seconds, completes
partial dates, and accepts years that no other reader of the table can represent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import (
    Column,
    functions as fn,
    types as spark_types,
)

from braid.formats.dead_letter import DeadLetterReason
from braid.lake import DataType, Problem, TypeRoot, UnsupportedFeature
from braid.registry.rules.json_types import HINT, unreadable_in_json

_UNBOUNDED: Final = 2**31 - 1
_SPARK_PRECISION_MAX: Final = 6
_NANOSECOND_SECONDS_MAX: Final = 9_223_372_036  # an int64 of nanoseconds ends here, in 2262
_TIME_PATTERN: Final = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$"
_TIMESTAMP_PATTERN: Final = (
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?$"
)
_MINUTES_PATTERN: Final = r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)((?:Z|[+-]).*)$"
# `Infinity` as the value of a field or an item, with or without quotes.
_SAID_INFINITE: Final = r'[:\[,]\s*(?:"[+-]?Infinity"|[+-]?(?:Infinity|INF))\s*[,\]}]'
_DATE_PATTERN: Final = r"^\d{4}-\d\d-\d\d$"
# Dates of years before 1 or after 9999, which ISO 8601 has and the table's readers do not.
_FAR_PATTERN: Final = r"^(-\d{4}|[+-]?\d{5,9}|0000)-\d\d-\d\d"
_SECONDS_MIN: Final = -62_135_596_800  # 0001-01-01T00:00:00Z
_SECONDS_MAX: Final = 253_402_300_799  # 9999-12-31T23:59:59Z
_PLAIN: Final = {
    TypeRoot.BOOLEAN: spark_types.BooleanType(),
    TypeRoot.INT: spark_types.IntegerType(),
    TypeRoot.BIGINT: spark_types.LongType(),
    TypeRoot.FLOAT: spark_types.FloatType(),
    TypeRoot.DOUBLE: spark_types.DoubleType(),
}
_INNER: Final = {
    TypeRoot.DATE: spark_types.DateType(),
    TypeRoot.TIMESTAMP: spark_types.TimestampNTZType(),
    TypeRoot.TIMESTAMP_LTZ: spark_types.TimestampType(),
}
_INTEGER_BITS: Final = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16}


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonColumn:
    """One column of a parsed message.

    Attributes:
        json_type: The type that `from_json` reads.
        value: The value as it is passed to Python.
        fault: The reason, as text, why the value does not fit the column, null where it fits; None when
            `from_json` has checked everything.
    """

    json_type: spark_types.DataType
    value: Column
    fault: Column | None = None


def json_type(data_type: DataType, *, column: str) -> spark_types.DataType:
    """Return the type with which `from_json` has to read a column.

    Raises:
        UnsupportedFeature: Registration refuses such a column; another engine may have changed the
            table since.
    """
    reason = unreadable_in_json(data_type)
    if reason is not None:
        raise _unsupported(data_type, reason, column=column)
    match data_type.root:
        case TypeRoot.TINYINT | TypeRoot.SMALLINT:
            return spark_types.IntegerType()
        case TypeRoot.CHAR | TypeRoot.VARCHAR | TypeRoot.TIME | TypeRoot.DATE:
            return spark_types.StringType()
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return spark_types.BinaryType()
        case TypeRoot.DECIMAL:
            assert data_type.precision is not None
            assert data_type.scale is not None
            return spark_types.DecimalType(data_type.precision, data_type.scale)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return spark_types.StringType()
        case TypeRoot.ARRAY:
            return spark_types.ArrayType(_inner_type(data_type.element, column=column))
        case TypeRoot.MAP:
            key = _inner_type(data_type.key, column=column)
            return spark_types.MapType(key, _inner_type(data_type.value, column=column))
        case TypeRoot.ROW:
            fields = [
                spark_types.StructField(field.name, _inner_type(field.type, column=column))
                for field in data_type.fields
            ]
            return spark_types.StructType(fields)
        case _:
            return _PLAIN[data_type.root]


def read_column(raw: Column, text: Column, data_type: DataType, *, column: str) -> JsonColumn:
    """Return the value of a column, and its possible faults.

    Args:
        raw: The field from `from_json`, of `json_type(data_type)`.
        text: The whole message, to find what its parsed form has lost.
        data_type: The column's type.
        column: The column's name, for errors.
    """
    kind = json_type(data_type, column=column)
    out_of_range = fn.lit(DeadLetterReason.OUT_OF_RANGE.value)
    match data_type.root:
        case TypeRoot.TINYINT | TypeRoot.SMALLINT:
            bound = 1 << (_INTEGER_BITS[data_type.root] - 1)
            fault = fn.when((raw < -bound) | (raw >= bound), out_of_range)
            return JsonColumn(json_type=kind, value=raw, fault=fault)
        case TypeRoot.FLOAT | TypeRoot.DOUBLE:
            fault = fn.when(_is_overflow(raw, text), out_of_range)
            return JsonColumn(json_type=kind, value=raw, fault=fault)
        case TypeRoot.CHAR | TypeRoot.VARCHAR:
            return _bounded(kind, raw, data_type.length, fn.char_length)
        case TypeRoot.BINARY | TypeRoot.VARBINARY:
            return _bounded(kind, raw, data_type.length, fn.length)
        case TypeRoot.TIME:
            return _time(kind, raw)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ if _is_nanosecond(data_type):
            return _nanoseconds(kind, raw)
        case TypeRoot.DATE | TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return _date_or_time(kind, raw, data_type.root)
        case TypeRoot.ARRAY | TypeRoot.MAP | TypeRoot.ROW:
            inside = _inner_fault(raw, text, data_type)
            # A faulty value is passed to Python as null: Python cannot hold some values that Spark reads, such as
            # years beyond 9999.
            value = raw if inside is None else fn.when(inside.isNull(), raw)
            return JsonColumn(json_type=kind, value=value, fault=inside)
        case _:
            return JsonColumn(json_type=kind, value=raw)


def _inner_fault(raw: Column, text: Column, data_type: DataType) -> Column | None:
    """Return the fault of a nested value's parts, null where they have none; None when none is possible."""

    def is_beyond(value: Column, inner_type: DataType) -> Column | None:
        if inner_type.root in (TypeRoot.FLOAT, TypeRoot.DOUBLE):
            return _is_overflow(value, text)
        return _is_beyond_limit(value, inner_type)

    reasons = (
        (_is_missing, DeadLetterReason.NOT_NULL),
        (is_beyond, DeadLetterReason.OUT_OF_RANGE),
    )
    faults = [
        fn.when(wrong, fn.lit(reason.value))
        for is_wrong, reason in reasons
        if (wrong := _any_inside(raw, data_type, is_wrong)) is not None
    ]
    has_twice = _any_of(
        (_has_key_twice(raw, data_type), _any_inside(raw, data_type, _has_key_twice))
    )
    if has_twice is not None:
        faults.append(fn.when(has_twice, fn.lit(DeadLetterReason.WRONG_TYPE.value)))
    return fn.coalesce(*faults) if faults else None


_IsWrong = Callable[[Column, DataType], Column | None]
"""A test of a value, null counting as false; None when no value of the type can be wrong."""


def _any_inside(value: Column, data_type: DataType, is_wrong: _IsWrong) -> Column | None:
    """Return whether a part of a nested value is wrong; None when no part can be."""

    def found(inner: Column, inner_type: DataType) -> Column | None:
        tests = (is_wrong(inner, inner_type), _any_inside(inner, inner_type, is_wrong))
        return _any_of(tests)

    def among(values: Column, inner_type: DataType | None) -> Column | None:
        assert inner_type is not None
        if found(fn.lit(None), inner_type) is None:
            return None

        def test(inner: Column) -> Column:
            answer = found(inner, inner_type)
            assert answer is not None, "whether a test is possible depends on the type alone"
            return answer

        return fn.exists(values, test)

    match data_type.root:
        case TypeRoot.ARRAY:
            return among(value, data_type.element)
        case TypeRoot.MAP:
            keys = among(fn.map_keys(value), data_type.key)
            return _any_of((keys, among(fn.map_values(value), data_type.value)))
        case TypeRoot.ROW:
            fields = [found(value[field.name], field.type) for field in data_type.fields]
            # The fields of a ROW that is null are null in Spark, and not missing.
            any_field = _any_of(fields)
            return None if any_field is None else value.isNotNull() & any_field
        case _:
            return None


def _any_of(tests: Iterable[Column | None]) -> Column | None:
    """Return whether a test holds, where a null test counts as false; None without any test."""
    no = fn.expr("false")
    given = [fn.coalesce(test, no) for test in tests if test is not None]
    return reduce(lambda left, right: left | right, given) if given else None


def _is_missing(value: Column, data_type: DataType) -> Column | None:
    return None if data_type.nullable else value.isNull()


def _is_beyond_limit(value: Column, data_type: DataType) -> Column | None:
    match data_type.root:
        case TypeRoot.VARCHAR | TypeRoot.VARBINARY if data_type.length != _UNBOUNDED:
            assert data_type.length is not None
            measure = fn.char_length if data_type.root is TypeRoot.VARCHAR else fn.length
            return measure(value) > data_type.length
        case TypeRoot.DATE | TypeRoot.TIMESTAMP:
            return ~fn.year(value).between(1, 9999)
        case TypeRoot.TIMESTAMP_LTZ:
            return ~fn.unix_seconds(value).between(_SECONDS_MIN, _SECONDS_MAX)
        case _:
            return None


def _is_overflow(value: Column, text: Column) -> Column:
    """Return whether a number is infinite although its message has no infinity: it overflowed."""
    return (fn.abs(value) == float("inf")) & ~fn.rlike(text, fn.lit(_SAID_INFINITE))


def _has_key_twice(value: Column, data_type: DataType) -> Column | None:
    # `from_json` keeps both entries, and a MAP column cannot hold them.
    if data_type.root is not TypeRoot.MAP:
        return None
    keys = fn.map_keys(value)
    return fn.size(fn.array_distinct(keys)) < fn.size(keys)


def _is_nanosecond(data_type: DataType) -> bool:
    is_timestamp = data_type.root in {TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ}
    return is_timestamp and (data_type.precision or 0) > _SPARK_PRECISION_MAX


def _bounded(
    kind: spark_types.DataType, raw: Column, length: int | None, measure: Callable[[Column], Column]
) -> JsonColumn:
    if length is None or length == _UNBOUNDED:
        return JsonColumn(json_type=kind, value=raw)
    fault = fn.when(measure(raw) > length, fn.lit(DeadLetterReason.OUT_OF_RANGE.value))
    return JsonColumn(json_type=kind, value=raw, fault=fault)


def _time(kind: spark_types.DataType, raw: Column) -> JsonColumn:
    # The time of the epoch's first day, read in the session's zone, which is UTC: so its milliseconds are those
    # of the day.
    instant = fn.concat(fn.lit("1970-01-01 "), raw).try_cast("timestamp")
    value = fn.unix_millis(instant).cast("int")
    fault = fn.when(
        ~fn.rlike(raw, fn.lit(_TIME_PATTERN)), fn.lit(DeadLetterReason.WRONG_TYPE.value)
    )
    return JsonColumn(json_type=kind, value=value, fault=fault)


def _date_or_time(kind: spark_types.DataType, raw: Column, root: TypeRoot) -> JsonColumn:
    is_date = root is TypeRoot.DATE
    # The session's zone is UTC: a text without a zone is read in it.
    parsed = raw.try_cast("date") if is_date else _instant(raw)
    is_text = parsed.isNotNull() & fn.rlike(
        raw, fn.lit(_DATE_PATTERN if is_date else _TIMESTAMP_PATTERN)
    )
    is_near = ~fn.startswith(raw, fn.lit("0000-"))
    if not is_date:
        # Near the bounds the zone decides which year it is, so the moment is compared and not the text.
        is_near &= fn.unix_seconds(parsed).between(_SECONDS_MIN, _SECONDS_MAX)
    value = fn.when(is_text & is_near, parsed)
    # The reason is computed only where there is no value, so for few records.
    fault = fn.when(
        raw.isNotNull() & value.isNull(),
        fn.when(
            is_text | fn.rlike(raw, fn.lit(_FAR_PATTERN)), DeadLetterReason.OUT_OF_RANGE.value
        ).otherwise(DeadLetterReason.WRONG_TYPE.value),
    )
    if root is TypeRoot.TIMESTAMP:
        value = value.cast("timestamp_ntz")
    return JsonColumn(json_type=kind, value=value, fault=fault)


def _instant(raw: Column) -> Column:
    """Return the moment of a text; null where the text is not one."""
    # Spark reads a text without seconds, and a text with a zone, but not a text with a zone and no seconds.
    seconds = fn.regexp_replace(raw, _MINUTES_PATTERN, "$1:00$2")
    return fn.coalesce(raw.try_cast("timestamp"), seconds.try_cast("timestamp"))


def _nanoseconds(kind: spark_types.DataType, raw: Column) -> JsonColumn:
    instant = _instant(raw)
    # Spark reads microseconds and ignores further digits: these are the last three.
    finer = fn.rpad(fn.regexp_extract(raw, r"\.\d{6}(\d{1,3})", 1), 3, "0").cast("int")
    micros = fn.unix_micros(instant)
    is_text = fn.rlike(raw, fn.lit(_TIMESTAMP_PATTERN)) & instant.isNotNull()
    is_near = fn.abs(fn.unix_seconds(instant)) < _NANOSECOND_SECONDS_MAX
    fault = (
        fn.when(raw.isNull(), None)
        .when(~is_text, fn.lit(DeadLetterReason.WRONG_TYPE.value))
        .when(~is_near, fn.lit(DeadLetterReason.OUT_OF_RANGE.value))
    )
    value = fn.when(is_text & is_near, micros * 1_000 + finer)
    return JsonColumn(json_type=kind, value=value, fault=fault)


def _inner_type(data_type: DataType | None, *, column: str) -> spark_types.DataType:
    assert data_type is not None
    return _INNER.get(data_type.root) or json_type(data_type, column=column)


def _unsupported(data_type: DataType, reason: str, *, column: str) -> UnsupportedFeature:
    problem = Problem(field=column, value=str(data_type), message=reason, hint=HINT)
    message = f"column {column} cannot be read"
    return UnsupportedFeature(message, problems=[problem])
