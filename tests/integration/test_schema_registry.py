"""Streams whose messages name their schemas: a real registry, which evolves, does not answer, and comes back.

The registry takes ten seconds to start on an idle machine. So the tests share one, and only the soak kills it.
"""

import io
import itertools
import json
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fastavro
import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.formats.protobuf.schema import find_message, registered_files
from braid.formats.schema_registry.named_registry import NamedSchemaRegistry
from braid.formats.schema_registry.registry_connection import connect
from braid.formats.schema_registry.registry_schemas import RegistrySchemas
from braid.formats.schema_registry.schema_source import SchemaKind, UnknownSchemaError
from braid.pipelines.settings import RestartPolicy, RunnerSettings
from braid.schemas import StreamState
from tests.integration.ingest_bed import IngestBed
from tests.integration.runner_bed import Registry, has_read, is_state, running_settings
from tests.support.schema_registry import SchemaRegistry
from tests.support.servers import Servers

pytestmark = [pytest.mark.integration, pytest.mark.spark]

UNREGISTERED = 1 << 30
DRAFT = "http://json-schema.org/draft-07/schema#"
ITEM = {"$schema": DRAFT, "type": "object", "properties": {"a": {"type": "string"}}}
ADDRESS = {"type": "record", "name": "Address", "fields": [{"name": "zip", "type": "string"}]}
JSON_STREAM: dict[str, Any] = {
    "format": {"type": "json", "schema_registry": "shop"},
    "columns": [{"column": "id"}, {"column": "a"}, {"column": "a_version"}],
}


@pytest.fixture(scope="module")
def schema_registry(servers: Servers) -> Iterator[SchemaRegistry]:
    """A running registry, shared: use subjects of your own, and leave it running."""
    with servers.registry() as registry:
        yield registry


def order_schema(number: int) -> dict[str, Any]:
    """Return a version of a schema: a later one has more properties."""
    more = {f"more_{index}": {"$ref": "item.json"} for index in range(number)}
    properties = {"id": {"type": "integer"}, "a": {"type": "string"}, **more}
    return {"$schema": DRAFT, "type": "object", "properties": properties}


def framed(schema_id: int, message: Any) -> bytes:
    """Return a message in the wire format."""
    return struct.pack(">bI", 0, schema_id) + json.dumps(message).encode()


def order(key: int) -> dict[str, Any]:
    return {"id": key, "a": f"of {key}", "a_version": 1}


@contextmanager
def running(bed: IngestBed, registry: SchemaRegistry) -> Iterator[Registry]:
    """Run a runner whose file names the registry `shop`."""
    shop = NamedSchemaRegistry(name="shop", urls=(registry.url,), timeout_ms=2_000)
    clusters = KafkaClusters(schema_registries={"shop": shop})
    settings = RunnerSettings(
        warehouse=bed.warehouse,
        name="inside",
        clusters=clusters.with_default(bed.broker.bootstrap_servers),
        poll_ms=50,
        progress_ms=100,
        restarts=RestartPolicy(wait_ms_min=100, wait_ms_max=500),
        maintains=False,
    )
    declared = Registry(bed)
    with running_settings(settings, bed.session, bed.directory):
        yield declared


def register_orders(registry: SchemaRegistry, subject: str, number: int) -> int:
    """Register a version of the schema of orders, which refers to that of items, and return its id."""
    registry.register(f"{subject}-item", ITEM, kind="JSON")
    reference = {"name": "item.json", "subject": f"{subject}-item", "version": 1}
    return registry.register(subject, order_schema(number), kind="JSON", references=[reference])


def test_schemas_of_all_kinds_come_with_what_they_refer_to(schema_registry: SchemaRegistry) -> None:
    shop = NamedSchemaRegistry(name="shop", urls=(schema_registry.url,))
    schemas = RegistrySchemas(connection=connect(shop))
    fields = [{"name": "address", "type": "Address"}]
    person = {"type": "record", "name": "Person", "fields": fields}
    team = {"type": "record", "name": "Team", "fields": [{"name": "lead", "type": "Person"}]}
    proto = 'syntax = "proto3";\nmessage Money { int64 cents = 1; }\n'
    with_import = 'syntax = "proto3";\nimport "money.proto";\nmessage Order { Money total = 1; }\n'

    def refer(name: str, subject: str) -> list[dict[str, Any]]:
        return [{"name": name, "subject": subject, "version": 1}]

    schema_registry.register("address", ADDRESS)
    schema_registry.register("person", person, references=refer("Address", "address"))
    avro = schema_registry.register("team", team, references=refer("Person", "person"))
    schema_registry.register("money", proto, kind="PROTOBUF")
    protobuf = schema_registry.register(
        "order", with_import, kind="PROTOBUF", references=refer("money.proto", "money")
    )
    json_schema = register_orders(schema_registry, "kinds", 1)

    found = schemas.schema(avro)
    assert (found.kind, json.loads(found.text)["name"]) == (SchemaKind.AVRO, "Team")
    assert list(found.references) == ["Address", "Person"]
    assert json.loads(found.references["Address"]) == ADDRESS
    found = schemas.schema(protobuf)
    assert (found.kind, list(found.references)) == (SchemaKind.PROTOBUF, ["money.proto"])
    assert "Money" in found.references["money.proto"]
    found = schemas.schema(json_schema)
    assert (found.kind, list(found.references)) == (SchemaKind.JSON, ["item.json"])
    with pytest.raises(UnknownSchemaError, match=f"no schema of id {UNREGISTERED}"):
        schemas.schema(UNREGISTERED)


def test_a_stream_waits_for_a_registry_that_does_not_answer_and_loses_nothing(
    bed: IngestBed, schema_registry: SchemaRegistry
) -> None:
    topic = bed.topic("orders", partitions=1)
    first = register_orders(schema_registry, topic, 0)
    second = register_orders(schema_registry, topic, 1)
    of_avro = schema_registry.register(f"{topic}-avro", ADDRESS)
    refused = [
        framed(of_avro, order(1)),
        framed(UNREGISTERED, order(2)),
        json.dumps(order(3)).encode(),
        b"\x00\x00",
    ]

    with running(bed, schema_registry) as declared:
        declared.register("left", topic=topic, **JSON_STREAM)
        bed.produce(topic, [framed(first, order(key)) for key in range(100)] + refused)
        declared.wait_for("left", has_read(104))
        schema_registry.pause()
        try:
            bed.produce(topic, [framed(second, order(key)) for key in range(100, 200)])
            waiting = declared.wait_for("left", is_state(StreamState.RETRYING))
        finally:
            schema_registry.resume()
        read = declared.wait_for("left", has_read(204))

    assert waiting.trace is not None
    assert f"the schema registry `shop` is not available: {schema_registry.url}" in waiting.trace
    assert "does not answer within 2000 ms" in waiting.trace
    assert read.account.accepted + read.account.folded == 200
    assert [row["id"] for row in bed.rows("a")] == list(range(200))
    letters = bed.records(f"{topic}.dead-letters")
    assert [letter.value for letter in letters] == refused
    reasons = [dict(letter.headers)["__connect.errors.exception.message"] for letter in letters]
    assert [reason.decode() for reason in reasons] == [
        f"the schema of id {of_avro} is of the kind AVRO, expected JSON",
        f"the schema registry has no schema of id {UNREGISTERED}",
        "found the first byte 0x7b, expected 0x00 and the id of the message's schema",
        "found 2 bytes, expected 0x00, the id of a schema and a message",
    ]


def avro_order(**more: str | list[str]) -> dict[str, Any]:
    """Return the schema of an order with more fields after those of every version."""
    fields = {"id": "long", "a": "string", "a_version": "int", **more}
    listed = [{"name": name, "type": of} for name, of in fields.items()]
    return {"type": "record", "name": "Order", "fields": listed}


def encoded(schema_id: int, record: Any, schema: Any, *referred: Any) -> bytes:
    """Return a record in the wire format, as a producer encodes it."""
    named: dict[str, Any] = {}
    for other in referred:
        fastavro.parse_schema(other, named_schemas=named)
    message = io.BytesIO(struct.pack(">bI", 0, schema_id))
    message.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(message, fastavro.parse_schema(schema, named_schemas=named), record)
    return message.getvalue()


def test_avro_is_read_by_the_schema_of_each_message_and_new_fields_become_columns(
    bed: IngestBed, schema_registry: SchemaRegistry
) -> None:
    topic = bed.topic("orders", partitions=1)
    first, second = avro_order(), avro_order(to="Address", b=["null", "string"])
    reference = {"name": "Address", "subject": f"{topic}-address", "version": 1}
    first_id = schema_registry.register(topic, first)
    schema_registry.register(f"{topic}-address", ADDRESS)
    second_id = schema_registry.register(topic, second, references=[reference])
    json_id = register_orders(schema_registry, f"{topic}-json", 0)
    old = [encoded(first_id, order(key), first) for key in range(100)]
    new = [
        encoded(second_id, {**order(key), "to": {"zip": "89073"}, "b": None}, second, ADDRESS)
        for key in range(100, 200)
    ]
    refused = [
        framed(json_id, order(1)),
        encoded(UNREGISTERED, order(2), first),
        encoded(first_id, order(3), first)[:-1],
        json.dumps(order(4)).encode(),
    ]
    with running(bed, schema_registry) as declared:
        declared.register(
            "left",
            topic=topic,
            format={"type": "avro", "schema_registry": "shop"},
            columns=JSON_STREAM["columns"],
            on_new_field="evolve",
        )
        bed.produce(topic, old)
        declared.wait_for("left", has_read(100))
        # Both schemas, the old one again, at once.
        bed.produce(topic, [*new[:50], *old[:10], *refused, *new[50:]])
        read = declared.wait_for("left", has_read(214))

    # The field `b` cannot become a column, because the table has one of that name; it has no value.
    columns = [column.column for column in declared.entry("left").spec.columns]
    assert columns == ["id", "a", "a_version", "to"]
    assert bed.rows("a", "to") == [
        {"id": key, "a": f"of {key}", "to": None if key < 100 else {"zip": "89073"}}
        for key in range(200)
    ]
    assert read.account.dead_lettered == len(refused)
    letters = bed.records(f"{topic}.dead-letters")
    assert [letter.value for letter in letters] == refused


def test_protobuf_is_read_by_the_place_of_each_message_and_keys_by_schemas_of_their_own(
    bed: IngestBed, schema_registry: SchemaRegistry
) -> None:
    topic = bed.topic("orders", partitions=1)
    money = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
    old = """syntax = "proto3"; package shop; import "money.proto";
        message Order { int64 id = 1; string a = 2; int32 a_version = 3; Money total = 4;
          message Line { int64 id = 1; map<string, Money> sums = 2; } }"""
    new = """syntax = "proto3"; package shop;
        enum State { NEW = 0; PAID = 1; }
        message Other { int64 id = 1; }
        message Order { State state = 1; int64 id = 7; optional string a = 8; int32 a_version = 9; }"""
    reference = {"name": "money.proto", "subject": f"{topic}-money", "version": 1}
    schema_registry.register(f"{topic}-money", money, kind="PROTOBUF")
    old_id = schema_registry.register(f"{topic}-1", old, kind="PROTOBUF", references=[reference])
    new_id = schema_registry.register(f"{topic}-2", new, kind="PROTOBUF")

    def message(schema_id: int, indexes: bytes, name: str, **fields: Any) -> bytes:
        files = registered_files(
            *((old, {"money.proto": money}) if schema_id == old_id else (new, {}))
        )
        body = find_message(files, name).message_class(**fields)
        return struct.pack(">bI", 0, schema_id) + indexes + bytes(body.SerializeToString())

    first = [
        message(old_id, b"\0", "shop.Order", **order(key), total={"cents": key})
        for key in range(40)
    ]
    second = [message(new_id, b"\2\2", "shop.Order", **order(key)) for key in range(40, 80)]
    key_id = schema_registry.register(f"{topic}-key", {"type": "long"})
    keys = [encoded(key_id, key, "long") for key in range(80)]
    refused = [first[0][:-1], message(new_id, b"\2\6", "shop.Order", id=1), first[0][:5], b"\0"]
    shop = NamedSchemaRegistry(name="shop", urls=(schema_registry.url,))
    bed.schemas = RegistrySchemas(connection=connect(shop))
    format_ = {"type": "protobuf", "schema_registry": "shop"}
    key_format = {"type": "avro", "schema_registry": "shop"}
    columns = [{"column": "id", "source": "key"}, {"column": "a"}, {"column": "a_version"}]
    plan = bed.plan("left", topic=topic, format=format_, key_format=key_format, columns=columns)
    # The last one has a key without a schema.
    refused.append(second[0])
    bed.produce(
        topic,
        [*first[:20], *second, *refused, *first[20:]],
        keys=[*keys[:20], *keys[40:], *keys[:4], b"7", *keys[20:40]],
    )

    bed.ingest_available(plan)

    assert [(row["id"], row["a"]) for row in bed.rows("a")] == [
        (key, f"of {key}") for key in range(80)
    ]
    letters = bed.records(f"{topic}.dead-letters")
    assert [letter.value for letter in letters] == refused


def test_a_stream_whose_registry_is_not_in_the_file_of_the_runner_fails_and_says_so(
    bed: IngestBed, schema_registry: SchemaRegistry
) -> None:
    topic = bed.topic("orders", partitions=1)
    with running(bed, schema_registry) as declared:
        format_ = {"type": "json", "schema_registry": "bank"}
        declared.register("left", topic=topic, **{**JSON_STREAM, "format": format_})
        failed = declared.wait_for("left", is_state(StreamState.FAILED))

    assert failed.failure is not None
    (problem,) = failed.failure.errors
    assert (problem.field, problem.value) == ("format.schema_registry", "bank")
    assert "[schema_registries.bank]" in (problem.hint or "")


@pytest.mark.soak
def test_a_registry_that_is_killed_again_and_again_costs_no_record(
    bed: IngestBed, schema_registry: SchemaRegistry
) -> None:
    """Each round sends messages of a schema that no process knows yet, while the registry is gone."""
    topic = bed.topic("orders", partitions=2)
    chosen = random.Random(7)
    keys = itertools.count()
    sent = 0
    with running(bed, schema_registry) as declared:
        declared.register("left", topic=topic, **JSON_STREAM)
        for number in range(5):
            schema_id = register_orders(schema_registry, topic, number)
            count = chosen.randrange(1, 2_000)
            schema_registry.kill()
            bed.produce(topic, [framed(schema_id, order(next(keys))) for _ in range(count)])
            sent += count
            waiting = declared.wait_for("left", is_state(StreamState.RETRYING))
            assert "cannot be reached: Connection refused" in (waiting.trace or "")
            schema_registry.start()
            declared.wait_for("left", has_read(sent))

    assert [row["id"] for row in bed.rows("a")] == list(range(sent))
    assert bed.position("left").account.dead_lettered == 0
    assert bed.position("left").account.records == sent
