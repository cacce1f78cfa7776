"""Times of rows have the digits of their columns, whatever they are read from; so has a key, by which its row is found."""

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest

from braid.formats.key_values import parse_key
from braid.records.record_columns import HEADERS
from braid.records.record_reader import ReadRecords, RecordReader
from tests.unit.formats.avro.test_reader import encoded
from tests.unit.formats.protobuf.orders import NAME, order_set
from tests.unit.formats.protobuf.test_reader import Order
from tests.unit.records.given_streams import given_plan, given_records, given_spec, given_table

TEXT = "2026-01-02T03:04:05.678912345"
MICROS = 1_767_323_045_678_912
SECOND = dt.datetime.fromisoformat("2026-01-02T03:04:05")
AVRO = {
    "type": "record",
    "name": "M",
    "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}],
}
FORMATS: dict[str, tuple[Any, bytes, dict[str, Any]]] = {
    "json": ("json", json.dumps({"at": TEXT}).encode(), {}),
    "json, a form": ("json", b'{"at": "2026-01-02 03:04:05.678+01:00"}', {}),
    "csv": ({"type": "csv", "fields": ["at"]}, TEXT.encode(), {}),
    "raw": ("raw", TEXT.encode(), {}),
    "avro": (
        {"type": "avro", "schema": json.dumps(AVRO)},
        encoded(AVRO, {"at": dt.datetime.fromtimestamp(MICROS / 10**6, dt.UTC)}),
        {},
    ),
    "protobuf": (
        {"type": "protobuf", "descriptor_set": order_set(), "message": NAME},
        Order(at={"seconds": MICROS // 10**6, "nanos": 678_912_345}).SerializeToString(),
        {},
    ),
    "debezium": (
        {"type": "debezium", "database": "mysql"},
        json.dumps({"op": "c", "before": None, "after": {"at": TEXT + "Z"}}).encode(),
        {},
    ),
    "epoch": ("json", b'{"at": %d}' % MICROS, {"time_format": "epoch_us"}),
    "pattern": (
        "json",
        b'{"at": "02.01.2026 03:04:05.678"}',
        {"time_format": "dd.MM.yyyy HH:mm:ss.SSS"},
    ),
    "expression": (
        "json",
        json.dumps({"t": TEXT}).encode(),
        {"expression": "CAST(t AS TIMESTAMP)"},
    ),
    "header": ("json", b"{}", {"source": "header", "path": "at"}),
    "timestamp": ("json", b"{}", {"source": "timestamp"}),
    "key": ("json", b"{}", {"source": "key", "path": "at"}),
}


def read(format_: Any, value: bytes, column: dict[str, Any], **columns: str) -> ReadRecords:
    types = {"id": "BIGINT", "at": "TIMESTAMP(0)", **columns}
    spec = given_spec(types, ordering=None)
    mapped = [{"column": "id", "source": "offset"}, {"column": "at", **column}]
    fields = {"fields": {"t": "STRING"}} if "expression" in column else {}
    deletes = {"on_delete": "ignore"} if "debezium" in str(format_) else {}
    plan = given_plan(spec, columns=mapped, format=format_, **fields, **deletes)
    key = json.dumps({"at": TEXT}).encode()
    records = given_records([value], keys=[key], headers=[("at", TEXT.encode())])
    return RecordReader(plan, given_table(spec).schema).read(records)


@pytest.mark.parametrize("case", FORMATS)
def test_a_time_has_the_digits_of_its_column(case: str) -> None:
    format_, value, column = FORMATS[case]

    found = read(format_, value, column)

    assert not len(found.faults)
    hours = 1 if case == "json, a form" else 0
    assert found.columns["at"].to_pylist() == [SECOND - dt.timedelta(hours=hours)]


NESTED: list[tuple[str, Any, Any]] = [
    ("ARRAY<TIMESTAMP(1)>", [TEXT, None], [SECOND.replace(microsecond=600_000), None]),
    ("MAP<STRING, TIME(0)>", {"x": "03:04:05.678"}, [("x", dt.time(3, 4, 5))]),
    ("ROW<t TIMESTAMP(5)>", {"t": TEXT}, {"t": SECOND.replace(microsecond=678_910)}),
]


@pytest.mark.parametrize(("sql", "value", "expected"), NESTED)
def test_times_inside_of_values_have_the_digits_of_their_types(
    sql: str, value: Any, expected: Any
) -> None:
    found = read("json", json.dumps({"at": value}).encode(), {}, at=sql)

    assert found.columns["at"].to_pylist() == [expected]


def test_the_row_of_a_key_is_found_by_what_is_shown_of_it() -> None:
    spec = given_spec({"at": "TIMESTAMP(0)", "a": "STRING"}, ordering=None)
    table = given_table(spec)
    reader = RecordReader(given_plan(spec), table.schema)

    found = reader.read(given_records([{"at": TEXT, "a": "x"}, {"at": TEXT[:-5], "a": "y"}]))

    key = parse_key(table.schema, [("at", "2026-01-02T03:04:05")])
    assert found.columns["at"].to_pylist() == [key["at"], key["at"]]


def test_rows_of_one_change_whose_keys_are_equal_once_cut_are_one() -> None:
    spec = given_spec({"at": "TIMESTAMP(0)", "a": "STRING"}, ordering=None, deletes="remove_row")
    plan = given_plan(spec, format={"type": "maxwell"}, on_delete="remove_row")
    old, data = {"at": "2026-01-02 03:04:05.1"}, {"at": "2026-01-02 03:04:05.2", "a": "x"}
    event = {"database": "d", "table": "t", "type": "update", "ts": 1, "data": data, "old": old}

    found = RecordReader(plan, given_table(spec).schema).read(given_records([event]))

    assert found.is_delete.tolist() == [True, False]
    assert found.is_replaced is not None
    assert found.is_replaced.tolist() == [True, False]


@pytest.mark.parametrize(
    ("where", "source"),
    [("at = '{}'", "value"), ("header(at) = '{}'", "header"), ("key(at) = '{}'", "key")],
)
def test_a_condition_is_about_the_value_of_the_column(where: str, source: str) -> None:
    spec = given_spec({"id": "BIGINT", "at": "TIMESTAMP(0)"}, ordering=None)
    columns = [{"column": "id", "source": "offset"}, {"column": "at", "source": source}]
    if source != "value":
        columns[1]["path"] = "at"
    text = "2026-01-02T03:04:05"
    plan = given_plan(spec, columns=columns, where=where.format(text))
    values = [{"at": TEXT}, {"at": text}, {"at": "2026-01-02T03:04:06"}]
    batch = given_records(values, keys=[json.dumps(value).encode() for value in values])
    headers = [[{"key": "at", "value": value["at"].encode()}] for value in values]
    field = batch.schema.field(HEADERS)
    batch = batch.set_column(
        batch.schema.get_field_index(HEADERS), field, pa.array(headers, field.type)
    )

    found = RecordReader(plan, given_table(spec).schema).read(batch)

    assert found.columns["at"].to_pylist() == [SECOND, SECOND]
    assert found.left_out == 1


def test_an_expression_sees_the_value_of_the_column() -> None:
    spec = given_spec({"at": "TIMESTAMP(1)", "ms": "BIGINT"}, ordering=None)
    columns = [{"column": "at"}, {"column": "ms", "expression": 'epoch_ms("at")'}]
    reader = RecordReader(given_plan(spec, columns=columns), given_table(spec).schema)

    found = reader.read(given_records([{"at": TEXT}]))

    assert found.columns["ms"].to_pylist() == [MICROS // 100_000 * 100]
