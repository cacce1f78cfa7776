"""Messages of ten fields, 220 bytes as JSON, in the formats that streams read; the same on every machine."""

import io
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import fastavro
import numpy as np
from google.protobuf import descriptor_pb2

from braid.formats.protobuf.schema import parse_descriptor_set

TYPES = {
    "id": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(10, 2)",
    "quantity": "INT",
    "paid": "BOOLEAN",
    "at": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "latitude": "DOUBLE",
    "longitude": "DOUBLE",
    "note": "STRING",
    "version": "BIGINT",
}
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
        },
        {"name": "quantity", "type": ["null", "int"]},
        {"name": "paid", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "latitude", "type": "double"},
        {"name": "longitude", "type": ["null", "double"]},
        {"name": "note", "type": ["null", "string"]},
        {"name": "version", "type": "long"},
    ],
}
_F = descriptor_pb2.FieldDescriptorProto
_PROTOBUF = {
    "id": _F.TYPE_INT64,
    "name": _F.TYPE_STRING,
    "price": _F.TYPE_STRING,
    "quantity": _F.TYPE_INT32,
    "paid": _F.TYPE_BOOL,
    "at": _F.TYPE_MESSAGE,
    "latitude": _F.TYPE_DOUBLE,
    "longitude": _F.TYPE_DOUBLE,
    "note": _F.TYPE_STRING,
    "version": _F.TYPE_INT64,
}
_PARSED = fastavro.parse_schema(AVRO)


def orders(count: int) -> list[dict[str, Any]]:
    """Return the fields of messages, as JSON has them."""
    source = np.random.default_rng(1)
    ids, versions = source.integers(0, 10**9, count), source.integers(0, 10**6, count)
    numbers, places = source.uniform(0, 999, count), source.uniform(-90, 90, (count, 2))
    return [
        {
            "id": int(ids[n]),
            "name": f"name {versions[n]}",
            "price": f"{numbers[n]:.2f}",
            "quantity": n % 100,
            "paid": n % 2 == 0,
            "at": f"2026-11-{n % 28 + 1:02d}T12:34:56.{n % 1_000:03d}Z",
            "latitude": float(places[n, 0]),
            "longitude": float(places[n, 1]),
            "note": "x" * (n % 30),
            "version": int(versions[n]),
        }
        for n in range(count)
    ]


def json_messages(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return objects of JSON."""
    return [json.dumps(message).encode() for message in messages]


def csv_messages(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return lines of CSV, of the fields `TYPES`."""
    return [",".join(map(_text, fields.values())).encode() for fields in messages]


def avro_messages(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return records of the schema `AVRO`."""
    return [_avro(fields) for fields in messages]


def descriptor_set() -> str:
    """Return the declaration of the Protobuf message `Order`."""
    timestamp = "google/protobuf/timestamp.proto"
    file = descriptor_pb2.FileDescriptorProto(
        name="order.proto", syntax="proto3", dependency=[timestamp]
    )
    order = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(_PROTOBUF.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=_F.LABEL_OPTIONAL)
    order.field[5].type_name = ".google.protobuf.Timestamp"
    data = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
    return b64encode(data).decode()


def protobuf_messages(messages: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return messages `Order` of `descriptor_set`."""
    order_class = parse_descriptor_set(descriptor_set(), "Order").message_class
    found = []
    for fields in messages:
        order = order_class(**{name: value for name, value in fields.items() if name != "at"})
        order.at.FromJsonString(fields["at"])
        found.append(order.SerializeToString())
    return found


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _avro(fields: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    typed = {"price": Decimal(fields["price"]), "at": datetime.fromisoformat(fields["at"])}
    fastavro.schemaless_writer(out, _PARSED, {**fields, **typed})
    return out.getvalue()
