"""Aggregate functions as JSON, and as options of the table format."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.schemas import OPTION_OF_FIELD, AggregateSpec


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, {}),
        ({"distinct": True, "delimiter": ""}, {"distinct": "true", "list-agg-delimiter": ""}),
        ({"ignore_retract": False}, {"ignore-retract": "false"}),
        (
            {
                "nested_key": ["a", "b"],
                "nested_key_null_strategy": "error",
                "nested_sequence": ["s"],
                "count_limit": 3,
            },
            {
                "nested-key": "a,b",
                "nested-key-null-strategy": "error",
                "nested-sequence-field": "s",
                "count-limit": "3",
            },
        ),
        ({"timestamp_field": "t"}, {"ts-field": "t"}),
        ({"options": {"window": "7"}}, {"window": "7"}),
    ],
    ids=str,
)
def test_fields_become_the_options_of_the_format(
    declared: dict[str, Any], expected: dict[str, str]
) -> None:
    aggregate = AggregateSpec.model_validate({"function": "f", **declared})

    assert aggregate.format_options == {"aggregate-function": "f", **expected}


def test_every_field_has_its_option() -> None:
    fields = set(AggregateSpec.model_fields) - {"function", "options"}

    assert set(OPTION_OF_FIELD) == fields


@pytest.mark.parametrize(
    "declared",
    [
        {"distinct": "yes"},
        {"count_limit": 0},
        {"count_limit": "3"},
        {"nested_key": []},
        {"nested_key_null_strategy": "drop"},
        {"delimeter": ";"},
    ],
    ids=str,
)
def test_invalid_options_of_functions_are_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AggregateSpec.model_validate({"function": "f", **declared})
