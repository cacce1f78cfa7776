"""Declarations of tables with their streams that use every field; each can be registered as it is.

The tests register them, with the operators' file of `cluster_file_page`.
"""

import base64
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from braid.schemas import (
    AggregateSpec,
    Contract,
    DefinitionFile,
    SchemaChanges,
    StreamDefinition,
)
from braid.schemas.declaration_document import StreamDeclaration, TableDeclaration

ORDERS: Final[dict[str, Any]] = {
    "name": "shop.orders",
    "table": {
        "columns": [
            {"name": "day", "type": "DATE"},
            {"name": "id", "type": "BIGINT", "description": "The number of the order."},
            {"name": "total", "type": "DECIMAL(10, 2)"},
            {"name": "note", "type": "STRING"},
            {"name": "version", "type": "INT"},
            {"name": "carrier", "type": "STRING", "default": "unknown"},
            {"name": "sent_at", "type": "TIMESTAMP(3)"},
            {"name": "campaign", "type": "STRING", "unordered": "allowed"},
            {"name": "old_campaign", "type": "STRING", "unordered": "allowed"},
        ],
        "primary_key": ["day", "id"],
        "partition_keys": ["day"],
        "buckets": 2,
        "merge_engine": "partial-update",
        "sequence_groups": [
            {
                "name": "sales",
                "ordering": ["version"],
                "columns": ["total", "note"],
                "deletes": "clear_columns",
                "keep": ["note"],
            },
            {"name": "shipping", "columns": ["carrier", "sent_at"]},
        ],
        "row_ttl": {"column": "sales__at", "seconds": 7_776_000},
        "tracking": True,
        "staleness": {"default_seconds": 86_400, "groups": {"sales": 3_600}},
        "completeness": {"groups": ["sales", "shipping"]},
        "views": [
            {
                "name": "delivery_risk",
                "columns": [{"column": "total", "name": "order_total"}, {"column": "carrier"}],
                "completeness": {"groups": ["sales"]},
                "staleness": {"default_seconds": 600},
                "on_incomplete": "not_found",
                "on_stale": "null",
                "description": "Features of the model that predicts late deliveries.",
            }
        ],
        "tests": {
            "required": True,
            "cases": [
                {
                    "name": "a late order loses",
                    "given": [
                        {
                            "stream": "sales",
                            "value": {
                                "day": "2026-01-02",
                                "id": 7,
                                "payload": {"total": "12.50", "version": 2},
                            },
                            "headers": {"type": "order"},
                            "partition": 0,
                            "offset": 0,
                            "timestamp_ms": 1_767_312_000_000,
                        },
                        {
                            "stream": "sales",
                            "key_base64": "Nw==",
                            "value": {
                                "day": "2026-01-02",
                                "id": 7,
                                "payload": {"total": "99.00", "version": 1},
                            },
                            "headers": {"type": "order"},
                        },
                        {
                            "stream": "shipping",
                            "key": {"day": "2026-01-02", "id": 7},
                            "value_base64": "eyJjYXJyaWVyIjogIkFDTUUifQ==",
                        },
                        {"stream": "shipping", "value": "no JSON"},
                    ],
                    "expect": {
                        "rows": [
                            {
                                "key": {"day": "2026-01-02", "id": 7},
                                "exists": True,
                                "row": {"total": "12.50", "carrier": "ACME"},
                                "groups": {"sales": "present", "shipping": "present"},
                                "reasons": {"total": ["newer-sequence", "late", "null-skipped"]},
                                "complete": True,
                            }
                        ],
                        "row_count": 1,
                        "dead_letters": [{"stream": "shipping", "reason": "malformed"}],
                    },
                    "read_at_ms": 1_767_312_060_000,
                }
            ],
        },
        "lookup_indexes": [{"name": "by_carrier", "columns": ["carrier"]}],
        "unordered": "refused",
        "comment": "One row for each order.",
        "labels": {"team": "payments"},
        "owner": "payments@shop.example",
        "options": {"file.format": "parquet", "snapshot.time-retained": "7 d"},
    },
    "streams": {
        "sales": {
            "name": "sales",
            "source": "kafka",
            "topic": "shop.orders",
            "format": "json",
            "columns": [
                {"column": "day"},
                {"column": "id"},
                {"column": "total", "expression": "abs(payload.total)"},
                {"column": "note", "path": "payload.note", "on_missing": "keep"},
                {"column": "version", "path": "payload.version", "default": 0},
                {"column": "campaign", "constant": "web"},
            ],
            "fields": {"payload.total": "DECIMAL(10, 2)"},
            "sequence_group": "sales",
            "starting_offsets": "earliest",
            "dead_letter_topic": "shop.orders.dead-letters",
            "dead_letter_budget": {"count": 500, "rate": 0.01},
            "on_null_ordering": "dead_letter",
            "where": "header(type) = 'order'",
            "delete_when": "op = 'd'",
            "on_delete": "clear_columns",
            "on_tombstone": "dead_letter",
            "on_new_field": "ignore",
            "columns_max": 100,
            "max_message_bytes": 262_144,
            "partitioned_by_key": False,
            "on_offsets_expired": "skip",
            "kafka": {"cluster": "shop", "options": {"fetch.max.wait.ms": "100"}},
            "mirror_consumer_group": "braid.orders",
            "trigger": {"type": "interval", "milliseconds": 1_000},
            "trigger_ms": 1_000,
            "max_records_per_batch": 200_000,
            "max_bytes_per_batch": 67_108_864,
            "weight": 2,
            "placement": {"labels": {"zone": "eu"}},
            "labels": {"team": "payments"},
            "owner": "payments@shop.example",
        },
        "shipping": {
            "topic": "shop.parcels",
            "columns": [
                {"column": "day", "source": "key", "path": "day"},
                {"column": "id", "source": "key", "path": "id"},
                {"column": "carrier"},
                {
                    "column": "sent_at",
                    "path": "sent",
                    "time_format": "dd.MM.yyyy HH:mm:ss",
                    "time_zone": "Europe/Berlin",
                },
            ],
            "on_partitions_added": "continue",
            "partitions_settle": "6 min",
            "kafka": {"bootstrap_servers": "kafka-9:9092"},
        },
    },
}

CUSTOMERS: Final[dict[str, Any]] = {
    "name": "shop.customers",
    "table": {
        "columns": [
            {"name": "id", "type": "BIGINT"},
            {"name": "name", "type": "STRING"},
            {"name": "removed_at", "type": "TIMESTAMP(3)"},
        ],
        "primary_key": ["id"],
        "merge_engine": "deduplicate",
        "deletes": "remove_row",
        "delete_retention": {"seconds": 604_800, "columns": ["removed_at"]},
    },
    "streams": {
        "customers": {
            "topic": "shop.public.customers",
            "format": {
                "type": "debezium",
                "database": "mysql",
                "messages": {"type": "avro", "schema_registry": "shop"},
                "unwrapped": False,
                "unavailable_value": "__debezium_unavailable_value",
                "decimals": "plain",
            },
            "partitioned_by_key": True,
            "kafka": {"cluster": "shop"},
            "trigger": {"type": "continuous"},
        }
    },
}

VISITS: Final[dict[str, Any]] = {
    "name": "shop.visits",
    "table": {
        "columns": [
            {"name": "page", "type": "STRING"},
            {
                "name": "views",
                "type": "BIGINT",
                "aggregate": {"function": "sum", "ignore_retract": True, "on_overflow": "wrap"},
            },
            {
                "name": "tags",
                "type": "STRING",
                "aggregate": {"function": "listagg", "delimiter": ";", "distinct": True},
            },
            {
                "name": "visitors",
                "type": "BYTES",
                "aggregate": {"function": "hll_sketch", "lg_k": 12, "hll_type": "HLL_4"},
            },
            {
                "name": "lines",
                "type": "ARRAY<ROW<line INT, item STRING, version INT>>",
                "aggregate": {
                    "function": "nested_update",
                    "nested_key": ["line"],
                    "nested_key_null_strategy": "ignore",
                    "nested_sequence": ["version"],
                    "count_limit": 100,
                },
            },
            {
                "name": "devices",
                "type": "MAP<STRING, ROW<state STRING, at STRING>>",
                "aggregate": {"function": "merge_map_with_keytime", "timestamp_field": "at"},
            },
            {"name": "title", "type": "STRING"},
        ],
        "primary_key": ["page"],
        "merge_engine": "aggregation",
        "default_aggregate": "last_non_null_value",
        "deletes": "ignore",
    },
    "streams": {
        "visits": {
            "topic": "shop.visits",
            "format": {
                "type": "csv",
                "fields": ["views", "title"],
                "delimiter": ";",
                "quote": '"',
                "null_text": "NULL",
            },
            "key_format": {"type": "avro", "schema_registry": "shop"},
            "columns": [
                {"column": "page", "source": "key", "path": "page"},
                {"column": "views"},
                {"column": "title"},
            ],
            "kafka": {"cluster": "shop"},
            "trigger": {"type": "available_now"},
        }
    },
}
FILES: Final = (ORDERS, CUSTOMERS, VISITS)

_ORDER_SCHEMA: Final = (
    '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "total", "type": "double"}]}'
)


def _order_descriptors() -> str:
    """Return the descriptors of a message `shop.Order` with the fields `id` and `total`, in base64."""
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(
        (("id", FieldDescriptorProto.TYPE_INT64), ("total", FieldDescriptorProto.TYPE_DOUBLE)),
        start=1,
    ):
        message.field.add(
            name=name, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL
        )
    files = FileDescriptorSet(file=[file]).SerializeToString(deterministic=True)
    return base64.b64encode(files).decode()


FORMATS: Final[dict[str, dict[str, Any]]] = {
    "JSON with a schema registry": {"type": "json", "schema_registry": "shop"},
    "Avro": {"type": "avro", "schema": _ORDER_SCHEMA},
    "Avro with a schema registry": {"type": "avro", "schema_registry": "shop"},
    "Protobuf": {
        "type": "protobuf",
        "descriptor_set": _order_descriptors(),
        "message": "shop.Order",
    },
    "Protobuf with a schema registry": {"type": "protobuf", "schema_registry": "shop"},
    "Raw": {"type": "raw"},
    "Maxwell": {"type": "maxwell"},
    "Canal": {"type": "canal"},
}
"""Formats of messages, by title; those of the streams above are not repeated."""

OWN_FUNCTION: Final[dict[str, Any]] = {"function": "within", "options": {"range": "0..100"}}
"""The aggregate of a column whose function a Python package adds."""

CHANGES: Final[dict[str, Any]] = {
    "changes": [
        {
            "change": "add_column",
            "column": "currency",
            "type": "STRING",
            "description": "ISO 4217",
            "position": {"place": "after", "neighbour": "total"},
            "default": "EUR",
            "sequence_group": "sales",
            "source": "payload.currency",
            "keep": False,
        },
        {"change": "add_column", "column": "weight", "type": "DOUBLE"},
        {
            "change": "add_sequence_group",
            "name": "scales",
            "ordering": ["weighed"],
            "columns": ["weight"],
            "deletes": "clear_columns",
            "keep": [],
        },
        {"change": "add_column", "column": "weighed", "type": "INT"},
        {
            "change": "add_column",
            "column": "coupon",
            "type": "STRING",
            "stream": "sales",
            "unordered": "allowed",
        },
        {
            "change": "add_column",
            "column": "parcels",
            "type": "BIGINT",
            "sequence_group": "shipping",
            "aggregate": {"function": "max"},
        },
        {"change": "rename_column", "column": "carrier", "to": "carrier_name"},
        {"change": "drop_column", "column": "old_campaign"},
        {"change": "update_column_type", "column": "total", "type": "DECIMAL(12, 2)"},
        {"change": "update_column_nullability", "column": "total", "nullable": True},
        {"change": "update_column_comment", "column": "id", "description": "The order's number."},
        {"change": "update_column_default", "column": "carrier_name", "default": None},
        {
            "change": "update_column_position",
            "column": "carrier_name",
            "position": {"place": "last"},
        },
        {
            "change": "update_column_aggregate",
            "column": "parcels",
            "aggregate": {"function": "sum", "on_overflow": "wrap"},
        },
        {"change": "update_comment", "comment": "Orders and their parcels."},
        {"change": "update_row_ttl", "row_ttl": {"column": "sales__at", "seconds": 2_592_000}},
        {"change": "set_option", "key": "snapshot.time-retained", "value": "3 d"},
        {"change": "remove_option", "key": "snapshot.time-retained"},
    ]
}
"""Changes of the table `shop.orders`."""


TABLE_BY_ITSELF: Final = {
    "kind": "Table",
    "name": VISITS["name"],
    "spec": VISITS["table"],
}
STREAM_BY_ITSELF: Final = {
    "kind": "Stream",
    "table": VISITS["name"],
    "name": "visits",
    "spec": VISITS["streams"]["visits"],
    "initial_state": "STOPPED",
}


def declared() -> Iterator[Contract]:
    """Yield the contracts of all examples."""
    for file in FILES:
        yield DefinitionFile.model_validate(file)
    for declared_format in FORMATS.values():
        yield StreamDefinition.model_validate({"topic": "t", "format": declared_format})
    yield AggregateSpec.model_validate(OWN_FUNCTION)
    yield SchemaChanges.model_validate(CHANGES)
    yield TableDeclaration.model_validate(TABLE_BY_ITSELF)
    yield StreamDeclaration.model_validate(STREAM_BY_ITSELF)
