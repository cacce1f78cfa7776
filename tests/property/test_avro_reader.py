"""Avro messages are read alike vectorised and one by one, and one by one as fastavro reads them."""

import io
import json
import math
import random
from fractions import Fraction
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
from hypothesis import given, settings, strategies as st

from braid.formats.avro.exact_decoder import AvroValueError, decode_avro
from braid.formats.avro.reader import AvroReader
from braid.formats.avro.schema import parse_avro_schema
from braid.formats.native.values import Day, Moment, TimeOfDay
from tests.property.avro_messages import (
    RandomSchema,
    damaged,
    encoded,
    random_message,
    random_value,
    stored,
)
from tests.unit.formats.json.both_ways import fault_by_row, given_columns, plain

# From 32 messages on they are vectorised.
MESSAGES = 60


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 2**32))
def test_messages_are_read_alike_vectorised_and_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    made = RandomSchema(chance)
    columns = given_columns(made.columns)
    schema = parse_avro_schema(_text(made.schema))
    messages = [random_message(made.schema, chance, has_faults=True) for _ in range(MESSAGES)]
    for row in chance.sample(range(MESSAGES), 8):
        messages[row] = damaged(messages[row], chance)
    reader = AvroReader(schema, columns)

    together = reader.read(pa.array(messages, pa.binary()))

    for array in together.arrays:
        array.validate(full=True)
    for row, message in enumerate(messages):
        alone = reader.read(pa.array([message], pa.binary()))
        assert fault_by_row(together).get(row) == fault_by_row(alone).get(0)
        for one, array in zip(alone.arrays, together.arrays, strict=True):
            assert repr(plain(array.slice(row, 1))) == repr(plain(one))


@settings(max_examples=25, derandomize=True)
@given(st.integers(0, 2**32))
def test_every_message_is_what_fastavro_reads(seed: int) -> None:
    chance = random.Random(seed)
    made = RandomSchema(chance)
    schema = parse_avro_schema(_text(made.schema))
    parsed = fastavro.parse_schema(stored(made.schema))
    for _ in range(10):
        message = random_message(made.schema, chance)

        found = decode_avro(message, schema)

        expected = fastavro.schemaless_reader(io.BytesIO(message), parsed, None)
        assert _same(found, expected, made.schema)


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32))
def test_a_damaged_message_is_refused_or_a_message_of_the_same_bytes(seed: int) -> None:
    chance = random.Random(seed)
    made = RandomSchema(chance)
    schema = parse_avro_schema(_text(made.schema))
    message = damaged(encoded(made.schema, random_value(made.schema, chance)), chance)
    try:
        decode_avro(message, schema)
    except AvroValueError:
        return
    source = io.BytesIO(message)
    fastavro.schemaless_reader(source, fastavro.parse_schema(stored(made.schema)), None)
    assert source.tell() == len(message)


def _text(schema: Any) -> str:
    return str(json.dumps(schema))


def _same(found: Any, expected: Any, schema: Any) -> bool:
    """Return whether a native value is the one that is stored."""
    if isinstance(schema, list):
        return any(_same(found, expected, branch) for branch in schema)
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = None if isinstance(schema, str) else schema.get("logicalType")
    if kind == "null" or expected is None:
        return found is None and expected is None and kind == "null"
    match kind:
        case "record":
            parts = {field["name"]: field["type"] for field in schema["fields"]}
            return isinstance(found, dict) and all(
                _same(found[name], expected[name], part) for name, part in parts.items()
            )
        case "array":
            return len(found) == len(expected) and all(
                _same(one, other, schema["items"])
                for one, other in zip(found, expected, strict=True)
            )
        case "map":
            return list(found) == list(expected) and all(
                _same(found[key], expected[key], schema["values"]) for key in found
            )
        case "float" | "double":
            is_nan = isinstance(found, float | np.float32) and math.isnan(found)
            return math.isnan(expected) if is_nan else bool(found == expected)
        case _ if logical == "decimal":
            unscaled = int.from_bytes(expected, "big", signed=True)
            return bool(Fraction(found) * 10 ** schema["scale"] == unscaled)
        case _ if logical == "date":
            return bool(found == Day(expected))
        case _ if logical is not None:
            unit = {"millis": 10**6, "micros": 10**3, "nanos": 1}[logical.rpartition("-")[2]]
            if logical.startswith("time-"):
                return bool(found == TimeOfDay(expected * unit))
            return bool(found == Moment(expected * unit, logical.startswith("local")))
        case _:
            return type(found) is type(expected) and bool(found == expected)
