"""Keys and values of sample records are texts, JSON or base64."""

from typing import Any

import pytest
from pydantic import ValidationError

from braid.schemas import SampleRecord


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"value": "ä"}, "ä".encode()),
        (
            {"value": {"id": 7, "name": "ä", "prices": [1.5, None]}},
            '{"id":7,"name":"ä","prices":[1.5,null]}'.encode(),
        ),
        ({"value": []}, b"[]"),
        ({"value": ""}, b""),
        ({"value_base64": "/w=="}, b"\xff"),
        ({}, None),
    ],
)
def test_a_value_is_the_bytes_of_a_message(given: dict[str, Any], expected: bytes | None) -> None:
    assert SampleRecord.model_validate(given).value_bytes == expected
    as_key = {name.replace("value", "key"): value for name, value in given.items()}
    assert SampleRecord.model_validate(as_key).key_bytes == expected


@pytest.mark.parametrize(
    "given",
    [
        {"value": {"id": 2**64}},
        {"value": {"id": float("nan")}},
        {"value": ["\ud800"]},
        {"value": 7},
        {"value": {}, "value_base64": "e30="},
        {"key_base64": "?"},
    ],
    ids=str,
)
def test_what_a_stored_document_cannot_hold_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SampleRecord.model_validate(given)
