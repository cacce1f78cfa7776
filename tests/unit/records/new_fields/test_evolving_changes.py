"""Streams of captured changes that add columns: their types, and which of them are kept."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, parse_messages
from braid.pipelines.kafka.cluster import KafkaCluster
from braid.pipelines.plan_changes.stream_evolver import RegistryEvolver
from braid.pipelines.sink.task_report import parse_report
from braid.pipelines.sink.write_task import WriteTask
from braid.records.new_fields.schema_delta import merge_deltas
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.record_reader import ReadRecords, RecordReader
from braid.records.stream_plan import StreamPlan, plan_stream
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.schemas import StreamDefinition, TableSpec
from tests.property.avro_messages import encoded
from tests.unit.formats.change_capture.given_changes import faults_of
from tests.unit.records.given_streams import given_origin, given_records

PLACEHOLDER = "__debezium_unavailable_value"
SEQUENCE = '["5","10"]'
RECORDED = (
    Path(__file__).parents[3] / "support" / "recorded_changes" / "postgresql_with_schemas.jsonl"
)
POSTGRESQL, MYSQL, ORACLE = "postgresql", "mysql", "oracle"


class Bench:
    """A registered stream of changes, whose table has a key and one column.

    It is of Debezium over a database, or of `canal` or `maxwell`.
    """

    def __init__(self, database: str, column: str = "total BIGINT", **declared: Any) -> None:
        name, sql = column.split(" ", 1)
        file_io, clock = MemoryFileIO(), ManualClock()
        self._catalog = Catalog("/w", file_io=file_io, clock=clock)
        self._registrar = Registrar(RegistryStore(file_io, "/w", clock), self._catalog, clock)
        table = {
            "columns": [{"name": "id", "type": "BIGINT"}, {"name": name, "type": sql}],
            "primary_key": ["id"],
            "sequence_groups": [{"name": "s", "columns": [name]}],
            "deletes": "clear_columns",
        }
        self._registrar.put_table("db", "t", TableSpec.model_validate(table))
        stream = {
            "topic": "t",
            "format": {"type": "debezium", "database": database, **declared}
            if database in (POSTGRESQL, MYSQL, ORACLE)
            else database,
            "partitioned_by_key": True,
            "on_new_field": "evolve",
        }
        definition = StreamDefinition.model_validate(stream)
        self.document = self._registrar.put_stream("db.t", "s", definition).document

    @property
    def plan(self) -> StreamPlan:
        spec = self.document.table
        schema = self._catalog.table("db.t").schema
        stream = self.document.streams["s"].spec
        return plan_stream(table="db.t", spec=spec, stream=stream, schema=schema)

    def evolved(self, *messages: bytes) -> ReadRecords:
        """Read messages, change the table for them, and read them again."""
        schema = self._catalog.table("db.t").schema
        records, reader = given_records(messages), RecordReader(self.plan, schema)
        fields = UndeclaredFieldReader(plan=self.plan, taken=tuple(schema.field_names))
        found = reader.read(records)
        delta = merge_deltas(reader.wanted_changes(found, fields).values())
        if delta:
            assert RegistryEvolver(registrar=self._registrar).evolve(self.plan, delta) == {}
        self.document = self._registrar.document("db.t")
        return RecordReader(self.plan, self._catalog.table("db.t").schema).read(records)

    def write(self, *messages: bytes) -> None:
        """Commit the rows of messages, the only ones of their topic."""
        task = WriteTask(
            plan=self.plan,
            table=self._catalog.table("db.t"),
            cluster=KafkaCluster(bootstrap_servers="127.0.0.1:1"),  # where nobody listens
            first_sequence_number=100,
            sequence_numbers=10,
            dead_letters_max=0,
            origin=given_origin(),
        )
        (output,) = task(iter([given_records(messages)]))
        (row,) = output.to_pylist()
        report = parse_report(row["messages"], row["report"])
        written = parse_messages(report.messages[0])
        self._catalog.table("db.t").committer().commit(written, commit_user="u")

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        found = self._catalog.table("db.t").scan().to_arrow().to_pylist()
        return [tuple(row[name] for name in names) for row in found]

    @property
    def added(self) -> dict[str, str]:
        return {one.name: one.type for one in self.document.table.columns[2:]}

    @property
    def kept(self) -> tuple[str, ...]:
        (group,) = self.document.table.sequence_groups
        return group.keep


class AvroBench(Bench):
    """A stream of events in Avro, whose rows have these fields besides `id` and `total`."""

    def __init__(
        self, database: str, fields: Mapping[str, Any], column: str = "total BIGINT"
    ) -> None:
        types = {"id": "long", "total": ["null", "long"], **fields}
        row = {
            "type": "record",
            "name": "Value",
            "fields": [{"name": name, "type": of} for name, of in types.items()],
        }
        images = [
            {"name": "before", "type": ["null", row]},
            {"name": "after", "type": ["null", "Value"]},
        ]
        fields_ = [*images, {"name": "op", "type": "string"}]
        self._schema = {"type": "record", "name": "Envelope", "fields": fields_}
        avro = {"type": "avro", "schema": json.dumps(self._schema)}
        super().__init__(database, column, messages=avro)

    def event(self, **row: Any) -> bytes:
        after = {"id": 1, "total": None} | row
        return encoded(self._schema, {"before": None, "after": after, "op": "u"})


def named(name: str, of: str, **more: Any) -> dict[str, Any]:
    return {"type": of, "connect.name": name, **more}


TIME, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
DECIMAL = named(CONNECT + "Decimal", "bytes", logicalType="decimal", precision=9, scale=2)
AT = datetime.fromisoformat("2026-01-02T03:04:05.678")
MS = 1_767_323_045_678
ZONED = "2026-01-02T03:04:05.678Z"
LTZ = "TIMESTAMP(6) WITH LOCAL TIME ZONE"


@pytest.mark.parametrize("times", [1, 50])
@pytest.mark.parametrize(
    ("of", "value", "sql", "expected"),
    [
        (named(TIME + "Date", "int"), 1, "DATE", date(1970, 1, 2)),
        (named(TIME + "Time", "int"), 1_500, "TIME(3)", time(0, 0, 1, 500_000)),
        (named(TIME + "MicroTime", "long"), 1_500_001, "BIGINT", 1_500_001),
        (named(TIME + "NanoTime", "long"), 1_500_001, "BIGINT", 1_500_001),
        (named(TIME + "Timestamp", "long"), MS, "TIMESTAMP(3)", AT),
        (named(TIME + "MicroTimestamp", "long"), MS * 1_000, "TIMESTAMP(6)", AT),
        (named(TIME + "NanoTimestamp", "long"), MS * 10**6, "TIMESTAMP(9)", AT),
        (named(TIME + "ZonedTimestamp", "string"), ZONED, LTZ, datetime.fromisoformat(ZONED)),
        (named(TIME + "ZonedTime", "string"), "03:04Z", "STRING", "03:04Z"),
        (named(TIME + "Year", "int"), 2026, "INT", 2026),
        (
            named(CONNECT + "Date", "int", logicalType="date"),
            1,
            "DATE",
            date(1970, 1, 2),
        ),
        (
            named(CONNECT + "Timestamp", "long", logicalType="timestamp-millis"),
            MS,
            "TIMESTAMP(3)",
            AT,
        ),
        (DECIMAL, b"\x04\xd2", "DECIMAL(9, 2)", "12.34"),
        (named("io.debezium.data.Json", "string"), "{}", "STRING", "{}"),
        (named("io.debezium.data.Bits", "bytes"), b"\x01", "BYTES", b"\x01"),
        ({"type": "array", "items": named(TIME + "Date", "int")}, [1], "ARRAY<INT>", [1]),
    ],
)
def test_new_columns_have_the_types_that_debezium_means(
    of: Any, value: Any, sql: str, expected: Any, times: int
) -> None:
    bench = AvroBench(MYSQL, {"new": ["null", of]})

    found = bench.evolved(*[bench.event(new=value), bench.event(new=None)] * times)

    assert faults_of(found) == {}
    assert (bench.added, bench.kept) == ({"new": sql}, ())
    read = found.columns["new"].to_pylist()[:2]
    assert [str(read[0]) if isinstance(expected, str) else read[0], read[1]] == [expected, None]


def test_texts_with_an_offset_stay_texts_where_the_database_stores_it() -> None:
    bench = AvroBench(ORACLE, {"new": named(TIME + "ZonedTimestamp", "string")})

    bench.evolved(bench.event(new=ZONED))

    assert bench.added == {"new": "STRING"}


@pytest.mark.parametrize("database", [POSTGRESQL, ORACLE])
def test_new_columns_whose_values_may_be_left_out_are_kept(database: str) -> None:
    new = {"note": ["null", "string"], "body": ["null", "bytes"], "n": "int", "at": "long"}
    bench = AvroBench(database, new)
    row: dict[str, Any] = {"n": 1, "at": 2}

    found = bench.evolved(
        bench.event(note=PLACEHOLDER, body=PLACEHOLDER.encode(), **row),
        bench.event(note="x", body=None, **row),
    )

    assert faults_of(found) == {}
    assert bench.kept == ("note", "body")
    assert {name: mask.to_pylist() for name, mask in found.missing.items()} == {
        "note": [True, False],
        "body": [True, False],
    }
    assert found.columns["note"].to_pylist() == [None, "x"]


def test_a_new_column_keeps_the_value_that_a_newer_change_leaves_out() -> None:
    bench = AvroBench(POSTGRESQL, {"note": ["null", "string"], "n": "int"})
    first, second = bench.event(note="large", n=1), bench.event(note=PLACEHOLDER, n=2)
    bench.evolved(first)

    bench.write(first)
    bench.write(first, second)
    assert bench.rows("id", "note", "n") == [(1, "large", 2)]

    bench.write(first, second, bench.event(note=None, n=3))
    assert bench.rows("id", "note", "n") == [(1, None, 3)]


def json_event(**row: Any) -> bytes:
    return json.dumps({"op": "u", "before": None, "after": {"id": 1} | row}).encode()


def test_a_placeholder_in_json_is_no_new_field_and_a_value_is() -> None:
    bench = Bench(POSTGRESQL)

    bench.evolved(json_event(note=PLACEHOLDER, n=1))
    assert (bench.added, bench.kept) == ({"n": "BIGINT"}, ())
    found = bench.evolved(json_event(note="x", tags=["a"]), json_event(note=PLACEHOLDER, tags=None))

    assert bench.added == {"n": "BIGINT", "note": "STRING", "tags": "ARRAY<STRING>"}
    assert bench.kept == ("note", "tags")
    assert found.missing["note"].to_pylist() == [False, True]
    assert found.missing["tags"].to_pylist() == [False, False]


def with_schema(types: Sequence[Mapping[str, Any]], **row: Any) -> bytes:
    image = {
        "type": "struct",
        "field": "after",
        "fields": [{"type": "int64", "field": "id"}, *types],
    }
    payload = {"op": "u", "before": None, "after": {"id": 1} | row}
    schema = {"type": "struct", "fields": [image]}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def struct(plain: str, name: str = "", **more: Any) -> dict[str, Any]:
    return {"type": plain, "field": "new", **({"name": name} if name else {}), **more}


PRECISE = {"scale": "2", "connect.decimal.precision": "9"}


@pytest.mark.parametrize(
    ("of", "value", "sql", "expected"),
    [
        (struct("int16"), 7, "INT", 7),
        (struct("int64"), 7, "BIGINT", 7),
        (struct("double"), 7, "DOUBLE", 7.0),
        (struct("boolean"), True, "BOOLEAN", True),
        (struct("string"), "x", "STRING", "x"),
        (struct("bytes"), "eA==", "BYTES", b"x"),
        (struct("int32", TIME + "Date"), 1, "DATE", date(1970, 1, 2)),
        (struct("int64", TIME + "MicroTime"), 1, "BIGINT", 1),
        (struct("int64", TIME + "MicroTimestamp"), MS * 1_000, "TIMESTAMP(6)", AT),
        (struct("int64", CONNECT + "Timestamp"), MS, "TIMESTAMP(3)", AT),
        (struct("string", TIME + "ZonedTimestamp"), ZONED, LTZ, datetime.fromisoformat(ZONED)),
        (
            struct("bytes", CONNECT + "Decimal", parameters=PRECISE),
            "BNI=",
            "DECIMAL(9, 2)",
            "12.34",
        ),
        (
            struct("bytes", CONNECT + "Decimal", parameters={"scale": "2"}),
            "BNI=",
            "DECIMAL(38, 2)",
            "12.34",
        ),
        (struct("array", items={"type": "int64"}), [1], "ARRAY<BIGINT>", [1]),
        (struct("array", items={"type": "bytes"}), ["eA=="], "ARRAY<BYTES>", [b"x"]),
        (
            struct("map", keys={"type": "string"}, values={"type": "int32"}),
            {"a": 1},
            "MAP<STRING, INT>",
            [("a", 1)],
        ),
        (
            struct("map", keys={"type": "int32"}, values={"type": "int32"}),
            [[1, 2]],
            "STRING",
            "[[1,2]]",
        ),
        (
            struct("struct", fields=[{"type": "int32", "field": "a"}]),
            {"a": 1},
            "ROW<`a` INT>",
            {"a": 1},
        ),
        (struct("unheard"), {"a": 1}, "STRING", '{"a":1}'),
    ],
)
def test_a_schema_around_an_event_tells_the_types_of_new_columns(
    of: Any, value: Any, sql: str, expected: Any
) -> None:
    bench = Bench(MYSQL)

    found = bench.evolved(with_schema([of], new=None), with_schema([of], new=value))

    assert faults_of(found) == {}
    assert bench.added == {"new": sql}
    first, second = found.columns["new"].to_pylist()
    assert (first, str(second) if sql.startswith("DECIMAL") else second) == (None, expected)


def test_a_null_makes_a_kept_column_where_a_schema_tells_its_type() -> None:
    bench = Bench(POSTGRESQL)

    bench.evolved(with_schema([struct("string")], new=None))

    assert (bench.added, bench.kept) == ({"new": "STRING"}, ("new",))


def test_a_schema_that_is_none_tells_no_types() -> None:
    for schema in (1, {"type": "struct"}, {"fields": [{"field": "after", "type": "string"}]}):
        bench = Bench(MYSQL)
        payload = {"op": "c", "after": {"id": 1, "n": 0.5, "none": None}}
        bench.evolved(json.dumps({"schema": schema, "payload": payload}).encode())
        assert bench.added == {"n": "DOUBLE"}


def recorded(topic: str) -> list[bytes]:
    """Return the events of a topic that Debezium has sent from a PostgreSQL server."""
    lines = RECORDED.read_text().splitlines()
    events = [event for event in map(json.loads, lines) if event["topic"] == topic]
    return [event["value"].encode() for event in events if event["value"] is not None]


def test_events_of_a_real_server_make_a_table_by_themselves() -> None:
    kinds, parts = Bench(POSTGRESQL), Bench(POSTGRESQL)

    found = kinds.evolved(*recorded("shop.public.kinds"))
    assert faults_of(found) == {}
    assert kinds.added == {
        "small": "INT",
        "whole": "INT",
        "price": "DECIMAL(12, 2)",
        "real_": "FLOAT",
        "double_": "DOUBLE",
        "is_open": "BOOLEAN",
        "name": "STRING",
        "day": "DATE",
        "clock": "BIGINT",
        "moment": "TIMESTAMP(6)",
        "moment_ms": "TIMESTAMP(3)",
        "instant": LTZ,
        "code": "STRING",
    }
    assert kinds.kept == ("name", "code")
    assert str(found.columns["price"][0].as_py()) == "12345.67"
    assert found.columns["moment"][0].as_py().isoformat() == "2026-03-01T12:34:56.789012"

    found = parts.evolved(*recorded("shop.public.parts"))
    assert faults_of(found) == {}
    assert parts.kept == ("body", "data", "tags", "details")
    # Changes that did not touch the large values have placeholders for them.
    assert {name: sum(mask.to_pylist()) for name, mask in found.missing.items()} == {
        "body": 2,
        "data": 3,
        "tags": 2,
        "details": 3,
    }


def test_values_that_their_schema_explains_are_no_reason_to_refuse_a_new_field() -> None:
    """As numbers and base64 they would not fit their columns, which are read by the schema of the event."""
    at = {"type": "int64", "name": TIME + "Timestamp", "field": "at"}
    price = {
        "type": "bytes",
        "name": CONNECT + "Decimal",
        "field": "at",
        "parameters": {"scale": "2"},
    }

    for column, of, value in (("at TIMESTAMP(3)", at, MS), ("at DECIMAL(9, 2)", price, "BNI=")):
        bench = Bench(MYSQL, column)
        found = bench.evolved(with_schema([of], at=value, n=1))
        assert (faults_of(found), list(bench.added)) == ({}, ["n"])


def test_a_wider_decimal_is_found_by_its_number() -> None:
    bench = Bench(MYSQL, "at DECIMAL(3, 2)", decimals="base64")

    found = bench.evolved(json_event(at="BNI=", n=1))

    assert faults_of(found) == {}
    assert bench.document.table.columns[1].type == "DECIMAL(38, 2)"
    assert [str(one) for one in found.columns["at"].to_pylist()] == ["12.34"]


def test_a_column_widens_beside_one_that_is_a_time_by_its_schema() -> None:
    at = {"at": named(TIME + "MicroTimestamp", "long"), "n": "long"}
    bench = AvroBench(MYSQL, at, "n INT")
    bench.evolved(bench.event(at=1, n=1))
    assert bench.added["at"] == "TIMESTAMP(6)"

    found = bench.evolved(bench.event(at=MS * 1_000, n=3_000_000_000))

    assert faults_of(found) == {}
    assert found.columns["n"].to_pylist() == [3_000_000_000]


def test_parts_of_unwrapped_events_are_no_new_fields() -> None:
    fields = {"id": "long", "total": "long", "name": "string", "__op": "string", "__x": "long"}
    listed = [{"name": name, "type": of} for name, of in fields.items()]
    schema = {"type": "record", "name": "Value", "fields": listed}
    avro = {"type": "avro", "schema": json.dumps(schema)}
    bench = Bench(POSTGRESQL, messages=avro, unwrapped=True)
    row = {"id": 1, "total": 1, "name": "a", "__op": "u", "__x": 1}

    found = bench.evolved(encoded(schema, row))

    assert faults_of(found) == {}
    assert (bench.added, bench.kept) == ({"name": "STRING"}, ("name",))


def canal(*rows: Mapping[str, Any], **types: str) -> bytes:
    named = {"mysqlType": {"id": "bigint(20)", **types}} if types else {}
    data = [{"id": "1", **row} for row in rows]
    return json.dumps({"type": "INSERT", "isDdl": False, "data": data, **named}).encode()


@pytest.mark.parametrize(
    ("of", "text", "sql", "expected"),
    [
        ("tinyint(1)", "2", "INT", 2),
        ("smallint(5) unsigned", "65535", "INT", 65_535),
        ("int(11)", "-7", "INT", -7),
        ("INT UNSIGNED", "4294967295", "BIGINT", 4_294_967_295),
        ("bigint(20)", "7", "BIGINT", 7),
        ("bigint(20) unsigned", str(2**64 - 1), "DECIMAL(20, 0)", str(2**64 - 1)),
        ("decimal(9,2)", "12.5", "DECIMAL(9, 2)", "12.50"),
        ("decimal", "12", "DECIMAL(10, 0)", "12"),
        ("decimal(65,30)", "1.5", "STRING", "1.5"),
        ("float", "1.5", "FLOAT", 1.5),
        ("double(8,3) unsigned zerofill", "1.5", "DOUBLE", 1.5),
        ("date", "2026-01-02", "DATE", date(2026, 1, 2)),
        ("datetime", "2026-01-02 03:04:05", "TIMESTAMP(3)", AT.replace(microsecond=0)),
        ("datetime(3)", "2026-01-02 03:04:05.678", "TIMESTAMP(3)", AT),
        ("timestamp(6)", "2026-01-02 03:04:05.678000", "TIMESTAMP(6)", AT),
        ("time", "-838:59:59", "STRING", "-838:59:59"),
        ("year(4)", "2026", "INT", 2026),
        ("varbinary(16)", "\x00\xff", "BYTES", b"\x00\xff"),
        ("longblob", "ab", "BYTES", b"ab"),
        ("varchar(10)", "x", "STRING", "x"),
        ("enum('int unsigned','b')", "b", "STRING", "b"),
        ("json", '{"a": 1}', "STRING", '{"a": 1}'),
        ("", "x", "STRING", "x"),
    ],
)
def test_new_columns_of_canal_have_the_types_of_mysql(
    of: str, text: str, sql: str, expected: Any
) -> None:
    bench = Bench("canal")

    found = bench.evolved(canal({"new": None}, {"id": "2", "new": text}, new=of))

    assert faults_of(found) == {}
    assert (bench.added, bench.kept) == ({"new": sql}, ())
    first, second = found.columns["new"].to_pylist()
    assert (first, str(second) if sql.startswith("DECIMAL") else second) == (None, expected)


def test_without_types_of_mysql_new_columns_of_canal_are_texts() -> None:
    for named in ({}, {"mysqlType": None}, {"mysqlType": "int"}, {"mysqlType": {"n": 4}}):
        bench = Bench("canal")
        event = {"type": "INSERT", "isDdl": False, "data": [{"id": "1", "n": "1"}], **named}
        assert faults_of(bench.evolved(json.dumps(event).encode())) == {}
        assert bench.added == {"n": "STRING"}


DECLARED = [
    ("a BOOLEAN", "1"),
    ("a DOUBLE", "1.5"),
    ("a DECIMAL(9, 2)", "1.5"),
    ("a DATE", "2026-01-02"),
    ("a TIMESTAMP(3)", "2026-01-02 03:04:05"),
    ("a BYTES", "\x00\xff"),
    ("a CHAR(1)", "x"),
    ("a ARRAY<INT>", "[1]"),
    ("a ROW<b INT>", '{"b": 1, "c": 2}'),
    ("a ARRAY<ROW<b INT>>", '[{"b": 1, "c": 2}]'),
    ("a MAP<STRING, ROW<b INT>>", '{"d": {"b": 1, "c": 2}}'),
    ("a ROW<b INT>", "null"),
]


@pytest.mark.parametrize(("column", "text"), DECLARED)
@pytest.mark.parametrize("types", [{}, {"n": "int"}])
def test_texts_of_canal_fit_their_columns_where_they_are_read(
    column: str, text: str, types: dict[str, str]
) -> None:
    bench = Bench("canal", column)

    found = bench.evolved(canal({"a": text, "n": "1"}, **types))

    assert faults_of(found) == {}
    assert bench.added == {"n": "INT" if types else "STRING"}
    assert bench.document.table.columns[1].type == column[2:]


@pytest.mark.parametrize(
    ("column", "text", "wider"),
    [
        ("a INT", "3000000000", "BIGINT"),
        ("a INT", "1.5", "DOUBLE"),
        ("a DECIMAL(3, 2)", "12.34", "DECIMAL(38, 2)"),
        ("a VARCHAR(1)", "xy", "STRING"),
        ("a VARBINARY(1)", "ab", "BYTES"),
        ("a ARRAY<INT>", "[3000000000]", "ARRAY<BIGINT>"),
        ("a ROW<b INT>", '{"b": 3000000000, "c": 1}', "ROW<`b` BIGINT>"),
        ("a MAP<STRING, INT>", '{"b": 3000000000}', "MAP<STRING, BIGINT>"),
    ],
)
def test_columns_of_canal_widen_for_what_their_texts_stand_for(
    column: str, text: str, wider: str
) -> None:
    bench = Bench("canal", column)

    found = bench.evolved(canal({"a": text}))

    assert faults_of(found) == {}
    assert bench.document.table.columns[1].type == wider


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("a BIGINT", "x"),
        ("a BIGINT", "1.5"),
        ("a BOOLEAN", "2"),
        ("a DATE", "x"),
        ("a BYTES", "Ā"),
        ("a ARRAY<INT>", "x"),
        ("a ARRAY<INT>", "[" * 100_000),
    ],
)
def test_a_text_that_no_wider_type_holds_refuses_its_record_and_changes_nothing(
    column: str, text: str
) -> None:
    bench = Bench("canal", column)

    found = bench.evolved(canal({"a": text, "n": "1"}))

    assert [one.partition(":")[0] for one in faults_of(found).values()] == ["wrong_type"]
    assert bench.added == {}


def test_values_of_maxwell_decide_as_those_of_json() -> None:
    bench = Bench("maxwell", "total INT")
    row = {"id": 1, "total": 3_000_000_000, "n": 1, "at": "2026-01-02 03:04:05"}

    found = bench.evolved(json.dumps({"type": "insert", "data": row}).encode())

    assert faults_of(found) == {}
    assert bench.added == {"n": "BIGINT", "at": "STRING"}
    assert bench.document.table.columns[1].type == "BIGINT"
