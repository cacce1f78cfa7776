"""Rows as an Arrow IPC stream, for requests whose `Accept` names its media type; other requests get JSON."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
import pyarrow as pa

ARROW: Final = "application/vnd.apache.arrow.stream"
_JSON: Final = ("application/json", "application/*", "*/*")


def accepts_arrow(accept: str | None) -> bool:
    """Return whether a client prefers Arrow, or has no preference of JSON to it (RFC 9110, 12.5.1).

    >>> [
    ...     accepts_arrow(header)
    ...     for header in (None, "*/*", ARROW, f"application/json, {ARROW}", f"*/*, {ARROW};q=0.5")
    ... ]
    [False, False, True, True, False]
    """
    if accept is None or ARROW not in accept:
        return False
    weights = dict(_weight(part) for part in accept.split(","))
    of_json = next((weights[name] for name in _JSON if name in weights), 0.0)
    return weights.get(ARROW, 0.0) > 0 and weights[ARROW] >= of_json


def arrow_stream(rows: pa.Table, **metadata: Any) -> bytes:
    """Return rows as an IPC stream whose schema has JSON values as metadata.

    Args:
        rows: The rows.
        metadata: JSON values by key, such as the snapshot.
    """
    texts: Mapping[str, bytes] = {name: orjson.dumps(value) for name, value in metadata.items()}
    sink = pa.BufferOutputStream()
    schema = rows.schema.with_metadata(texts)
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(rows.cast(schema))
    body: bytes = sink.getvalue().to_pybytes()
    return body


def _weight(part: str) -> tuple[str, float]:
    """Return the media type of a part of `Accept`, and its weight; 0 if that is not a number."""
    name, *parameters = (text.strip().lower() for text in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return name, float(parameter[2:])
            except ValueError:
                return name, 0.0
    return name, 1.0
