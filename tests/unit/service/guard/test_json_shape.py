"""The shape of a JSON text equals the one that a parser finds."""

import json
import random
from typing import Any

import pytest

from braid.service.guard.json_shape import JsonShape, json_shape


def random_value(chance: random.Random, depth: int) -> Any:
    if depth == 0 or chance.random() < 0.3:
        return chance.choice([1, None, 'a"[{\\', "\\\\", "]},:", True, ""])
    if chance.random() < 0.5:
        return [random_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {f'{n}"\\': random_value(chance, depth - 1) for n in range(chance.randrange(4))}


def expected(value: Any) -> JsonShape:
    if not isinstance(value, list | dict):
        return JsonShape(depth=0, values=0)
    inner = [expected(v) for v in (value.values() if isinstance(value, dict) else value)]
    colons = len(value) if isinstance(value, dict) else 0
    return JsonShape(
        depth=1 + max((shape.depth for shape in inner), default=0),
        values=colons + max(len(value) - 1, 0) + sum(shape.values for shape in inner),
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_shape_is_that_of_the_parsed_value(seed: int) -> None:
    value = random_value(random.Random(seed), 6)

    assert json_shape(json.dumps(value).encode()) == expected(value)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("block", [1, 2, 7])
def test_the_shape_is_the_same_in_blocks_of_any_size(seed: int, block: int) -> None:
    value = random_value(random.Random(seed), 6)

    assert json_shape(json.dumps(value).encode(), block=block) == expected(value)


@pytest.mark.parametrize("slashes", range(6))
def test_a_quote_is_escaped_after_an_odd_number_of_backslashes(slashes: int) -> None:
    body = b'["' + b"\\" * slashes + b'", [["'

    assert json_shape(body).depth == (1 if slashes % 2 else 3)


@pytest.mark.parametrize("body", [b"", b"\\", b'"', b"]]]", b'"\\', b'{"a": "'])
def test_what_is_no_json_has_some_shape(body: bytes) -> None:
    assert json_shape(body).depth <= 1
