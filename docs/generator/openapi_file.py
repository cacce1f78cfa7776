"""The OpenAPI document of the service as a file, which shows in a diff what a change does to the API."""

import json
from collections.abc import Mapping
from typing import Any, Final

PAGE: Final = "docs/reference/openapi.json"


def openapi_text(document: Mapping[str, Any]) -> str:
    """Return the document as JSON with its names in order and one value per line."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
