"""The fast decoder and the exact reader of JSON agree on every message, and so do both readers of times."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from braid.formats.json.message_reader import JsonReader
from braid.formats.times import time_array, time_value
from braid.lake import parse_type, to_arrow_type
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader
from tests.property.json_texts import (
    ATOMS,
    near_miss,
    random_columns,
    random_message,
    time_text,
    usual_text,
)
from tests.unit.formats.json.both_ways import fault_by_row, given_columns, plain, read_both_ways
from tests.unit.records.given_streams import given_plan, given_spec

MESSAGES = 40
PLAN = given_plan(given_spec({"id": "INT", "a": "INT"}, ordering=None))
TIMES = (
    "DATE",
    *(f"TIME({digits})" for digits in (0, 3)),
    *(f"TIMESTAMP({digits})" for digits in (0, 3, 6, 9)),
    *(f"TIMESTAMP({digits}) WITH LOCAL TIME ZONE" for digits in (3, 6, 9)),
)


@settings(max_examples=80, derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_messages_are_read_alike_fast_and_exactly(seed: int, finds_undeclared: bool) -> None:
    chance = random.Random(seed)
    columns = random_columns(chance)
    messages = [random_message(columns, chance) for _ in range(MESSAGES)]

    found = read_both_ways(columns, messages, finds_undeclared=finds_undeclared)

    for array in found.arrays:
        array.validate(full=True)
        faulty = array.filter(pa.array(found.faults.is_faulty))
        assert faulty.null_count == len(faulty)


@pytest.mark.parametrize("sql", ATOMS)
def test_single_values_are_read_alike_fast_and_exactly(sql: str) -> None:
    chance = random.Random(sql)
    columns = given_columns({"c": sql})
    for _ in range(60):
        value = near_miss(columns[0].type, chance)
        read_both_ways(columns, [f'{{"c":{value}}}'.encode()])


@pytest.mark.parametrize("sql", ATOMS)
@pytest.mark.parametrize("form", ["{}", "ARRAY<{}>", "MAP<STRING, {}>", "ROW<x {}>"])
def test_a_byte_that_is_not_utf8_is_a_fault_wherever_it_is(form: str, sql: str) -> None:
    value = b'"1\xff2"'
    whole = {"A": b"[%s]", "M": b'{"x":%s}', "R": b'{"x":%s}'}.get(form[0], b"%s") % value
    lines = [b'{"c":%s}' % whole, b'{"c":null}', b'{"c":%s}' % whole.replace(b"\xff", b"")]

    found = read_both_ways(given_columns({"c": form.format(sql)}), lines)

    assert found.faults[0].message.startswith("not UTF-8")
    assert 1 not in found.faults


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32))
def test_messages_are_read_alike_alone_and_in_a_batch(seed: int) -> None:
    chance = random.Random(seed)
    columns = random_columns(chance)
    messages = [random_message(columns, chance) for _ in range(10)]
    reader = JsonReader(columns)

    together = reader.read(pa.array(messages, pa.binary()))

    for row, message in enumerate(messages):
        alone = reader.read(pa.array([message], pa.binary()))
        assert fault_by_row(alone).get(0) == fault_by_row(together).get(row)
        for one, array in zip(alone.arrays, together.arrays, strict=True):
            assert repr(plain(one)) == repr(plain(array.slice(row, 1)))


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_no_undeclared_field_is_missed(seed: int, knows_others: bool) -> None:
    chance = random.Random(seed)
    columns = random_columns(chance)
    others = (("b",), ("o", "a")) if knows_others else ()
    plan = replace(PLAN, columns=tuple(columns), paths_of_other_streams=others)
    messages = [random_message(columns, chance) for _ in range(MESSAGES)]
    reader = JsonReader(columns, paths_of_other_streams=others, finds_undeclared=True)

    found = reader.read(pa.array(messages, pa.binary()))

    for row, message in enumerate(messages):
        if message is not None and row not in found.faults:
            undeclared = UndeclaredFieldReader(plan=plan).undeclared(reader.tree(message))
            assert not undeclared or row in found.with_undeclared


@settings(max_examples=300, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(TIMES))
def test_times_are_read_alike_one_by_one_and_as_an_array(seed: int, sql: str) -> None:
    chance = random.Random(seed)
    data_type = parse_type(sql)
    wanted = to_arrow_type(data_type)
    texts = [time_text(chance) for _ in range(chance.randint(1, 20))]

    found = time_array(pa.array(texts), data_type)

    assert found.type == wanted
    for text, value in zip(texts, found, strict=True):
        if value.is_valid:
            assert value == pa.array([time_value(text, data_type)], wanted)[0], text


@pytest.mark.parametrize("sql", TIMES)
def test_usual_times_are_decided_as_an_array(sql: str) -> None:
    chance = random.Random(sql)
    data_type = parse_type(sql)
    texts = [usual_text(data_type, chance).strip('"') for _ in range(50)]

    found = time_array(pa.array([None if text == "null" else text for text in texts]), data_type)

    assert found.null_count == texts.count("null")
