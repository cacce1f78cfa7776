"""Contracts of pushed records: a Kafka record in a request, and the answer for each record."""

import base64
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

import orjson
from pydantic import AfterValidator, Field, RootModel, model_validator

from braid.schemas.contract import Contract, JsonMessage, at_most
from braid.schemas.written_number import WrittenNumber

RECORDS_MAX: Final = 1_000
"""Largest number of records in one push."""

TIMESTAMP_MS_MAX: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_HEADERS_MAX: Final = 100


def _base64(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


_Base64 = Annotated[str, AfterValidator(_base64)]


class PushedRecord(Contract):
    """A Kafka record; key and value are given as texts, as JSON, or in base64.

    Attributes:
        key: The Kafka key as a text, or as the object or list of a JSON message; None, without `key_base64`: the record
            has none.
        key_base64: The Kafka key in base64.
        value: The value, likewise. Numbers keep their digits in the body of a request; in a declaration one with more digits than a
            double holds has to be written in a text.
        value_base64: The value in base64.
        headers: Headers by name, with their texts.
        timestamp_ms: The record's timestamp, milliseconds since the epoch, UTC; None: the time at which a pushed record
            is sent, and 1970 for a sample.
    """

    key: str | JsonMessage | None = None
    key_base64: _Base64 | None = None
    value: str | JsonMessage | None = Field(default=None, examples=['{"id": 7}'])
    value_base64: _Base64 | None = None
    headers: Annotated[Mapping[str, str], at_most(_HEADERS_MAX)] = Field(default_factory=dict)
    timestamp_ms: int | None = Field(default=None, strict=True, ge=0, le=TIMESTAMP_MS_MAX)

    @model_validator(mode="after")
    def _is_given_once(self) -> "PushedRecord":
        for given, coded in ((self.key, self.key_base64), (self.value, self.value_base64)):
            if given is not None and coded is not None:
                message = "give a key or value as it is or in base64, and not both"
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


class PushedRecords(RootModel[Annotated[tuple[PushedRecord, ...], at_most(RECORDS_MAX)]]):
    """The records of one push, in order."""


class PushOutcome(StrEnum):
    """Whether a pushed record is in the topic."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


class PushResult(Contract):
    """What became of one record.

    Attributes:
        outcome: `accepted`: the brokers have acknowledged the record. `refused`: it was not sent.
        partition: The Kafka partition of an accepted record.
        offset: The offset in it.
        reason: The reason of a refused record: the dead-letter reason that the stream would give it, or `ignored` if it does not
            belong to the stream.
        message: The same in words.
    """

    outcome: PushOutcome
    partition: int | None = None
    offset: int | None = None
    reason: str | None = Field(default=None, examples=["malformed"])
    message: str | None = None


class PushAnswer(Contract):
    """What became of the records of one push.

    Attributes:
        records: The records, in the order of the request.
        read_after: The token for the parameter `read_after` of rows; None if no record was accepted.
    """

    records: tuple[PushResult, ...]
    read_after: str | None


def _as_written(number: object) -> orjson.Fragment:
    """Return the JSON text of a value that orjson does not know."""
    assert isinstance(number, WrittenNumber), "all else in a message is plain JSON"
    return orjson.Fragment(number.text)


def _bytes(given: str | dict[str, Any] | list[Any] | None, coded: str | None) -> bytes | None:
    if isinstance(given, str):
        return given.encode()
    if given is not None:
        return orjson.dumps(given, default=_as_written)
    return None if coded is None else base64.b64decode(coded)
