"""Contracts for the trial of a stream: a definition with sample records, and the rows or the fault of each record."""

import base64
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from braid.schemas.contract import INT_MAX, Contract, at_most
from braid.schemas.stream import StreamDefinition

SAMPLES_MAX: Final = 100
SAMPLE_ROWS_MAX: Final = 20
"""Most rows of one sample record that are shown."""
_HEADERS_MAX: Final = 100
_TIMESTAMP_MS_MAX: Final = 253_402_300_799_999  # the last one of the year 9999


def _base64(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


_Base64 = Annotated[str, AfterValidator(_base64)]


class SampleRecord(Contract):
    """A Kafka record; key and value are given as texts, or in base64.

    Attributes:
        key: The Kafka key as a text; None, without `key_base64`: the record has none.
        key_base64: The Kafka key in base64.
        value: The value as a text; None, without `value_base64`: the record has none.
        value_base64: The value in base64.
        headers: Headers by name, with their texts.
        timestamp_ms: The record's timestamp, milliseconds since the epoch, UTC.
        partition: The Kafka partition.
        offset: The offset in it; None: the place of the record among the samples.
    """

    key: str | None = None
    key_base64: _Base64 | None = None
    value: str | None = Field(default=None, examples=['{"id": 7}'])
    value_base64: _Base64 | None = None
    headers: Annotated[Mapping[str, str], at_most(_HEADERS_MAX)] = Field(default_factory=dict)
    timestamp_ms: int = Field(default=0, strict=True, ge=0, le=_TIMESTAMP_MS_MAX)
    partition: int = Field(default=0, strict=True, ge=0, le=INT_MAX)
    offset: int | None = Field(default=None, strict=True, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _is_given_once(self) -> "SampleRecord":
        for text, coded in ((self.key, self.key_base64), (self.value, self.value_base64)):
            if text is not None and coded is not None:
                message = "give a key or value as a text or in base64, and not both"
                raise ValueError(message)
        return self

    @property
    def key_bytes(self) -> bytes | None:
        """The bytes of the Kafka key; None: the record has none."""
        return _bytes(self.key, self.key_base64)

    @property
    def value_bytes(self) -> bytes | None:
        """The bytes of the value; None: the record has none."""
        return _bytes(self.value, self.value_base64)


def _bytes(text: str | None, coded: str | None) -> bytes | None:
    if text is not None:
        return text.encode()
    return None if coded is None else base64.b64decode(coded)


class StreamTrial(StreamDefinition):
    """A definition of a stream, with sample records to be tried.

    Attributes:
        samples: The records, at most 100.
    """

    samples: Annotated[tuple[SampleRecord, ...], at_most(SAMPLES_MAX)] = ()

    @property
    def definition(self) -> StreamDefinition:
        """The definition alone."""
        values = {name: getattr(self, name) for name in StreamDefinition.model_fields}
        given = self.model_fields_set - {"samples"}
        return StreamDefinition.model_construct(given, **values)


class SampleOutcome(StrEnum):
    """What would become of a record.

    `row` and `delete` are written, `ignored` is left out by declaration, and `schema_change` is written once the
    table has got columns or wider types for it (`on_new_field: evolve`).
    """

    ROW = "row"
    DELETE = "delete"
    IGNORED = "ignored"
    DEAD_LETTER = "dead_letter"
    SCHEMA_CHANGE = "schema_change"


class SampleRow(Contract):
    """One of several rows that would be written for a sample record.

    Attributes:
        outcome: `row` or `delete`.
        row: The columns that are read from the record; of a delete those that it needs.
    """

    outcome: SampleOutcome
    row: Mapping[str, Any]


class SampleResult(Contract):
    """What would become of a sample record.

    Attributes:
        outcome: The kind; of a record with several rows that of the last one, unless one of them refuses the record or
            needs a change of the table.
        row: The columns that are read from the record; of a delete those that it needs, of several rows those of the
            last one. None for every other outcome.
        rows: The rows of a record that yields several, in the order in which they are written, at most the first
            `SAMPLE_ROWS_MAX`; empty for every other record.
        reason: The reason of a dead letter, by which dead letters are counted; None for every other outcome.
        message: The reason in words; None for every other outcome.
        changes: New fields for which the table would get columns, and columns that would get a wider type;
            only of a `schema_change`.
    """

    outcome: SampleOutcome
    row: Mapping[str, Any] | None = None
    rows: tuple[SampleRow, ...] = ()
    reason: str | None = None
    message: str | None = None
    changes: tuple[str, ...] = ()
