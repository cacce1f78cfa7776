"""Types that cannot be read from JSON are refused before a record arrives."""

import pytest

from braid.lake import parse_type
from braid.registry.rules.json_types import unreadable_in_json


@pytest.mark.parametrize(
    "sql",
    [
        "MULTISET<INT>",
        "MAP<INT, STRING>",
        "ARRAY<MULTISET<INT>>",
        "ARRAY<MAP<DATE, INT>>",
    ],
)
def test_what_no_json_value_can_be_is_refused(sql: str) -> None:
    assert unreadable_in_json(parse_type(sql)) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "TINYINT",
        "TIMESTAMP(9)",
        "ARRAY<TINYINT>",
        "ARRAY<CHAR(3)>",
        "ARRAY<TIMESTAMP(9)>",
        "ARRAY<DECIMAL(10, 2)>",
        "MAP<STRING, ARRAY<BYTES>>",
        "MAP<STRING, BINARY(2)>",
    ],
)
def test_types_that_json_can_hold_are_accepted(sql: str) -> None:
    assert unreadable_in_json(parse_type(sql)) is None
