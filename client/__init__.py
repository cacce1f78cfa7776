"""Client of the HTTP service, synchronous and asynchronous. It needs the contracts and httpx alone.

    with Client("http://localhost:8080") as client:
        print(client.table("shop.orders").row({"id": 7}).row)

From the top down:

| module | what |
|---|---|
| `client` | clients, and their tables and streams; rows of many keys |
| `service_operations`, `table_operations`, `maintenance_operations`, `stream_operations`, `row_operations`, `explanation_operations`, `view_operations` | the operations of the API |
| `operation` | operations, defined once for both clients |
| `sending`, `retries` | requests over HTTP; when they are repeated |
| `answers`, `many_rows`, `keys` | answers from responses; rows of many keys, and data frames; keys as callers have them |
| `pages` | all pages of an answer that comes page by page |
| `errors` | errors by what a caller does about them |
"""

from braid.client.answers import OffsetsAnswer, RowAnswer, StreamAnswer, TableAnswer
from braid.client.client import (
    AsyncClient,
    AsyncStream,
    AsyncTable,
    AsyncView,
    Client,
    ClientSettings,
    Stream,
    Table,
    View,
)
from braid.client.errors import (
    AccessRefused,
    BraidError,
    Conflict,
    Expired,
    IndexNotFound,
    InvalidName,
    InvalidRequest,
    LimitExceeded,
    NoAnswer,
    NotFound,
    OperationNotFound,
    PreconditionFailed,
    Refused,
    RowNotFound,
    ScopeMissing,
    ServiceFailed,
    SnapshotNotFound,
    SnapshotNotReached,
    StreamNotFound,
    TableNotFound,
    TagNotFound,
    Unauthenticated,
    Unavailable,
    UnexpectedAnswer,
    ViewNotFound,
)
from braid.client.many_rows import ArrowRows
from braid.client.pages import async_pages, pages
from braid.client.retries import NO_RETRIES, Retries

__all__ = [
    "NO_RETRIES",
    "AccessRefused",
    "ArrowRows",
    "AsyncClient",
    "AsyncStream",
    "AsyncTable",
    "AsyncView",
    "BraidError",
    "Client",
    "ClientSettings",
    "Conflict",
    "Expired",
    "IndexNotFound",
    "InvalidName",
    "InvalidRequest",
    "LimitExceeded",
    "NoAnswer",
    "NotFound",
    "OffsetsAnswer",
    "OperationNotFound",
    "PreconditionFailed",
    "Refused",
    "Retries",
    "RowAnswer",
    "RowNotFound",
    "ScopeMissing",
    "ServiceFailed",
    "SnapshotNotFound",
    "SnapshotNotReached",
    "Stream",
    "StreamAnswer",
    "StreamNotFound",
    "Table",
    "TableAnswer",
    "TableNotFound",
    "TagNotFound",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedAnswer",
    "View",
    "ViewNotFound",
    "async_pages",
    "pages",
]
