"""Logical types of Kafka Connect and Debezium: numbers and bytes that the schema declares to be dates, times or decimals.

| name | value | column |
|---|---|---|
| `org.apache.kafka.connect.data.Date`, `io.debezium.time.Date` | days since 1970 | DATE, TIMESTAMP |
| `org.apache.kafka.connect.data.Time`, `io.debezium.time.Time`, `MicroTime`, `NanoTime` | milliseconds, micro-, nanoseconds since midnight | TIME |
| `org.apache.kafka.connect.data.Timestamp`, `io.debezium.time.Timestamp`, `MicroTimestamp`, `NanoTimestamp` | milliseconds, micro-, nanoseconds since 1970 | TIMESTAMP, DATE |
| `org.apache.kafka.connect.data.Decimal` | bytes of the unscaled value; in JSON their base64 | DECIMAL |
| `io.debezium.data.VariableScaleDecimal` | an object with `scale` and `value`; in JSON only | DECIMAL |

For every other logical type, such as `io.debezium.time.ZonedTimestamp`, the plain value is read. Values inside ARRAY, MAP and
ROW columns are always read as plain values. A column with a declared `time_format` is read by that format, whatever the schema
declares. `parse_connect_schema` parses the schemas of JSON messages, and `typed_reader` makes a reader that applies the table
above.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from braid.formats.change_capture.unscaled_decimals import reader_with_decimals, replace_value
from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.mapping.times_reader import reader_with_times
from braid.formats.message_reader import MessageReader, ReadMessages
from braid.formats.native.kinds import NativeKind
from braid.formats.times import DATE_AND_TIME_TYPES
from braid.lake import DataType, TypeRoot, parse_type

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
VARIABLE_SCALE_DECIMAL: Final = "io.debezium.data.VariableScaleDecimal"

_TIME_FORMATS: Final = {
    "org.apache.kafka.connect.data.Date": "epoch_days",
    "org.apache.kafka.connect.data.Time": "epoch_ms",
    "org.apache.kafka.connect.data.Timestamp": "epoch_ms",
    "io.debezium.time.Date": "epoch_days",
    "io.debezium.time.Time": "epoch_ms",
    "io.debezium.time.MicroTime": "epoch_us",
    "io.debezium.time.NanoTime": "epoch_ns",
    "io.debezium.time.Timestamp": "epoch_ms",
    "io.debezium.time.MicroTimestamp": "epoch_us",
    "io.debezium.time.NanoTimestamp": "epoch_ns",
}
_PLAIN: Final = {
    "boolean": (NativeKind.BOOLEAN, parse_type("BOOLEAN")),
    **{name: (NativeKind.WHOLE, parse_type("INT")) for name in ("int8", "int16", "int32")},
    "int64": (NativeKind.WHOLE, parse_type("BIGINT")),
    "float": (NativeKind.FLOAT, parse_type("FLOAT")),
    "double": (NativeKind.FLOAT, parse_type("DOUBLE")),
    "bytes": (NativeKind.BYTES, parse_type("BYTES")),
    "array": (NativeKind.LIST, None),
    "map": (NativeKind.MAP, None),
    "struct": (NativeKind.RECORD, None),
}
_UNKNOWN: Final = (NativeKind.TEXT, parse_type("STRING"))
_DIGITS_MAX: Final = 38
_DEPTH_MAX: Final = 64
_DIGITS_NAMED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class ConnectType:
    """The type of a field.

    Attributes:
        name: Its name; empty for a plain type.
        scale: Digits after the point, of a decimal.
        fields: The types of the fields of an object.
        plain: The name of the plain type, such as `int64`; empty: it is not known.
        precision: Digits of a decimal; 0: they are not known.
        item: The type of the items of a list, or of the values of a map.
    """

    name: str = ""
    scale: int = 0
    fields: Mapping[str, "ConnectType"] = field(default_factory=dict)
    plain: str = ""
    precision: int = 0
    item: "ConnectType | None" = None

    @property
    def possible(self) -> "tuple[ConnectType, ...]":
        """The type itself (see `NativeType`)."""
        return (self,)

    @property
    def native_kind(self) -> NativeKind:
        """The kind of its plain values; a type that is not known is a text, which holds any JSON."""
        return _PLAIN.get(self.plain, _UNKNOWN)[0]

    @property
    def column_type(self) -> DataType | None:
        """The type of a column that holds each of its plain values; None of types with parts."""
        return _PLAIN.get(self.plain, _UNKNOWN)[1]

    @property
    def decimal_type(self) -> DataType:
        """The type of a column of decimals of its precision and scale, as far as a DECIMAL goes."""
        scale = min(max(self.scale, 0), _DIGITS_MAX)
        is_known = 0 < self.precision <= _DIGITS_MAX and 0 <= self.scale <= self.precision
        return parse_type(f"DECIMAL({self.precision if is_known else _DIGITS_MAX}, {scale})")

    @property
    def identity(self) -> int:
        """What its type has in common with itself only."""
        return id(self)

    def at(self, path: Sequence[str]) -> "ConnectType":
        """Return the type of a field inside; a plain type where there is none."""
        found = self
        for name in path:
            found = found.fields.get(name, NO_TYPE)
        return found


NO_TYPE: Final = ConnectType()
"""A plain type: a value that is what it looks like."""

TypeOf: TypeAlias = Callable[[MappedColumn], ConnectType]
"""Returns the type of the field that a column is read from."""


def parse_connect_schema(text: bytes) -> ConnectType:
    """Return the type of the messages of a schema, as Connect's converter writes it around them.

    What is no schema is a plain type.
    """
    try:
        return _parsed(json.loads(text), 0)
    except (ValueError, RecursionError):
        return NO_TYPE


def typed_reader(
    columns: Sequence[MappedColumn],
    type_of: TypeOf,
    reader_of: Callable[[Sequence[MappedColumn]], MessageReader],
    *,
    has_unscaled: bool,
) -> MessageReader:
    """Return the reader of columns from messages of known types.

    Args:
        columns: The columns.
        type_of: The types of their fields.
        reader_of: Returns the reader of columns without time formats.
        has_unscaled: Whether decimals are texts of their unscaled value.
    """
    types = [type_of(column) for column in columns]
    timed = [with_time_format(*pair) for pair in zip(columns, types, strict=True)]
    scales = {
        column.name: one.scale
        for column, one in zip(columns, types, strict=True)
        if has_unscaled
        and column.type.root is TypeRoot.DECIMAL
        and one.name in (DECIMAL, VARIABLE_SCALE_DECIMAL)
    }
    reader = reader_with_times(timed, lambda plain: reader_with_decimals(plain, scales, reader_of))
    meant = [new.path for old, new in zip(columns, timed, strict=True) if new != old]
    return _TimesByNameReader(meant, reader) if meant else reader


class _TimesByNameReader:
    """Reads messages, some of whose columns have a time format that only their schema tells."""

    def __init__(self, paths: Sequence[tuple[str, ...]], messages: MessageReader) -> None:
        self._paths = tuple(paths)
        self._messages = messages

    def read(self, payloads: pa.BinaryArray) -> ReadMessages:
        """Return the columns of a batch of messages (see `MessageReader.read`)."""
        return self._messages.read(payloads)

    def tree(self, payload: bytes) -> Any:
        """Return a message as dicts, lists and scalars (see `MessageReader.tree`).

        Dates and times are null: as numbers they would not fit the types of their columns, and no wider type helps one.
        """
        found = self._messages.tree(payload)
        for path in self._paths:
            replace_value(found, path, lambda _: None)
        return found


def with_time_format(column: MappedColumn, of_field: ConnectType) -> MappedColumn:
    """Return a column with the time format that the type of its field tells, unless it has one."""
    declared = _TIME_FORMATS.get(of_field.name)
    is_open = column.time_format is None and column.type.root in DATE_AND_TIME_TYPES
    if declared is None or not is_open:
        return column
    return replace(column, time_format=TimeFormat(declared))


def _parsed(schema: Any, depth: int) -> ConnectType:
    if not isinstance(schema, dict) or depth > _DEPTH_MAX:
        return NO_TYPE
    name, parameters = schema.get("name"), schema.get("parameters")
    declared, item = schema.get("fields"), None
    plain = schema.get("type")
    if plain == "array":
        item = _parsed(schema.get("items"), depth + 1)
    elif plain == "map" and _parsed(schema.get("keys"), depth + 1).plain == "string":
        item = _parsed(schema.get("values"), depth + 1)
    elif plain == "map":
        plain = ""  # a list of pairs
    return ConnectType(
        name=name if isinstance(name, str) else "",
        scale=_whole(parameters, "scale"),
        plain=plain if isinstance(plain, str) else "",
        precision=_whole(parameters, "connect.decimal.precision"),
        item=item,
        fields={
            one["field"]: _parsed(one, depth + 1)
            for one in (declared if isinstance(declared, list) else ())
            if isinstance(one, dict) and isinstance(one.get("field"), str)
        },
    )


def _whole(parameters: Any, name: str) -> int:
    """Return a number of digits; 0 where there is none, or an absurd one."""
    text = parameters.get(name) if isinstance(parameters, dict) else None
    try:
        found = int(str(text))
    except ValueError:
        return 0
    return found if abs(found) <= _DIGITS_NAMED_MAX else 0
