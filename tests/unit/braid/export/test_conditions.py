"""Conditions of the command line: what stands in quotes is one value."""

import pytest
import typer

from braid.export.conditions import parse_conditions
from lake import Condition
from tests.unit.lake.merge.given_schemas import given_schema


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("v in a, b", ["a", "b"]),
        ("v in 'a,b', c", ["a,b", "c"]),
        ("v in ('a, (b)', 'it''s')", ["a, (b)", "it's"]),
        ("v in ' a '", [" a "]),
    ],
)
def test_a_comma_in_quotes_is_a_part_of_its_value(text: str, values: list[str]) -> None:
    schema = given_schema("k INT, v STRING")

    assert parse_conditions([text], schema) == [Condition(column="v", op="in", value=values)]


@pytest.mark.parametrize("text", ["v in 'a,b", "v in a,,b", "v in 'a' b, c", "v in", "v in ()"])
def test_a_list_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(typer.Exit):
        parse_conditions([text], given_schema("k INT, v STRING"))


@pytest.mark.parametrize("text", ["v = 'a", "v = '", "v != 'it's'", "v = 'a' or 'b'"])
def test_a_quote_that_is_left_open_is_refused(text: str) -> None:
    with pytest.raises(typer.Exit) as refused:
        parse_conditions([text], given_schema("k INT, v STRING"))

    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "value"), [("v = ''", ""), ("v = 'it''s'", "it's"), ("v = it's", "it's")]
)
def test_a_quote_inside_of_a_value_is_a_part_of_it(text: str, value: str) -> None:
    schema = given_schema("k INT, v STRING")

    assert parse_conditions([text], schema) == [Condition(column="v", op="=", value=value)]
