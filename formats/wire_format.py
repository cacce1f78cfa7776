"""Confluent's wire format: splits messages from the ids of their schemas, and finds the schemas of a batch of messages.

0x00 ─ id, 4 bytes, big-endian ─ message in the schema's language

In Protobuf, the indexes of the message's type follow the id (`protobuf.indexed_types`).

In a batch, a message gets a fault if it has no such header, or if its schema is unknown or of another kind. For a single
message without the header, `split_header` raises an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.arrays import rows_where
from braid.formats.fault import Fault, Faults, malformed
from braid.formats.schema_registry.schema_source import (
    RegisteredSchema,
    SchemaKind,
    SchemaSource,
    UnknownSchemaError,
)

HEADER_BYTES: Final = 5

_MAGIC: Final = b"\x00"
_NO_ID: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedMessages:
    """A batch of messages, each parted from the id of its schema.

    Attributes:
        ids: The id of each message, int64; -1 where the message is null or has no id.
        bodies: The messages without their headers; null where `ids` is -1.
        faults: The faults of messages without a header.
    """

    ids: npt.NDArray[np.int64]
    bodies: pa.BinaryArray
    faults: Faults


def split_headers(payloads: pa.BinaryArray) -> FramedMessages:
    """Part a batch of messages from the ids of their schemas.

    Args:
        payloads: The messages; nulls stay nulls and have no fault.
    """
    faults = Faults(len(payloads))
    heads = pc.binary_slice(payloads, 0, HEADER_BYTES)
    is_framed = pc.and_(
        pc.equal(pc.binary_length(heads), HEADER_BYTES), pc.starts_with(heads, _MAGIC)
    )
    for row in rows_where(pc.invert(is_framed).fill_null(False)):
        faults.add(row, _without_header(heads[row].as_py()))
    is_framed = is_framed.fill_null(False)
    # Not `binary_slice`: without an end it computes a negative size.
    bodies = pc.binary_replace_slice(payloads, 0, HEADER_BYTES, b"")
    if len(faults):
        bodies = pc.if_else(is_framed, bodies, pa.scalar(None, bodies.type))
    ids = np.full(len(payloads), _NO_ID, dtype=np.int64)
    mask = is_framed.to_numpy(zero_copy_only=False)
    # Of the headers that are left each has 5 bytes, so they are a table of bytes.
    left = heads.filter(is_framed).cast(pa.binary(HEADER_BYTES))
    data = np.frombuffer(left.buffers()[1], dtype=np.uint8)[left.offset * HEADER_BYTES :]
    table = data[: len(left) * HEADER_BYTES].reshape(-1, HEADER_BYTES)
    ids[mask] = np.ascontiguousarray(table[:, 1:]).view(">u4").ravel()
    return FramedMessages(ids=ids, bodies=bodies, faults=faults)


def split_header(payload: bytes) -> tuple[int, bytes]:
    """Return the id of a message's schema, and the message without its header.

    Raises:
        ValueError: The message has no header.
    """
    if len(payload) < HEADER_BYTES or not payload.startswith(_MAGIC):
        raise ValueError(_without_header(payload[:HEADER_BYTES]).message)
    return int.from_bytes(payload[1:HEADER_BYTES], "big"), payload[HEADER_BYTES:]


def read_schemas(
    messages: FramedMessages, schemas: SchemaSource, kind: SchemaKind
) -> Mapping[int, RegisteredSchema]:
    """Return the schemas of a batch of messages by id; messages without a schema of the kind get a fault.

    Args:
        messages: The messages; `faults` is added to.
        schemas: The registry.
        kind: The kind that the stream reads.

    Raises:
        StorageUnavailable: The registry does not answer.
    """
    found: dict[int, RegisteredSchema] = {}
    for schema_id in np.unique(messages.ids).tolist():
        if schema_id == _NO_ID:
            continue
        try:
            schema = schemas.schema(schema_id)
        except UnknownSchemaError as error:
            fault = malformed(str(error))
        else:
            if schema.kind is kind:
                found[schema_id] = schema
                continue
            fault = malformed(
                f"the schema of id {schema_id} is of the kind {schema.kind}, expected {kind}"
            )
        messages.faults.add_all(np.flatnonzero(messages.ids == schema_id).tolist(), fault)
    return found


def _without_header(head: bytes) -> Fault:
    if not head:
        return malformed("found no bytes, expected a message that begins with the id of its schema")
    if not head.startswith(_MAGIC):
        return malformed(
            f"found the first byte 0x{head[0]:02x}, expected 0x00 and the id of the message's schema"
        )
    return malformed(f"found {len(head)} bytes, expected 0x00, the id of a schema and a message")
