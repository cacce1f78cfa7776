"""Rows as an Arrow IPC stream, for requests whose `Accept` names its media type; other requests get JSON."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
import pyarrow as pa

from braid.service.media_ranges import weight_in, weights_of

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"


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
    weights = weights_of(accept)
    of_json = weight_in(weights, JSON)
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
