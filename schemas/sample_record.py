"""Contract of a sample record: a Kafka record that a request or a declaration gives."""

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Final

import orjson
from pydantic import AfterValidator, Field, model_validator

from braid.schemas.contract import INT_MAX, Contract, JsonMessage, at_most

_HEADERS_MAX: Final = 100
TIMESTAMP_MS_MAX: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def _base64(text: str) -> str:
    base64.b64decode(text, validate=True)
    return text


_Base64 = Annotated[str, AfterValidator(_base64)]


class SampleRecord(Contract):
    """A Kafka record; key and value are given as texts, as JSON, or in base64.

    Attributes:
        key: The Kafka key as a text, or as the object or list of a JSON message; None, without `key_base64`: the record
            has none.
        key_base64: The Kafka key in base64.
        value: The value, likewise. A number with more digits than a double has to be written in a text.
        value_base64: The value in base64.
        headers: Headers by name, with their texts.
        timestamp_ms: The record's timestamp, milliseconds since the epoch, UTC; None: that of 1970.
        partition: The Kafka partition.
        offset: The offset in it; None: the place of the record among the samples.
    """

    key: str | JsonMessage | None = None
    key_base64: _Base64 | None = None
    value: str | JsonMessage | None = Field(default=None, examples=['{"id": 7}'])
    value_base64: _Base64 | None = None
    headers: Annotated[Mapping[str, str], at_most(_HEADERS_MAX)] = Field(default_factory=dict)
    timestamp_ms: int | None = Field(default=None, strict=True, ge=0, le=TIMESTAMP_MS_MAX)
    partition: int = Field(default=0, strict=True, ge=0, le=INT_MAX)
    offset: int | None = Field(default=None, strict=True, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _is_given_once(self) -> "SampleRecord":
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


def _bytes(given: str | dict[str, Any] | list[Any] | None, coded: str | None) -> bytes | None:
    if isinstance(given, str):
        return given.encode()
    if given is not None:
        return orjson.dumps(given)
    return None if coded is None else base64.b64decode(coded)
