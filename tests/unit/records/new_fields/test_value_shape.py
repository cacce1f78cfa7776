"""The join of the shapes of JSON values, which does not depend on their order."""

import json
from itertools import permutations
from typing import Any

import pytest

from braid.formats.json.message import read_message
from braid.records.new_fields.value_shape import (
    join_all,
    shape_from_json,
    shape_of,
    shape_to_json,
    type_of,
)


def common_type(*texts: str) -> str:
    """The type of values, the same in every order and after a way through JSON."""
    shapes = [shape_of(read_message(text.encode())) for text in texts]
    joined = [join_all(order) for order in permutations(shapes)]
    types = {str(type_of(shape_from_json(shape_to_json(shape)))) for shape in joined}
    # Fields of objects come in the order of the records.
    assert len({"".join(sorted(text)) for text in types}) == 1
    return str(type_of(joined[0]))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["true", "false"], "BOOLEAN"),
        (["1", "-9007199254740992"], "BIGINT"),
        (["1", "9223372036854775807"], "BIGINT"),
        (["1", "9223372036854775808"], "DECIMAL(38, 0)"),
        (["9" * 38], "DECIMAL(38, 0)"),
        (["9" * 39], "STRING"),
        (["9" * 2000], "STRING"),
        (["1.5", "1e3", "1"], "DOUBLE"),
        (["1.50"], "DOUBLE"),
        (["NaN", "-Infinity"], "DOUBLE"),
        (["1e999"], "STRING"),
        (["0.12345678901234567890"], "STRING"),
        (["1.5", "9007199254740993"], "STRING"),
        (["1.5", "1", "9007199254740993"], "STRING"),
        (["1", '"x"'], "STRING"),
        (["true", "1"], "STRING"),
        (["null", "1"], "BIGINT"),
        (["null"], "STRING"),
        (["[1, 2.5]"], "ARRAY<DOUBLE>"),
        (["[]", "[null, 1]"], "ARRAY<BIGINT>"),
        (["[]"], "ARRAY<STRING>"),
        (["[]", "{}"], "STRING"),
        (["{}"], "STRING"),
        (['{"a": null}'], "STRING"),
        (['{"a": 1}', '{"a": 1.5, "b": "x"}'], "ROW<`a` DOUBLE, `b` STRING>"),
        (['[{"a": 1}, {"b": [true]}]'], "ARRAY<ROW<`a` BIGINT, `b` ARRAY<BOOLEAN>>>"),
        (['{"a": 1}', '{"A": 1}'], "STRING"),
        (['{"a-b": 1}'], "STRING"),
        (['{"a": 1, "a": 2}'], "STRING"),
        (['{"a": 1}', "1"], "STRING"),
    ],
)
def test_the_join_of_values(texts: list[str], expected: str) -> None:
    assert common_type(*texts) == expected


def test_values_nested_too_deep_are_texts() -> None:
    nested: Any = 1
    for _ in range(12):
        nested = [nested]

    assert common_type(json.dumps(nested)) == "ARRAY<" * 8 + "STRING" + ">" * 8
