"""JSON responses without validation by the framework, for rows, their status, and their changes."""

from typing import Any

import orjson
from fastapi import Response


def json_response(body: Any) -> Response:
    """Return a response with a JSON value.

    Serialized here and not by the framework: building and validating models of many rows takes longer
    than reading the rows. The route's `response_model` documents the answer.
    """
    return Response(orjson.dumps(body), media_type="application/json")
