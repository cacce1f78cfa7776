"""Records in the body of a push, by its media type."""

import json
from typing import Any

import pytest
from fastapi.exceptions import HTTPException, RequestValidationError

from braid.service.routes.push_bodies import (
    CLOUD_EVENT,
    CLOUD_EVENTS,
    JSON,
    JSON_LINES,
    parse_records,
)

RECORD = {"key": "7", "value": {"id": 7}, "headers": {"source": "till"}, "timestamp_ms": 5}
EVENT = {
    "id": "e1",
    "source": "/till/4",
    "specversion": "1.0",
    "type": "sale",
    "datacontenttype": "application/json",
    "partitionkey": "7",
    "sequence": 3,
    "data": {"id": 7},
}


def parts(body: Any, media_type: str) -> list[tuple[bytes | None, bytes | None, dict[str, str]]]:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [
        (one.key_bytes, one.value_bytes, dict(one.headers))
        for one in parse_records(text, media_type)
    ]


def test_json_is_a_record_or_a_list() -> None:
    expected = (b"7", b'{"id":7}', {"source": "till"})

    assert parts(RECORD, JSON) == [expected]
    assert parts([RECORD, RECORD], JSON) == [expected] * 2
    assert parse_records(json.dumps(RECORD).encode(), JSON)[0].timestamp_ms == 5


def test_each_line_is_a_record() -> None:
    lines = b'{"value": "a"}\n\n{"key_base64": "AP8=", "value_base64": "AQ=="}\r\n'

    assert parts(lines, JSON_LINES) == [(None, b"a", {}), (b"\x00\xff", b"\x01", {})]


def test_an_event_becomes_the_record_of_binary_mode() -> None:
    headers = {
        "ce_id": "e1",
        "ce_source": "/till/4",
        "ce_specversion": "1.0",
        "ce_type": "sale",
        "ce_partitionkey": "7",
        "ce_sequence": "3",
        "content-type": "application/json",
    }
    expected = (b"7", b'{"id":7}', headers)

    assert parts(EVENT, CLOUD_EVENT) == [expected]
    assert parts([EVENT], CLOUD_EVENTS) == [expected]


def test_the_data_of_an_event_can_be_bytes() -> None:
    event = {name: EVENT[name] for name in ("id", "source", "specversion", "type")}

    [(key, value, _)] = parts(event | {"data_base64": "AQI="}, CLOUD_EVENT)

    assert (key, value) == (None, b"\x01\x02")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        ("text", JSON),
        ([{"value": "a", "value_base64": "AQ=="}], JSON),
        ([{"values": 1}], JSON),
        ([{"value_base64": "?"}], JSON),
        ([{}] * 1001, JSON),
        (b'{"value": "a"}\n{', JSON_LINES),
        ({"type": "sale", "data": {}}, CLOUD_EVENT),
        (7, CLOUD_EVENTS),
    ],
)
def test_other_bodies_are_refused(body: Any, media_type: str) -> None:
    with pytest.raises(RequestValidationError):
        parts(body, media_type)


def test_a_body_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(HTTPException, match="UTF-8"):
        parse_records(b'{"value": "\xff"}', JSON)
