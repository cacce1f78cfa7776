"""Forms in which Debezium's converters and transformations send events: the records of a topic, written anew.

The topics of the model have plain JSON. A form makes of each record what a connector with another converter sends.
"""

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import fastavro

from tests.support.change_capture.source_table import SourceTable
from tests.support.change_capture.topic import KafkaRecord

_PLACES: Final[Mapping[str, Mapping[str, str]]] = {
    "postgresql": {"sequence": "string"},
    "mysql": {"file": "string", "pos": "long", "row": "int"},
}
"""Fields of `source` that tell the place of a change, by database."""
_CONNECT: Final = {"long": "int64", "int": "int32", "string": "string"}


class MessageForm(ABC):
    """The form of the messages of one topic."""

    def __init__(self, table: SourceTable, connector: str) -> None:
        """Prepare to write the messages of a table's changes.

        Args:
            table: The table.
            connector: Debezium's name for the database.
        """
        self.table = table
        self.places = _PLACES[connector]

    @property
    @abstractmethod
    def stream(self) -> Mapping[str, Any]:
        """What the stream declares of it: `format`, without type and database, and other fields."""

    @abstractmethod
    def value(self, event: Mapping[str, Any], number: int) -> bytes:
        """Return the value of a record; `number` differs from record to record."""

    def record(self, record: KafkaRecord) -> KafkaRecord:
        """Return a record of plain JSON in this form; a tombstone is none of its own."""
        if record.value is None:
            return record
        return replace(record, value=self.value(json.loads(record.value), record.offset))

    @property
    def _row(self) -> dict[str, str]:
        numbers, texts = self.table.numbers, self.table.texts
        return {"id": "long", **dict.fromkeys(numbers, "int"), **dict.fromkeys(texts, "string")}


class Enveloped(MessageForm):
    """JSON, of which every other message has its schema around it."""

    @property
    def stream(self) -> Mapping[str, Any]:
        """Nothing: such messages are told one by one."""
        return {}

    def value(self, event: Mapping[str, Any], number: int) -> bytes:
        """Return the event, or the event inside of its envelope."""
        if number % 2:
            return json.dumps(event).encode()
        row = [
            {"field": name, "type": _CONNECT[kind], "optional": True}
            for name, kind in self._row.items()
        ]
        images = [
            {"field": name, "type": "struct", "optional": True, "fields": row}
            for name in ("before", "after")
        ]
        schema = {"type": "struct", "optional": False, "fields": images}
        return json.dumps({"schema": schema, "payload": event}).encode()


class Unwrapped(MessageForm):
    """JSON that has only the row of each event, with marks; a delete has the row before it."""

    @property
    def stream(self) -> Mapping[str, Any]:
        """The transformation; a tombstone repeats the marked delete before it."""
        return {"format": {"unwrapped": True}, "on_tombstone": "ignore"}

    def value(self, event: Mapping[str, Any], number: int) -> bytes:
        """Return the row."""
        del number
        return json.dumps(unwrapped(event, self.places)).encode()


class InAvro(MessageForm):
    """Avro with one schema."""

    def __init__(self, table: SourceTable, connector: str) -> None:
        """Make the schema."""
        super().__init__(table, connector)
        self.schema = self._schema()
        self._parsed = fastavro.parse_schema(json.loads(json.dumps(self.schema)))

    @property
    def stream(self) -> Mapping[str, Any]:
        """The schema; the key is read from the row."""
        return {"format": {"messages": {"type": "avro", "schema": json.dumps(self.schema)}}}

    def value(self, event: Mapping[str, Any], number: int) -> bytes:
        """Return the event as fastavro writes it."""
        del number
        message = io.BytesIO()
        fastavro.schemaless_writer(message, self._parsed, event)
        return message.getvalue()

    def _schema(self) -> dict[str, Any]:
        return _record(
            "Envelope",
            {
                "before": ["null", _record("Value", _optional(self._row))],
                "after": ["null", "Value"],
                "source": _record("Source", _optional(self.places)),
                "op": "string",
            },
        )


class UnwrappedInAvro(InAvro):
    """Avro that has only the row of each event, with marks."""

    @property
    def stream(self) -> Mapping[str, Any]:
        """The transformation and the schema."""
        declared: Any = super().stream
        return {"format": {**declared["format"], "unwrapped": True}, "on_tombstone": "ignore"}

    def value(self, event: Mapping[str, Any], number: int) -> bytes:
        """Return the row as fastavro writes it."""
        return super().value(unwrapped(event, self.places), number)

    def _schema(self) -> dict[str, Any]:
        marks = {"__op": "string", "__deleted": "string"}
        places = {f"__source_{name}": kind for name, kind in self.places.items()}
        return _record("Value", _optional({**self._row, **marks, **places}))


def unwrapped(event: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of an event as ExtractNewRecordState leaves it, with deletes rewritten.

    Args:
        event: The event.
        places: The fields of `source` that are added to the row.
    """
    is_delete = event["op"] == "d"
    return {
        **(event["before"] if is_delete else event["after"]),
        "__op": event["op"],
        "__deleted": "true" if is_delete else "false",
        **{f"__source_{name}": event["source"].get(name) for name in places},
    }


def _optional(types: Mapping[str, str]) -> dict[str, Any]:
    return {name: ["null", kind] for name, kind in types.items()}


def _record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": listed}
