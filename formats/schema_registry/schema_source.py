"""Interface to schemas by the ids in Confluent's wire format: what a schema is, and the error for an id without a schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class SchemaKind(StrEnum):
    """The language of a schema, by the registry's own name."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema as a registry holds it; a schema never changes under its id.

    Attributes:
        id: The id by which messages name it.
        kind: The language of the text.
        text: The schema in its own language.
        references: The schemas that the text refers to, and theirs, by the name in the reference;
            a schema stands behind those that it refers to.
    """

    id: int
    kind: SchemaKind
    text: str
    references: Mapping[str, str] = field(default_factory=dict)


class UnknownSchemaError(Exception):
    """There is no schema of an id that can be used, so the message cannot be read; the text says why."""


class SchemaSource(Protocol):
    """Finds schemas by id."""

    def schema(self, schema_id: int) -> RegisteredSchema:
        """Return a schema.

        Raises:
            UnknownSchemaError: There is no schema of that id, or it cannot be used: it is too large, of an unknown
                kind, or its references are wrong.
            StorageUnavailable: The registry does not answer, or refuses the login; the same request may
                succeed later, so no record becomes a dead letter.
        """
        ...
