"""Writer of values as JSON text: for the records of Avro files, and for the lines of the reject file.

Decimals become texts with all their digits, bytes become base64, and dates and times ISO 8601. NaN and infinities
are written without quotes in records, whose reader accepts them as numbers, and as texts in the reject file, which
is valid JSON.
"""

import base64
import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID


def json_text(value: Any) -> str:
    """Return a value as JSON on one line; what JSON and the list above do not have, as the text that Python shows.

    Example:
        >>> json_text({"id": 1, "paid": Decimal("1.50"), "seal": b"x", "weight": float("nan")})
        '{"id": 1, "paid": "1.50", "seal": "eA==", "weight": NaN}'
    """
    return json.dumps(value, default=_plain, ensure_ascii=False)


def strict_json_text(value: Any) -> str:
    """Return a value as `json_text` does, but NaN and infinities as texts, so that it is JSON by RFC 8259.

    Example:
        >>> strict_json_text({"weight": float("nan"), "heights": [1.5, float("-inf")]})
        '{"weight": "NaN", "heights": [1.5, "-Infinity"]}'
    """
    return json_text(_without_names(value))


def _without_names(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return json.dumps(value)
        case dict():
            return {name: _without_names(item) for name, item in value.items()}
        case list() | tuple():
            return [_without_names(item) for item in value]
        case _:
            return value


def _plain(value: object) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal() | UUID() | timedelta():
            return str(value)
        case _:
            return repr(value)
