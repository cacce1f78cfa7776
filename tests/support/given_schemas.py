"""Source of schemas in memory, for what reads messages that name their schemas."""

import struct
from collections.abc import Mapping

from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    UnknownSchemaError,
)
from braid.lake import StorageUnavailable

DOWN = 1_000_000
"""An id for which the registry does not answer."""
BROKEN = 500_000
"""The first of the ids for which `BrokenSchemas` has a defect."""


class GivenSchemas:
    """Schemas of given kinds by id, all of the same text."""

    def __init__(self, kinds: Mapping[int, SchemaKind], *, text: str = "{}") -> None:
        self._kinds = kinds
        self._text = text
        self.asked: list[int] = []

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return a schema (see `SchemaSource.schema`)."""
        self.asked.append(schema_id)
        if schema_id == DOWN:
            raise StorageUnavailable("down")
        if schema_id not in self._kinds:
            raise UnknownSchemaError(f"the schema registry has no schema of id {schema_id}")
        return RegisteredSchema(id=schema_id, kind=self._kinds[schema_id], text=self._text)


class BrokenSchemas(GivenSchemas):
    """A source with a defect, which some ids meet."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return a schema (see `SchemaSource.schema`)."""
        if BROKEN <= schema_id < DOWN:
            raise ZeroDivisionError("division by zero")
        return super().schema(schema_id)


def framed(schema_id: int, body: bytes) -> bytes:
    """Return a message in Confluent's wire format."""
    return struct.pack(">bI", 0, schema_id) + body
