"""Problem documents as defined by RFC 9457, with a closed set of codes and a list of the problems of single fields."""

from enum import StrEnum
from typing import Final

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from braid.schemas.contract import Contract
from braid.schemas.row import SnapshotInfo

JsonPath = tuple[str | int, ...]
"""Names and indexes from the root of a JSON document to one value in it."""


class ProblemCode(StrEnum):
    """The kind of a problem, for programs; titles and details are for people."""

    MALFORMED_REQUEST = "malformed_request"
    INVALID_REQUEST = "invalid_request"
    NOT_FOUND = "not_found"
    TABLE_NOT_FOUND = "table_not_found"
    STREAM_NOT_FOUND = "stream_not_found"
    ROW_NOT_FOUND = "row_not_found"
    INDEX_NOT_FOUND = "index_not_found"
    VIEW_NOT_FOUND = "view_not_found"
    SNAPSHOT_NOT_FOUND = "snapshot_not_found"
    TAG_NOT_FOUND = "tag_not_found"
    OPERATION_NOT_FOUND = "operation_not_found"
    SIGNATURE_REFUSED = "signature_refused"
    ORIGIN_REFUSED = "origin_refused"
    UNAUTHENTICATED = "unauthenticated"
    SCOPE_MISSING = "scope_missing"
    COLUMN_MASKED = "column_masked"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NOT_ACCEPTABLE = "not_acceptable"
    REQUEST_TIMEOUT = "request_timeout"
    TABLE_EXISTS = "table_exists"
    STREAM_EXISTS = "stream_exists"
    STREAM_NOT_STOPPED = "stream_not_stopped"
    STREAM_NOT_RUNNING = "stream_not_running"
    FEATURES_MISSING = "features_missing"
    SCHEMA_MISMATCH = "schema_mismatch"
    CONFLICT = "conflict"
    EXPIRED = "expired"
    PRECONDITION_FAILED = "precondition_failed"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    LIMIT_EXCEEDED = "limit_exceeded"
    HOST_REFUSED = "host_refused"
    TOO_MANY_REQUESTS = "too_many_requests"
    HEADERS_TOO_LARGE = "headers_too_large"
    UNSUPPORTED_FEATURE = "unsupported_feature"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    NOT_READY = "not_ready"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    SNAPSHOT_NOT_REACHED = "snapshot_not_reached"
    OVERLOADED = "overloaded"
    TOO_MANY_SUBSCRIPTIONS = "too_many_subscriptions"
    CORRUPT_DATA = "corrupt_data"
    INTERNAL_ERROR = "internal_error"


RETRYABLE_CODES: Final = frozenset(
    {
        ProblemCode.REQUEST_TIMEOUT,
        ProblemCode.TOO_MANY_REQUESTS,
        ProblemCode.TOO_MANY_SUBSCRIPTIONS,
        ProblemCode.STORAGE_UNAVAILABLE,
        ProblemCode.NOT_READY,
        ProblemCode.OVERLOADED,
    }
)
"""Problems that pass by themselves: the same request can succeed later."""


class FieldProblem(Contract):
    """One problem of a request.

    Attributes:
        pointer: RFC 6901 pointer into the request's body; None if the problem is not in the body.
        field: The field or parameter for people: `columns[2].type`, `primary_key`, `year`.
        value: The value that was found, as text; None if there was none.
        message: What is wrong and what was expected.
        hint: How to fix it.
    """

    pointer: str | None = Field(examples=["/columns/2/type"])
    field: str = Field(examples=["columns[2].type"])
    value: str | None = None
    message: str
    hint: str | None = None
    # `pointer` in parts, for code that maps a problem of a result to the request that caused it; not a
    # part of the JSON.
    path: SkipJsonSchema[JsonPath] = Field(default=(), exclude=True, repr=False)


class ProblemDocument(Contract):
    """The body of every answer that is an error (`application/problem+json`).

    Attributes:
        type: A URI reference of the kind of problem: `/problems/<code>`.
        title: The kind of problem in words; the same for every occurrence.
        status: The HTTP status.
        detail: The problem of this request in words.
        instance: The path of the request.
        code: The kind of problem, for programs.
        errors: All problems of the request, field by field.
        request_id: The request id, as in the header `x-request-id` and in the log.
        snapshot: The snapshot without the requested row; only for `row_not_found`.
    """

    # For the OpenAPI document, where the class's name is not useful.
    model_config = ConfigDict(title="Problem")

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: ProblemCode
    errors: tuple[FieldProblem, ...] = ()
    request_id: str
    snapshot: SnapshotInfo | None = Field(default=None, exclude_if=lambda found: found is None)
