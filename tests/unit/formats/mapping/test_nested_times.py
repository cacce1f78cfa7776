"""Dates and times inside of nested values are read in their declared form, in messages of every format."""

import datetime as dt
import io
import json
import random
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.formats.mapped_column import MappedColumn, TimeFormat
from braid.formats.mapping.nested_times import NestedTimes, text_type
from braid.formats.message_reader import ReadMessages
from braid.formats.readers import message_reader
from braid.lake import parse_type, to_arrow_type
from braid.schemas import AvroFormat, CsvFormat, JsonFormat

AT = dt.datetime.fromisoformat("1970-01-01T00:00:01")


def read(sql: str, *messages: bytes, form: str = "epoch_ms", format_: Any = None) -> ReadMessages:
    column = MappedColumn(name="v", path=("v",), type=parse_type(sql), time_format=TimeFormat(form))
    reader = message_reader(format_ or JsonFormat(), [column])
    return reader.read(pa.array(messages, pa.binary()))


def json_of(value: Any) -> bytes:
    return json.dumps({"v": value}).encode()


@pytest.mark.parametrize(
    ("sql", "value", "expected"),
    [
        ("ARRAY<TIMESTAMP(3)>", [1000, None, "1000"], [AT, None, AT]),
        ("ARRAY<TIMESTAMP(3)>", [], []),
        ("MAP<STRING, DATE>", {"a": 1000, "b": None}, [("a", AT.date()), ("b", None)]),
        ("ROW<at TIMESTAMP(3), n INT>", {"at": 1000, "n": 7}, {"at": AT, "n": 7}),
        ("ROW<at TIMESTAMP(3), n INT>", {"n": 7}, {"at": None, "n": 7}),
        (
            "ARRAY<ROW<at ARRAY<TIMESTAMP(3)>, n INT>>",
            [{"at": [1000, None]}, None, {"n": 5}],
            [{"at": [AT, None], "n": None}, None, {"at": None, "n": 5}],
        ),
        ("ARRAY<INT>", [1], [1]),
    ],
)
def test_times_are_read_at_every_depth(sql: str, value: Any, expected: Any) -> None:
    found = read(sql, json_of(None), json_of(value), json_of(None), json_of(value))

    assert not len(found.faults)
    found.arrays[0].validate(full=True)
    assert found.arrays[0].to_pylist() == [None, expected, None, expected]


def test_an_unfit_text_is_the_fault_of_its_message() -> None:
    sql = "ROW<list ARRAY<TIMESTAMP(3)>, day DATE>"
    values = [{"list": [1000, "noon", "x"]}, {"list": [1000]}, {"day": 10**30}, {"list": 5}]

    found = read(sql, *map(json_of, values))

    assert [(row, found.faults[row].reason.value) for row in found.faults.rows] == [
        (0, "wrong_type"),
        (2, "out_of_range"),
        (3, "wrong_type"),
    ]
    assert found.faults[0].message == (
        'field v: found "noon", expected TIMESTAMP(3), written as epoch_ms for column v'
    )
    assert found.arrays[0][1].as_py() == {"list": [AT], "day": None}


def test_a_pattern_and_its_zone_hold_inside_too() -> None:
    column = MappedColumn(
        name="v",
        path=("v",),
        type=parse_type("ARRAY<TIMESTAMP(3)>"),
        time_format=TimeFormat("dd.MM.yyyy HH:mm", "Europe/Berlin"),
    )
    reader = message_reader(JsonFormat(), [column])

    found = reader.read(pa.array([json_of(["01.07.2026 12:00"])], pa.binary()))

    assert found.arrays[0].to_pylist() == [[dt.datetime.fromisoformat("2026-07-01T10:00")]]


def test_every_format_has_them() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "v", "type": {"type": "array", "items": ["null", "long"]}}],
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), {"v": [1000, None]})
    avro = AvroFormat(schema=json.dumps(schema))
    sql = "ARRAY<TIMESTAMP(3)>"

    assert read(sql, out.getvalue(), format_=avro).arrays[0].to_pylist() == [[AT, None]]
    # From 32 messages on they are vectorised.
    many = read(sql, *[out.getvalue()] * 40, format_=avro)
    assert many.arrays[0].to_pylist() == [[AT, None]] * 40
    lines = CsvFormat(fields=("v",))
    assert read(sql, b'"[1000, null]"', format_=lines).arrays[0].to_pylist() == [[AT, None]]


TYPES = [
    "ARRAY<ROW<d DATE, n INT>>",
    "MAP<STRING, ARRAY<DATE>>",
    "ROW<m MAP<STRING, DATE>, d DATE>",
]


def random_texts(data_type: Any, chance: random.Random) -> Any:
    """Return a value of the type with texts of days, and how it is read."""
    if chance.random() < 0.2:
        return None
    match data_type.root.value:
        case "DATE":
            return chance.choice(["0", "1", "-1", "7"])
        case "INT":
            return chance.choice([0, 5])
        case "ARRAY":
            return [random_texts(data_type.element, chance) for _ in range(chance.randrange(4))]
        case "MAP":
            items = range(chance.randrange(4))
            return [(f"k{n}", random_texts(data_type.value, chance)) for n in items]
        case _:
            return {f.name: random_texts(f.type, chance) for f in data_type.fields}


def as_days(value: Any) -> Any:
    match value:
        case str():
            return (
                value if value.startswith("k") else dt.date(1970, 1, 1) + dt.timedelta(int(value))
            )
        case list():
            return [as_days(item) for item in value]
        case tuple():
            return tuple(as_days(item) for item in value)
        case dict():
            return {name: as_days(item) for name, item in value.items()}
        case _:
            return value


@settings(max_examples=60, derandomize=True)
@given(st.sampled_from(TYPES), st.integers(0, 2**32), st.integers(0, 5))
def test_arrays_are_converted_wherever_they_begin(sql: str, seed: int, start: int) -> None:
    chance, data_type = random.Random(seed), parse_type(sql)
    values = [random_texts(data_type, chance) for _ in range(9)]
    texts = pa.array(values, to_arrow_type(text_type(data_type))).slice(start)

    array, unfit = NestedTimes(TimeFormat("epoch_days"), data_type).column(texts)

    array.validate(full=True)
    assert (array.type, unfit) == (to_arrow_type(data_type), {})
    assert array.to_pylist() == [as_days(value) for value in values[start:]]
