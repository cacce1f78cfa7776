"""Columns that are made from the schemas of Avro messages hold what the messages have."""

import json
import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings, strategies as st

from braid.formats.dead_letter import DeadLetterReason
from braid.formats.mapped_column import MappedColumn
from braid.lake import parse_type
from braid.records.new_fields.schema_delta import merge_deltas
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from braid.records.new_fields.value_shape import NOTHING, Shape, join_all, type_of, typed
from braid.records.record_reader import RecordReader
from tests.property.avro_messages import RandomSchema, encoded, random_value
from tests.unit.records.given_streams import given_plan, given_records, given_spec, given_table

MESSAGES = 40
SPEC = given_spec({"key": "BIGINT", "n": "INT"}, ordering=None)
SCHEMA = given_table(SPEC).schema
TYPES = [
    *("INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "BYTES", "STRING", "TIME(3)"),
    *("DECIMAL(5, 2)", "DECIMAL(20, 3)", "DECIMAL(38, 38)", "TIMESTAMP(3)", "TIMESTAMP(6)"),
    "TIMESTAMP(9) WITH LOCAL TIME ZONE",
]


@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 2**32))
def test_after_one_change_every_message_is_accepted_with_its_fields(seed: int) -> None:
    chance = random.Random(seed)
    made = RandomSchema(chance).schema
    fields = [{"name": "key", "type": "long"}, {"name": "n", "type": "int"}, *made["fields"]]
    schema = {**made, "fields": fields}
    values = [{**random_value(made, chance), "key": number, "n": 1} for number in range(MESSAGES)]
    records = given_records([encoded(schema, value) for value in values])
    format_ = {"type": "avro", "schema": json.dumps(schema)}
    plan = given_plan(SPEC, format=format_, on_new_field="evolve")

    reader = RecordReader(plan, SCHEMA)
    before = reader.read(records)
    wanted = reader.wanted_changes(before, UndeclaredFieldReader(plan=plan))
    needed = merge_deltas(wanted.values())
    added = [
        MappedColumn(name=path[-1], path=path, type=type_of(shape))
        for path, shape in needed.new.items()
    ]
    plan = replace(plan, columns=(*plan.columns, *added))
    reader = RecordReader(plan, SCHEMA)
    after = reader.read(records)
    wanted = reader.wanted_changes(after, UndeclaredFieldReader(plan=plan))

    assert not needed.wider
    # A decimal may have more digits than its schema says, and widens its column as in JSON.
    assert not any(delta.new for delta in wanted.values())
    known = {column.name for column in plan.columns}
    for row, value in enumerate(values):
        left_out = any(value[name] is not None for name in value.keys() - known)
        if row in after.faults:
            fault = after.faults[row]
            # A field that no column holds, such as a day of no year.
            assert left_out or fault.reason in (
                DeadLetterReason.WRONG_TYPE,
                DeadLetterReason.OUT_OF_RANGE,
            )
            continue
        assert not left_out
        for column in added:
            is_there = after.columns[column.name][row].is_valid
            assert is_there is (value[column.name] is not None)


def shapes() -> Any:
    leaves = st.sampled_from(TYPES).map(lambda sql: typed(parse_type(sql)))
    return st.lists(leaves | st.just(NOTHING), min_size=1, max_size=4)


@settings(max_examples=300, derandomize=True)
@given(shapes(), st.randoms(use_true_random=False))
def test_the_type_of_a_column_does_not_depend_on_the_order_of_schemas(
    found: list[Shape], chance: random.Random
) -> None:
    shuffled = chance.sample(found, len(found))

    assert join_all(found) == join_all(shuffled)
