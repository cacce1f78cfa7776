"""Rows of many keys: the keys in parts that one request may have, and the answers joined. Pure.

All parts are read from one state: the first part's snapshot is that of the others, unless the caller names a state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx
import orjson
import pyarrow as pa

from braid.client.answers import as_model
from braid.schemas import SnapshotInfo
from braid.schemas.api import KEYS_MAX, WideRows

ARROW: Final = "application/vnd.apache.arrow.stream"
ACCEPT: Final = f"{ARROW}, application/json;q=0.5"
"""The `Accept` header of requests for data frames: a service that cannot answer in Arrow answers in JSON."""

FrameKind = Literal["arrow", "pandas", "polars"]
_STATES: Final = ("snapshot_id", "tag", "timestamp")
_FRESHNESS: Final = ("min_snapshot", "max_staleness_ms", "read_after")
_SNAPSHOT: Final = b"snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRows:
    """Rows as a table.

    Attributes:
        table: The rows that exist, in the order of the keys.
        snapshot: The snapshot that they were read from.
    """

    table: pa.Table
    snapshot: SnapshotInfo


def parts_of(keys: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Return keys in parts of at most 1,000; one empty part, if there are none."""
    return [keys[start : start + KEYS_MAX] for start in range(0, max(len(keys), 1), KEYS_MAX)]


def state_of_others(asked: Mapping[str, Any], snapshot: SnapshotInfo) -> dict[str, Any]:
    """Return the arguments of the other parts' requests, after the first part was read.

    Args:
        asked: The arguments of the first part's request.
        snapshot: The snapshot of its answer.
    """
    if any(asked.get(name) is not None for name in _STATES):
        return dict(asked)
    others = {name: value for name, value in asked.items() if name not in _FRESHNESS}
    return {**others, "snapshot_id": snapshot.id}


def joined(answers: Sequence[WideRows], *, count: int) -> WideRows:
    """Return the answers of all parts as one.

    Args:
        answers: The answers; the first one alone, if the table has no snapshot.
        count: The number of keys.
    """
    rows = [row for answer in answers for row in answer.rows]
    rows += [None] * (count - len(rows))
    return answers[0].model_copy(update={"rows": tuple(rows)})


def joined_tables(answers: Sequence[ArrowRows]) -> pa.Table:
    """Return the rows of all parts as one table."""
    # A column that was added after the snapshot is in the first part alone, where all its values are null.
    tables = [answer.table.replace_schema_metadata(None) for answer in answers]
    return pa.concat_tables(tables, promote_options="permissive")


def as_frame(table: pa.Table, kind: FrameKind) -> Any:
    """Return a table as a table of a library, which has to be installed."""
    match kind:
        case "arrow":
            return table
        case "pandas":
            return table.to_pandas()
        case "polars":
            import polars as pl  # noqa: PLC0415  # only those who ask for it need it

            return pl.from_arrow(table)


def as_arrow_rows(response: httpx.Response, keys: Sequence[Mapping[str, Any]]) -> ArrowRows:
    """Return an answer to a request for rows, in Arrow or in JSON, as a table with the columns of the key.

    In JSON, types that JSON does not have are texts, as the HTTP reference says.
    """
    if response.headers.get("content-type") == ARROW:
        table = pa.ipc.open_stream(response.content).read_all()
        snapshot = SnapshotInfo.model_validate(
            orjson.loads(table.schema.metadata[_SNAPSHOT]), extra="ignore"
        )
        return ArrowRows(table=table, snapshot=snapshot)
    answer = as_model(WideRows)(response)
    rows = [{**key, **row} for key, row in zip(keys, answer.rows, strict=True) if row is not None]
    return ArrowRows(table=pa.Table.from_pylist(rows), snapshot=answer.snapshot)
