"""Undeclared fields of messages whose schema tells their types."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from braid.formats.message_types import message_types
from braid.formats.readers import message_reader
from braid.formats.schema_registry.schema_source import SchemaKind, SchemaSource
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.typed_field_reader import TypedFieldReader
from braid.records.new_fields.undeclared_field_reader import (
    UndeclaredFieldReader,
    UnrepresentableFieldError,
)
from braid.records.new_fields.value_shape import type_of
from braid.records.new_fields.wider_type import widened
from braid.schemas import AvroFormat, ProtobufFormat
from tests.property.avro_messages import encoded
from tests.support.given_schemas import GivenSchemas, framed
from tests.unit.formats.protobuf.orders import NAME, order_set
from tests.unit.records.given_streams import given_plan, given_spec


def record(name: str, **fields: Any) -> dict[str, Any]:
    listed = [{"name": field, "type": of} for field, of in fields.items()]
    return {"type": "record", "name": name, "fields": listed}


def logical(name: str, of: str, **more: int) -> dict[str, Any]:
    return {"type": of, "logicalType": name, **more}


class Bench:
    """A stream of Avro messages of one schema."""

    def __init__(
        self,
        schema: Any,
        *,
        columns: Mapping[str, str] | None = None,
        mapped: Any = None,
        **reader: Any,
    ) -> None:
        self.schema = schema
        declared = {"id": "BIGINT", **(columns or {"version": "INT"})}
        self.plan = given_plan(
            given_spec(declared, ordering=None), **({} if mapped is None else {"columns": mapped})
        )
        self.format = AvroFormat(schema=json.dumps(schema))
        types = message_types(self.format, None)
        assert types is not None
        fields = UndeclaredFieldReader(plan=self.plan, **reader)
        self.reader = TypedFieldReader(fields, types)
        self.messages = message_reader(self.format, self.plan.field_columns)

    def read(self, *, is_unfit: bool = False, **values: Any) -> SchemaDelta:
        payload = encoded(self.schema, values)
        return self.reader.read(payload, lambda: self.messages.tree(payload), is_unfit=is_unfit)

    def new(self, **values: Any) -> dict[str, str]:
        delta = self.read(**values)
        assert not delta.wider
        return types_of(delta)

    def wider(self, *, is_unfit: bool = False, **values: Any) -> dict[str, str]:
        delta = self.read(is_unfit=is_unfit, **values)
        assert not delta.new
        types = {column.name: column.type for column in self.plan.columns}
        return {name: str(widened(types[name], shape)) for name, shape in delta.wider.items()}

    def refusal(self, *, is_unfit: bool = False, **values: Any) -> str:
        with pytest.raises(UnrepresentableFieldError) as caught:
            self.read(is_unfit=is_unfit, **values)
        return str(caught.value)


def types_of(delta: SchemaDelta) -> dict[str, str]:
    # As the driver gets it.
    told = SchemaDelta.from_json(json.loads(json.dumps(delta.to_json())))
    assert told == delta
    return {".".join(path): str(type_of(shape)) for path, shape in told.new.items()}


@pytest.mark.parametrize(
    ("of", "sql"),
    [
        ("boolean", "BOOLEAN"),
        ("int", "INT"),
        ("long", "BIGINT"),
        ("float", "FLOAT"),
        ("double", "DOUBLE"),
        ("bytes", "BYTES"),
        ("string", "STRING"),
        ({"type": "fixed", "name": "f", "size": 3}, "BYTES"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "STRING"),
        (logical("uuid", "string"), "STRING"),
        (logical("decimal", "bytes", precision=12, scale=3), "DECIMAL(12, 3)"),
        (logical("decimal", "bytes", precision=39, scale=3), "STRING"),
        (logical("date", "int"), "DATE"),
        (logical("time-millis", "int"), "TIME(3)"),
        (logical("time-micros", "long"), "STRING"),
        (logical("timestamp-millis", "long"), "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        (logical("timestamp-micros", "long"), "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        (logical("timestamp-nanos", "long"), "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
        (logical("local-timestamp-micros", "long"), "TIMESTAMP(6)"),
        ({"type": "array", "items": ["null", "int"]}, "ARRAY<INT>"),
        ({"type": "map", "values": {"type": "array", "items": "long"}}, "MAP<STRING, ARRAY<BIGINT>>"),
        (record("R", a="int", b=["null", "string"]), "ROW<`a` INT, `b` STRING>"),
        (record("R", a="int", A="int"), "STRING"),
        (record("R"), "STRING"),
        (record("R", a=["null", "R"]), "STRING"),
        (record("R", a=record("S", b={"type": "array", "items": "R"})), "STRING"),
        (record("R", a=record("S", b={"type": "array", "items": "S"})), "ROW<`a` STRING>"),
        (["null", "int"], "INT"),
        (["int", "long", "null"], "BIGINT"),
        (["int", "double"], "DOUBLE"),
        (["long", "double"], "STRING"),
        (["int", "float"], "DOUBLE"),
        (["int", logical("decimal", "bytes", precision=5, scale=2)], "DECIMAL(12, 2)"),
        (["string", record("R", a="int")], "STRING"),
        ([record("R", a="int"), record("S", a="long", b="int")], "ROW<`a` BIGINT, `b` INT>"),
    ],
    ids=str,
)  # fmt: skip
def test_the_schema_gives_the_type_of_a_column(of: Any, sql: str) -> None:
    bench = Bench(record("M", id="long", version="int", new=of, always_null="null"))

    assert types_of(bench.reader.read(b"", dict, is_unfit=False)) == {"new": sql}


def test_a_field_becomes_a_column_whether_it_has_a_value_or_not() -> None:
    schema = record("M", id="long", version="int", x=record("X", tip=["null", "int"], y="int"))
    values = {"id": 1, "version": 1, "x": {"tip": None, "y": 1}}
    inside = [{"column": "id"}, {"column": "y", "path": "x.y"}]

    assert Bench(schema).new(**values) == {"x": "ROW<`tip` INT, `y` INT>"}
    bench = Bench(schema, columns={"y": "INT"}, mapped=inside)
    assert bench.new(**values) == {"version": "INT", "x.tip": "INT"}


NESTED = {
    "row": "ROW<n INT, deep ROW<x INT>>",
    "list": "ARRAY<ROW<n INT>>",
    "map": "MAP<STRING, ROW<n INT>>",
}


def test_rows_get_the_fields_that_they_lack() -> None:
    part = record("P", n="int", m=logical("date", "int"))
    schema = record(
        "M",
        id="long",
        row=["null", record("Q", n="int", deep=record("D", x="int", y=["null", "string"]))],
        list={"type": "array", "items": ["null", part]},
        map={"type": "map", "values": "P"},
    )
    empty: dict[str, Any] = {"id": 1, "row": None, "list": [], "map": {}}

    assert Bench(schema, columns=NESTED).wider(**empty) == {
        "row": "ROW<`deep` ROW<`y` STRING>>",
        "list": "ARRAY<ROW<`m` DATE>>",
        "map": "MAP<STRING, ROW<`m` DATE>>",
    }


def test_a_value_widens_its_column_as_in_json() -> None:
    bench = Bench(record("M", id="long", version="long"))

    assert bench.wider(id=1, version=2**40) == {}
    assert bench.wider(id=1, version=2**40, is_unfit=True) == {"version": "BIGINT"}


def test_a_value_and_a_field_widen_a_row_together() -> None:
    bench = Bench(
        record("M", id="long", row=record("R", n="long", at=logical("date", "int"))),
        columns={"row": "ROW<n INT>"},
    )

    found = bench.wider(id=1, row={"n": 2**40, "at": 0}, is_unfit=True)

    assert found == {"row": "ROW<`n` BIGINT, `at` DATE>"}


def test_only_messages_with_a_value_for_a_refused_field_are_refused() -> None:
    duration = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}
    bench = Bench(
        record(
            "M", id="long", version="int", took=["null", duration], Taken=["null", "int"], b="int"
        ),
        taken=["taken"],
        refused={"b": "it is refused"},
    )
    nothing: dict[str, Any] = {"id": 1, "version": 1, "took": None, "Taken": None}

    assert bench.refusal(**nothing, b=1).endswith(
        "field b is not declared and stays out: it is refused"
    )
    bench = Bench(bench.schema, taken=["taken"])
    assert bench.new(**nothing, b=1) == {"b": "INT"}
    assert bench.refusal(**{**nothing, "took": bytes(12)}, b=1).endswith(
        "no column can hold a duration"
    )
    assert "already has a column taken" in bench.refusal(**{**nothing, "Taken": 0}, b=1)


def test_fields_of_rows_are_refused_with_their_values() -> None:
    part = record("P", n="int", N=["null", "int"], m=["null", "int"])
    schema = record("M", id="long", list={"type": "array", "items": part}, row="P")
    columns = {"list": "ARRAY<ROW<n INT>>", "row": "ROW<n INT, m INT>"}
    bench = Bench(schema, columns=columns, refused={"list": "it is full"})
    plain = {"n": 1, "N": None, "m": None}

    assert bench.wider(id=1, list=[plain], row={**plain, "m": 1}) == {}
    assert "differs from the field n in case only" in bench.refusal(
        id=1, list=[plain], row={**plain, "N": 1}
    )
    assert "column list stays as it is: it is full" in bench.refusal(
        id=1, list=[plain, {**plain, "m": 1}], row=plain
    )


def test_the_last_round_refuses_every_new_field() -> None:
    bench = Bench(record("M", id="long", version="int", new=["null", "int"]), is_last=True)

    assert bench.new(id=1, version=1, new=None) == {}
    assert "too many new fields" in bench.refusal(id=1, version=1, new=5)


def test_a_type_of_very_many_parts_is_refused() -> None:
    schema: Any = "int"
    for depth in range(5):
        again = f"R{depth - 1}" if depth else "int"
        fields = {f"f{n}": ["null", again if n else schema] for n in range(9)}
        schema = record(f"R{depth}", **fields)
    bench = Bench(record("M", id="long", version="int", new=["null", schema]))

    assert bench.new(id=1, version=1, new=None) == {}
    assert "more than 5000 parts" in bench.refusal(id=1, version=1, new=dict.fromkeys(fields))


def typed_reader(
    declared: ProtobufFormat, schemas: SchemaSource | None = None, **columns: str
) -> TypedFieldReader:
    plan = given_plan(given_spec(columns, ordering=None))
    types = message_types(declared, schemas)
    assert types is not None
    return TypedFieldReader(UndeclaredFieldReader(plan=plan), types)


def test_every_kind_of_protobuf_has_a_type() -> None:
    declared = ProtobufFormat(descriptor_set=order_set(), message=NAME)
    found = typed_reader(declared, f_int64="BIGINT", f_bool="BOOLEAN").read(
        b"", dict, is_unfit=False
    )

    assert types_of(found) == {
        "f_double": "DOUBLE",
        "f_float": "FLOAT",
        "f_int32": "INT",
        "f_uint32": "BIGINT",
        "f_uint64": "DECIMAL(20, 0)",
        "f_sint32": "INT",
        "f_sint64": "BIGINT",
        "f_fixed32": "BIGINT",
        "f_fixed64": "DECIMAL(20, 0)",
        "f_sfixed32": "INT",
        "f_sfixed64": "BIGINT",
        "f_string": "STRING",
        "f_bytes": "BYTES",
        "state": "STRING",
        "item": "STRING",  # it contains itself
        "items": "ARRAY<STRING>",
        "numbers": "ARRAY<INT>",
        "at": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        "note": "STRING",
        "maybe": "INT",
        "card": "STRING",
        "cash": "BIGINT",
        "texts": "MAP<STRING, STRING>",
        "numbered": "MAP<STRING, STRING>",
        "flags": "MAP<STRING, STRING>",
    }


PROTO = """syntax = "proto3";
message Other { int64 id = 1; int32 version = 2; Part part = 3; }
message Part { repeated double sizes = 1; Other whole = 2; }
message Order { int64 id = 1; int32 version = 2; Mine mine = 3; message Mine { bool is_new = 1; } }
"""


def test_messages_of_several_types_have_fields_of_their_own() -> None:
    declared = ProtobufFormat(schema_registry="shop")
    schemas = GivenSchemas({1: SchemaKind.PROTOBUF}, text=PROTO)
    reader = typed_reader(declared, schemas, id="BIGINT", version="INT")

    def read(payload: bytes) -> dict[str, str]:
        return types_of(reader.read(payload, dict, is_unfit=False))

    assert read(framed(1, b"\0")) == {"part": "STRING"}
    assert read(framed(1, b"\2\4")) == {"mine": "ROW<`is_new` BOOLEAN>"}
    with pytest.raises(ValueError, match="no schema of id 2"):
        read(framed(2, b"\0"))
    with pytest.raises(ValueError, match="it has no message with the indexes"):
        read(framed(1, b"\2\x0a"))
    with pytest.raises(ValueError, match="ends within"):
        read(framed(1, b""))
