"""Types of the rows of Debezium's events in Avro, as which columns that a stream adds are read.

Debezium names the meaning of a plain value (`connect.name`). A column of its own has the type of the meaning, where that
holds each value:

| name | column |
|---|---|
| `io.debezium.time.Date`, `org.apache.kafka.connect.data.Date` | DATE |
| `io.debezium.time.Time`, `org.apache.kafka.connect.data.Time` | TIME(3) |
| `io.debezium.time.Timestamp`, `org.apache.kafka.connect.data.Timestamp` | TIMESTAMP(3) |
| `io.debezium.time.MicroTimestamp`, `NanoTimestamp` | TIMESTAMP(6), TIMESTAMP(9) |
| `io.debezium.time.ZonedTimestamp` of PostgreSQL and MySQL, which store moments of six digits | TIMESTAMP(6) WITH LOCAL TIME ZONE |

All else has the type of its plain value: the numbers of `MicroTime` and `NanoTime`, because no TIME holds their digits, and
the texts of `ZonedTimestamp` of other databases, which have an offset or more digits. Decimals are those of Avro. Inside of
lists and objects all values are plain, because only whole columns are read by their meaning.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from braid.formats.avro.schema import AvroType
from braid.formats.change_capture.debezium_events import AFTER
from braid.formats.change_capture.unwrapped_rows import PREFIX
from braid.formats.native.kinds import NativeKind
from braid.formats.native.native_types import NativeType
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


def row_type(event: AvroType, declared: DebeziumFormat) -> AvroType:
    """Return the type of the rows after changes, in events of a type; of an unwrapped event its row's fields alone.

    Raises:
        ValueError: The events have no rows.
    """
    if declared.unwrapped:
        names = [name for name in event.fields if not name.startswith(PREFIX)]
        return replace(event, fields={name: event.fields[name] for name in names})
    row = event.fields.get(AFTER)
    if row is None:
        message = f"the schema of the event has no `{AFTER}`"
        raise ValueError(message)
    return row


def meant_type(plain: NativeType, database: SourceDatabase) -> NativeType:
    """Return the type as which a column of its own reads values: that of their meaning, or the plain one."""
    name = plain.connect_name if isinstance(plain, AvroType) else ""
    if name in _TIMES and plain.native_kind in _TIME_KINDS:
        return MeantType(plain, _TIMES[name])
    if name == _ZONED and plain.native_kind is NativeKind.TEXT and database in _STORE_MOMENTS:
        return MeantType(plain, _MOMENT)
    return plain
