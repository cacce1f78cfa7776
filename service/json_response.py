"""JSON responses without validation by the framework, for rows, their explanations, and their changes."""

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel


def json_response(body: Any) -> Response:
    """Return a response with a JSON value.

    Serialized here and not by the framework: building and validating models of many rows takes longer
    than reading the rows. The route's `response_model` documents the answer.
    """
    return Response(orjson.dumps(body), media_type="application/json")


def model_response(model: BaseModel) -> Response:
    """Return a response with a large model, which is not built once more as the framework does."""
    return Response(model.model_dump_json(), media_type="application/json")
