"""Schema envelopes of Kafka Connect: JSON messages with their schema, which are told apart from messages without an envelope.

    {"schema": {"type": "struct", "fields": […]}, "payload": {"before": null, "after": {"id": 7}, "op": "c"}}

A message is an envelope if it has these two fields and no other field; Connect's own converter has the same rule. That
converter may write the text `null` for a record without a value. `KnownSchemas` numbers the schemas.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import replace_rows, rows_with

NO_SCHEMA: Final = -1
"""The number of the schema of a message without one."""

_SCHEMAS_MAX: Final = 1_000
_NULL: Final = b"null"


class _Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    schema: msgspec.Raw
    payload: msgspec.Raw


_DECODE: Final = msgspec.json.Decoder(_Envelope).decode


@dataclass(frozen=True, slots=True)
class OpenedMessages:
    """A batch of messages without their envelopes.

    Attributes:
        payloads: The messages; null where a message, or its payload, is null or the text `null`.
        schemas: For each message the number of its schema in `KnownSchemas`, `NO_SCHEMA` without one.
    """

    payloads: pa.BinaryArray
    schemas: npt.NDArray[np.int64]


class KnownSchemas:
    """The schemas of the envelopes of a stream, by numbers."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._texts: list[bytes] = []

    def text(self, number: int) -> bytes:
        """Return the JSON text of a schema of the batch that was opened last."""
        return self._texts[number]

    def begin(self) -> None:
        """Forget all schemas if they are many: a batch begins, and no event of an older one is read any more."""
        if len(self._texts) >= _SCHEMAS_MAX:
            self._numbers, self._texts = {}, []

    def number(self, text: bytes) -> int:
        """Return the number of a schema."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return found


def bare_messages(messages: pa.BinaryArray) -> OpenedMessages:
    """Return a batch of messages of a format that has no envelopes."""
    return OpenedMessages(messages, np.full(len(messages), NO_SCHEMA))


def open_envelopes(messages: pa.BinaryArray, known: KnownSchemas | None = None) -> OpenedMessages:
    """Return a batch of messages without envelopes.

    Args:
        messages: JSON texts; null is null.
        known: Gets the schemas of the envelopes; None: they are left out.
    """
    schemas = np.full(len(messages), NO_SCHEMA)
    is_nothing = pc.equal(messages, pa.scalar(_NULL, messages.type)).fill_null(False)
    if pc.any(is_nothing).as_py():
        messages = pc.if_else(is_nothing, pa.scalar(None, messages.type), messages)
    rows = rows_with(messages, [b'"payload"'])
    opened: list[int] = []
    payloads: list[bytes | None] = []
    for row, text in zip(rows, _taken(messages, rows), strict=True):
        try:
            found = _DECODE(text)
        except (ValueError, RecursionError):
            continue  # another object, or none at all
        schema, payload = bytes(found.schema), bytes(found.payload)
        opened.append(row)
        payloads.append(None if payload == _NULL else payload)
        if known is not None and schema != _NULL:
            schemas[row] = known.number(schema)
    if opened:
        messages = replace_rows(messages, opened, payloads)
    return OpenedMessages(messages, schemas)


def _taken(messages: pa.BinaryArray, rows: Sequence[int]) -> list[bytes]:
    chosen = messages if len(rows) == len(messages) else messages.take(pa.array(rows, pa.int64()))
    found: list[bytes] = chosen.to_pylist()
    return found
