"""Errors of the client, by what a caller does about them.

BraidError
├── InvalidName               a name cannot be a part of an address; nothing was sent
├── NoAnswer                  the service cannot be reached, or has not answered in time
├── UnexpectedAnswer          the answer is not one of the API: another program answers at this address
└── Refused                   a problem document (RFC 9457); its code decides the class
├── InvalidRequest        change the request
│   └── LimitExceeded     send or ask for less
├── AccessRefused         ask the operators
│   ├── Unauthenticated   send a valid access token
│   └── ScopeMissing      send a token with the scope that the request needs
├── NotFound              correct the name
│   ├── TableNotFound
│   ├── StreamNotFound
│   └── RowNotFound       treat the row as absent
├── Conflict              the state of the table or stream forbids it now
│   ├── PreconditionFailed    read again, decide again
│   └── SnapshotNotReached    repeat it, or accept an older snapshot
├── Expired               start again from the newest state
├── Unavailable           repeat it later; the client has done so already, if the request allows it
└── ServiceFailed         give the request id to the operators
"""

from collections.abc import Mapping
from typing import Any, Final

from braid.schemas import FieldProblem, ProblemCode


class BraidError(Exception):
    """Any error of the client."""


class InvalidName(BraidError, ValueError):
    """A name cannot be a part of an address, such as one with a slash; nothing was sent."""


class NoAnswer(BraidError):
    """The service cannot be reached, or has not answered in time.

    Attributes:
        is_unsent: Whether the service has certainly not received the request.
    """

    def __init__(self, message: str, *, is_unsent: bool) -> None:
        super().__init__(message)
        self.is_unsent = is_unsent


class UnexpectedAnswer(BraidError):
    """The answer is not one of the API."""


class Refused(BraidError):
    """The service has answered with a problem document.

    Attributes:
        code: The kind of problem, a `ProblemCode` or a code that this version of the client does not know.
        status: The HTTP status.
        detail: The problem of this request in words.
        errors: The problems of single fields.
        request_id: The request id, as in the service's log.
        retry_after_seconds: When to repeat the request; None: the answer does not say.
        document: The whole problem document.
    """

    def __init__(
        self, document: Mapping[str, Any], *, retry_after_seconds: float | None = None
    ) -> None:
        self.document = document
        self.code = str(document.get("code", ""))
        self.status = int(document["status"])
        self.detail = str(document.get("detail", ""))
        self.errors = tuple(
            FieldProblem.model_validate(problem, extra="ignore")
            for problem in document.get("errors", ())
        )
        self.request_id = str(document.get("request_id", ""))
        self.retry_after_seconds = retry_after_seconds
        super().__init__(_text(self))


class InvalidRequest(Refused):
    """The request has to be changed."""


class LimitExceeded(InvalidRequest):
    """The request, or its answer, would be too large."""


class AccessRefused(Refused):
    """The service does not accept the request from this client, from here, or under this name."""


class Unauthenticated(AccessRefused):
    """The request has no access token, or one that is not valid."""


class ScopeMissing(AccessRefused):
    """The access token does not have the scope that the request needs."""


class NotFound(Refused):
    """There is nothing of that name."""


class TableNotFound(NotFound):
    """There is no table of that name."""


class StreamNotFound(NotFound):
    """The table has no stream of that name."""


class RowNotFound(NotFound):
    """The table has no such row in the requested state."""


class IndexNotFound(NotFound):
    """The table has no lookup index of that name."""


class SnapshotNotFound(NotFound):
    """The table has no such snapshot, or not any more."""


class TagNotFound(NotFound):
    """The table has no such tag."""


class OperationNotFound(NotFound):
    """There is no such operation, or not any more."""


class ViewNotFound(NotFound):
    """The table has no feature view of that name."""


class Conflict(Refused):
    """The state of the table or the stream forbids the request now."""


class PreconditionFailed(Conflict):
    """Somebody has changed the table or the stream since it was read."""


class SnapshotNotReached(Conflict):
    """No snapshot is as new as the request demands."""


class Expired(Refused):
    """The requested state, or the rest of it, is not kept any more."""


class Unavailable(Refused):
    """The service cannot answer now."""


class ServiceFailed(Refused):
    """The service has failed, or lacks a feature."""


ERROR_OF_CODE: Final[Mapping[ProblemCode, type[Refused]]] = {
    ProblemCode.MALFORMED_REQUEST: InvalidRequest,
    ProblemCode.INVALID_REQUEST: InvalidRequest,
    ProblemCode.METHOD_NOT_ALLOWED: InvalidRequest,
    ProblemCode.NOT_ACCEPTABLE: InvalidRequest,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: InvalidRequest,
    ProblemCode.HEADERS_TOO_LARGE: LimitExceeded,
    ProblemCode.LIMIT_EXCEEDED: LimitExceeded,
    ProblemCode.ORIGIN_REFUSED: AccessRefused,
    ProblemCode.UNAUTHENTICATED: Unauthenticated,
    ProblemCode.SCOPE_MISSING: ScopeMissing,
    ProblemCode.COLUMN_MASKED: AccessRefused,
    ProblemCode.SIGNATURE_REFUSED: AccessRefused,
    ProblemCode.HOST_REFUSED: AccessRefused,
    ProblemCode.NOT_FOUND: NotFound,
    ProblemCode.TABLE_NOT_FOUND: TableNotFound,
    ProblemCode.STREAM_NOT_FOUND: StreamNotFound,
    ProblemCode.ROW_NOT_FOUND: RowNotFound,
    ProblemCode.INDEX_NOT_FOUND: IndexNotFound,
    ProblemCode.VIEW_NOT_FOUND: ViewNotFound,
    ProblemCode.SNAPSHOT_NOT_FOUND: SnapshotNotFound,
    ProblemCode.TAG_NOT_FOUND: TagNotFound,
    ProblemCode.OPERATION_NOT_FOUND: OperationNotFound,
    ProblemCode.TABLE_EXISTS: Conflict,
    ProblemCode.STREAM_EXISTS: Conflict,
    ProblemCode.STREAM_NOT_STOPPED: Conflict,
    ProblemCode.STREAM_NOT_RUNNING: Conflict,
    ProblemCode.FEATURES_MISSING: Conflict,
    ProblemCode.SCHEMA_MISMATCH: Conflict,
    ProblemCode.CONFLICT: Conflict,
    ProblemCode.PRECONDITION_FAILED: PreconditionFailed,
    ProblemCode.IDEMPOTENCY_CONFLICT: Conflict,
    ProblemCode.SNAPSHOT_NOT_REACHED: SnapshotNotReached,
    ProblemCode.EXPIRED: Expired,
    ProblemCode.REQUEST_TIMEOUT: Unavailable,
    ProblemCode.TOO_MANY_REQUESTS: Unavailable,
    ProblemCode.TOO_MANY_SUBSCRIPTIONS: Unavailable,
    ProblemCode.STORAGE_UNAVAILABLE: Unavailable,
    ProblemCode.NOT_READY: Unavailable,
    ProblemCode.OVERLOADED: Unavailable,
    ProblemCode.UNSUPPORTED_FEATURE: ServiceFailed,
    ProblemCode.INTERNAL_ERROR: ServiceFailed,
    ProblemCode.CORRUPT_DATA: ServiceFailed,
}
"""The class of each code; a code that is not here, of a newer service, is a plain `Refused`."""


def error_of(document: Mapping[str, Any], *, retry_after_seconds: float | None = None) -> Refused:
    """Return the error for a problem document."""
    code = str(document.get("code"))
    is_known = code in set(ProblemCode)
    found = ERROR_OF_CODE[ProblemCode(code)] if is_known else Refused
    return found(document, retry_after_seconds=retry_after_seconds)


def _text(error: Refused) -> str:
    lines = [f"{error.detail or error.code} ({error.status} {error.code})"]
    for problem in error.errors:
        hint = "" if problem.hint is None else f"; hint: {problem.hint}"
        lines.append(f"  {problem.field}: {problem.message}{hint}")
    if error.request_id:
        lines.append(f"  request id {error.request_id}")
    return "\n".join(lines)
