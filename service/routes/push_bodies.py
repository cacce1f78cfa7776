"""Records in the body of a push, by its media type.

| media type | body |
|---|---|
| `application/json` | a record, or a list of records |
| `application/x-ndjson` | a record in each line |
| `application/cloudevents+json` | a CloudEvent in structured mode |
| `application/cloudevents-batch+json` | a list of CloudEvents |

With `?body=message` the body is the value of one record, whatever its media type.

A record is a `PushedRecord`. A CloudEvent becomes the Kafka record of CloudEvents' binary mode: its data is the value, its other
attributes are the headers `ce_<name>`, and its `partitionkey` is the key.
"""

import base64
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from braid.schemas.pushed_records import PushedRecord, PushedRecords
from braid.service.checked_body import checked

JSON: Final = "application/json"
JSON_LINES: Final = "application/x-ndjson"
CLOUD_EVENT: Final = "application/cloudevents+json"
CLOUD_EVENTS: Final = "application/cloudevents-batch+json"

_DATA: Final = ("data", "data_base64")
_REQUIRED: Final = ("id", "source", "specversion", "type")
_PARTITION_KEY: Final = "partitionkey"
_CONTENT_TYPE: Final = "datacontenttype"


class PushBody(StrEnum):
    """What the body of a push is."""

    RECORDS = "records"
    MESSAGE = "message"


def parse_message(body: bytes) -> tuple[PushedRecord, ...]:
    """Return the record whose value is a body."""
    return (PushedRecord(value_base64=base64.b64encode(body).decode()),)


def parse_records(body: bytes, media_type: str) -> tuple[PushedRecord, ...]:
    """Return the records of a body.

    Args:
        body: The body, UTF-8.
        media_type: Its media type, without parameters; an unknown one is read as JSON.

    Raises:
        RequestValidationError: The body is not JSON, or not valid.
        HTTPException: The body is not UTF-8, or has a number of too many digits.
    """
    arrange = _ARRANGE.get(media_type, _as_list)
    if media_type == JSON_LINES:
        body = _list_of_lines(body)
    found = checked(body, PushedRecords, arrange=arrange)
    assert isinstance(found, PushedRecords)
    return found.root


def _list_of_lines(body: bytes) -> bytes:
    """Return JSON lines as a JSON list, each in its own line, which an error names."""
    lines = body.splitlines()
    last = max((number for number, line in enumerate(lines) if line.strip()), default=-1)
    listed = [
        line + b"," if line.strip() and number < last else line for number, line in enumerate(lines)
    ]
    return b"[" + b"\n".join(listed) + b"]"


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


def _events(value: Any) -> Any:
    events = _as_list(value)
    return list(map(_record_of_event, events)) if isinstance(events, list) else events


def _record_of_event(event: Any) -> Any:
    """Return a CloudEvent as a record; an event that lacks a required attribute is returned as it is, and refused."""
    if not isinstance(event, Mapping) or any(name not in event for name in _REQUIRED):
        return event
    headers = {
        "content-type" if name == _CONTENT_TYPE else f"ce_{name}": _text(value)
        for name, value in event.items()
        if name not in _DATA and value is not None
    }
    record = {"headers": headers, "key": event.get(_PARTITION_KEY)}
    if "data_base64" in event:
        record["value_base64"] = event["data_base64"]
    elif "data" in event:
        record["value"] = event["data"]
    return record


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else json.dumps(value)


_ARRANGE: Final[Mapping[str, Callable[[Any], Any]]] = {
    JSON: _as_list,
    CLOUD_EVENT: _events,
    CLOUD_EVENTS: _events,
}
