"""Types of the rows of Debezium's events that have a schema: they give the types of the columns that a stream adds.

The schema may name the meaning of a plain value (`connect.name` in Avro, `name` in JSON). For the following meanings, a
field at the top level of a row gets a column of this type:

| name | column |
|---|---|
| `io.debezium.time.Date`, `org.apache.kafka.connect.data.Date` | DATE |
| `io.debezium.time.Time`, `org.apache.kafka.connect.data.Time` | TIME(3) |
| `io.debezium.time.Timestamp`, `org.apache.kafka.connect.data.Timestamp` | TIMESTAMP(3) |
| `io.debezium.time.MicroTimestamp`, `NanoTimestamp` | TIMESTAMP(6), TIMESTAMP(9) |
| `org.apache.kafka.connect.data.Decimal` in JSON | DECIMAL of its precision and scale; DECIMAL of 38 digits if the schema has a larger precision or none |
| `io.debezium.time.ZonedTimestamp` of PostgreSQL and MySQL, which store moments with six digits of the second | TIMESTAMP(6) WITH LOCAL TIME ZONE |

Every other field gets the type of its plain value: a number for `MicroTime` and `NanoTime`, because no TIME has as many digits,
and a text for the `ZonedTimestamp` of other databases, which has an offset or more digits. A decimal in Avro has Avro's own
type for decimals. Inside lists and objects the plain values are used, because logical types are applied to whole columns only.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from braid.formats.avro.schema import AvroType
from braid.formats.change_capture.connect_types import DECIMAL, ConnectType, parse_connect_schema
from braid.formats.change_capture.debezium_events import AFTER
from braid.formats.change_capture.envelopes import KnownSchemas
from braid.formats.change_capture.json_rows import schema_of_row
from braid.formats.change_capture.unwrapped_rows import PREFIX
from braid.formats.message_types import MessageTypes
from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType
from braid.formats.schema_registry.recent_entries import RecentEntries
from braid.lake import DataType, parse_type
from braid.schemas import DebeziumFormat, SourceDatabase

_TIMES: Final = {
    "org.apache.kafka.connect.data.Date": parse_type("DATE"),
    "org.apache.kafka.connect.data.Time": parse_type("TIME(3)"),
    "org.apache.kafka.connect.data.Timestamp": parse_type("TIMESTAMP(3)"),
    "io.debezium.time.Date": parse_type("DATE"),
    "io.debezium.time.Time": parse_type("TIME(3)"),
    "io.debezium.time.Timestamp": parse_type("TIMESTAMP(3)"),
    "io.debezium.time.MicroTimestamp": parse_type("TIMESTAMP(6)"),
    "io.debezium.time.NanoTimestamp": parse_type("TIMESTAMP(9)"),
}
_TIME_KINDS: Final = (NativeKind.WHOLE, NativeKind.DATE, NativeKind.TIME, NativeKind.MOMENT)
_ZONED: Final = "io.debezium.time.ZonedTimestamp"
_MOMENT: Final = parse_type("TIMESTAMP(6) WITH LOCAL TIME ZONE")
_STORE_MOMENTS: Final = (SourceDatabase.POSTGRESQL, SourceDatabase.MYSQL)
_TYPES_MAX: Final = 256
_CHARACTERS_MAX: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class MeantType:
    """Plain values with a meaning that their schema names (see `NativeType`).

    Attributes:
        plain: The type of the plain values.
        column_type: The type of a column of their meaning.
    """

    plain: NativeType
    column_type: DataType

    @property
    def possible(self) -> tuple["MeantType", ...]:
        """The type itself."""
        return (self,)

    @property
    def native_kind(self) -> NativeKind:
        """The kind of the plain values."""
        return self.plain.native_kind

    @property
    def item(self) -> None:
        """The type of items; there are none."""

    @property
    def fields(self) -> Mapping[str, NativeType]:
        """The fields; there are none."""
        return {}

    @property
    def identity(self) -> Hashable:
        """The identity of the plain type."""
        return self.plain.identity


class AvroRowTypes:
    """The types of the rows inside of events in Avro (see `MessageTypes`)."""

    is_whole = True

    def __init__(self, declared: DebeziumFormat, events: MessageTypes) -> None:
        """Prepare to find them.

        Args:
            declared: The format.
            events: The types of the events.
        """
        self._declared = declared
        self._events = events
        # With the type of the event, which is kept so that it stays the one of its identity.
        self._known = RecentEntries[int, tuple[NativeType, AvroType]](
            count_max=_TYPES_MAX, size_max=_TYPES_MAX
        )

    def type_of(self, payload: bytes) -> NativeType:
        """Return the type of an event's row (see `MessageTypes.type_of`)."""
        event = self._events.type_of(payload)
        assert isinstance(event, AvroType), "the events are in Avro"
        known = self._known.get(id(event))
        if known is None:
            known = (event, _avro_row_type(event, self._declared))
            self._known.put(id(event), known, size=1)
        return known[1]

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type as which a column reads values (see `MessageTypes.of_column`)."""
        return _meant_type(declared, self._declared.database)


class JsonRowTypes:
    """The types of rows that are JSON objects, by the schemas of their events (see `MessageTypes`)."""

    is_whole = False

    def __init__(self, declared: DebeziumFormat, known: KnownSchemas) -> None:
        """Prepare to find them.

        Args:
            declared: The format.
            known: The schemas of the events that were opened last.
        """
        self._declared = declared
        self._schemas = known
        self._known = RecentEntries[bytes, ConnectType](
            count_max=_TYPES_MAX, size_max=_CHARACTERS_MAX
        )

    def type_of(self, payload: bytes) -> NativeType | None:
        """Return the type of a row (see `MessageTypes.type_of`); None of one whose event had no schema of objects."""
        text = schema_of_row(payload, self._schemas)
        if text is None:
            return None
        found = self._known.get(text)
        if found is None:
            found = _json_row_type(parse_connect_schema(text), self._declared)
            self._known.put(text, found, size=len(text))
        return found if found.native_kind is NativeKind.RECORD else None

    def of_column(self, declared: NativeType) -> NativeType:
        """Return the type as which a column reads values (see `MessageTypes.of_column`)."""
        return _meant_type(declared, self._declared.database)


def _json_row_type(event: ConnectType, declared: DebeziumFormat) -> ConnectType:
    if not declared.unwrapped:
        return event.at((AFTER,))
    return replace(event, fields=_without_parts(event.fields))


def _avro_row_type(event: AvroType, declared: DebeziumFormat) -> AvroType:
    """Return the type of the rows after changes, in events of a type; of an unwrapped event its row's fields alone.

    Raises:
        ValueError: The events have no rows.
    """
    if declared.unwrapped:
        return replace(event, fields=_without_parts(event.fields))
    row = event.fields.get(AFTER)
    if row is None:
        message = f"the schema of the event has no `{AFTER}`"
        raise ValueError(message)
    return row


_Type = TypeVar("_Type")


def _without_parts(fields: Mapping[str, _Type]) -> dict[str, _Type]:
    """Return the fields of an unwrapped event without those that are no fields of its row."""
    return {name: part for name, part in fields.items() if not name.startswith(PREFIX)}


def _meant_type(plain: NativeType, database: SourceDatabase) -> NativeType:
    """Return the type as which a column of its own reads values: that of their meaning, or the plain one."""
    name = ""
    if isinstance(plain, AvroType):
        name = plain.connect_name
    elif isinstance(plain, ConnectType):
        name = plain.name
        if name == DECIMAL and plain.native_kind is NativeKind.BYTES:
            return MeantType(plain, plain.decimal_type)
    if name in _TIMES and plain.native_kind in _TIME_KINDS:
        return MeantType(plain, _TIMES[name])
    if name == _ZONED and plain.native_kind is NativeKind.TEXT and database in _STORE_MOMENTS:
        return MeantType(plain, _MOMENT)
    return plain
