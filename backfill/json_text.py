"""Values as JSON text: records of Avro files, and lines of the reject file.

Decimals are texts with all their digits, bytes base64, dates and times ISO 8601, NaN and infinities their names.
"""

import base64
import json
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
