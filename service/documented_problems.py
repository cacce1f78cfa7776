"""Problems that each operation can answer with, as the OpenAPI document lists them.

They follow from the operation's method, from the parts of its address, and from what it does. The tests of the service compare the
problem of every answer with this list.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from braid.schemas import ProblemCode
from braid.service.access.route_scopes import SCOPES
from braid.service.guard.acceptable_types import is_negotiated
from braid.service.guard.request_class import STATE_CHANGING, class_of, is_remembered
from braid.service.guard.same_site import PROBES
from braid.service.limits import RequestClass
from braid.service.problems.problem_response import MEDIA_TYPE
from braid.service.problems.problem_table import STATUS_AND_TITLE

SCHEMA: Final = "Problem"
"""Name of `ProblemDocument` in the OpenAPI document."""

SECURITY_SCHEME: Final = "access_token"
"""Name of access tokens in the OpenAPI document."""

_Codes = tuple[ProblemCode, ...]

_ALWAYS: Final = (
    ProblemCode.MALFORMED_REQUEST,
    ProblemCode.REQUEST_TIMEOUT,
    ProblemCode.LIMIT_EXCEEDED,
    ProblemCode.HEADERS_TOO_LARGE,
    ProblemCode.INTERNAL_ERROR,
)
_IDENTIFIED: Final = (
    ProblemCode.UNAUTHENTICATED,
    ProblemCode.SCOPE_MISSING,
    ProblemCode.STORAGE_UNAVAILABLE,
    ProblemCode.NOT_READY,
)
_CHANGING: Final = (ProblemCode.ORIGIN_REFUSED, ProblemCode.UNSUPPORTED_MEDIA_TYPE)
_REMEMBERED: Final = (
    ProblemCode.INVALID_REQUEST,
    ProblemCode.CONFLICT,
    ProblemCode.IDEMPOTENCY_CONFLICT,
    ProblemCode.STORAGE_UNAVAILABLE,
)
_OF_PART: Final[Mapping[str, _Codes]] = {
    "/v1/": (ProblemCode.INVALID_REQUEST, ProblemCode.STORAGE_UNAVAILABLE),
    "/{table}": (
        ProblemCode.NOT_FOUND,
        ProblemCode.TABLE_NOT_FOUND,
        ProblemCode.CORRUPT_DATA,
        ProblemCode.UNSUPPORTED_FEATURE,
    ),
    # A verb for the streams of all tables that match a pattern reads their declarations.
    "/v1/streams:": (
        ProblemCode.CORRUPT_DATA,
        ProblemCode.UNSUPPORTED_FEATURE,
        ProblemCode.FEATURES_MISSING,
    ),
    "/streams/{stream}": (ProblemCode.STREAM_NOT_FOUND,),
    "/views/{view}": (ProblemCode.VIEW_NOT_FOUND,),
    "/indexes/{index}": (ProblemCode.INDEX_NOT_FOUND, ProblemCode.NOT_READY),
    "/v1/operations/{operation}": (
        ProblemCode.NOT_FOUND,
        ProblemCode.OPERATION_NOT_FOUND,
        ProblemCode.CORRUPT_DATA,
        ProblemCode.FEATURES_MISSING,
    ),
    "/v1/runners": (ProblemCode.CORRUPT_DATA,),
    "/audit": (ProblemCode.CORRUPT_DATA,),
    "/ready": (ProblemCode.NOT_READY,),
}
_DECLARING: Final = (ProblemCode.CONFLICT,)
_CONDITIONAL: Final = (*_DECLARING, ProblemCode.PRECONDITION_FAILED)
_MERGING: Final = (ProblemCode.EXPIRED, ProblemCode.SCHEMA_MISMATCH)
_READING: Final = (*_MERGING, ProblemCode.SNAPSHOT_NOT_REACHED)
_ROW: Final = (*_READING, ProblemCode.ROW_NOT_FOUND)
TABLE: Final = "/v1/tables/{database}/{table}"
_STREAM: Final = "/streams/{stream}"
OF_OPERATION: Final[Mapping[tuple[str, str], _Codes]] = {
    ("PUT", ""): (ProblemCode.TABLE_EXISTS, *_CONDITIONAL),
    ("PATCH", ""): (ProblemCode.TABLE_EXISTS, *_CONDITIONAL),
    ("DELETE", ""): (ProblemCode.STREAM_NOT_STOPPED, *_CONDITIONAL),
    ("POST", "/schema-changes"): _CONDITIONAL,
    ("PUT", _STREAM): (
        ProblemCode.STREAM_EXISTS,
        ProblemCode.STREAM_NOT_STOPPED,
        *_CONDITIONAL,
    ),
    ("PATCH", _STREAM): (ProblemCode.STREAM_EXISTS, *_CONDITIONAL),
    ("DELETE", _STREAM): (ProblemCode.STREAM_NOT_STOPPED, *_CONDITIONAL),
    **{("POST", f"{_STREAM}/{verb}"): _DECLARING for verb in ("start", "pause", "resume", "stop")},
    ("POST", f"{_STREAM}/restart"): (ProblemCode.STREAM_NOT_RUNNING, *_DECLARING),
    ("POST", f"{_STREAM}/dead-letters/replay/validate"): _DECLARING,
    ("PUT", f"{_STREAM}/offsets"): (ProblemCode.STREAM_NOT_STOPPED, *_CONDITIONAL),
    ("POST", f"{_STREAM}/records"): (
        ProblemCode.SIGNATURE_REFUSED,
        ProblemCode.IDEMPOTENCY_CONFLICT,
    ),
    ("GET", f"{_STREAM}/dead-letters"): (ProblemCode.NOT_READY,),
    ("POST", f"{_STREAM}/dead-letters/replay"): _DECLARING,
    ("DELETE", f"{_STREAM}/dead-letters/replay"): _CONDITIONAL,
    ("PUT", "/consumers/{consumer}"): (ProblemCode.PRECONDITION_FAILED,),
    ("DELETE", "/consumers/{consumer}"): (ProblemCode.PRECONDITION_FAILED,),
    ("POST", "/rollback"): (
        ProblemCode.STREAM_NOT_STOPPED,
        ProblemCode.SNAPSHOT_NOT_FOUND,
        ProblemCode.TAG_NOT_FOUND,
    ),
    ("POST", "/rollback/validate"): (
        ProblemCode.SNAPSHOT_NOT_FOUND,
        ProblemCode.TAG_NOT_FOUND,
    ),
    ("GET", "/snapshots/{snapshot}"): (ProblemCode.SNAPSHOT_NOT_FOUND,),
    ("GET", "/tags/{tag}"): (ProblemCode.TAG_NOT_FOUND,),
    ("PUT", "/tags/{tag}"): (ProblemCode.PRECONDITION_FAILED, ProblemCode.EXPIRED),
    ("DELETE", "/tags/{tag}"): (ProblemCode.TAG_NOT_FOUND, ProblemCode.PRECONDITION_FAILED),
    ("DELETE", "/v1/operations/{operation}"): (
        ProblemCode.CONFLICT,
        ProblemCode.PRECONDITION_FAILED,
    ),
    ("PUT", "/v1/runners/{runner}/drain"): _CONDITIONAL,
    ("DELETE", "/v1/runners/{runner}/drain"): _CONDITIONAL,
    ("GET", "/rows"): _ROW,
    ("POST", "/rows/lookup"): _READING,
    ("POST", "/rows/scan"): _READING,
    ("GET", "/rows/status"): _READING,
    ("GET", "/rows/explain"): _READING,
    ("POST", "/rows/explain"): (*_READING, ProblemCode.STREAM_NOT_FOUND),
    ("GET", "/rows/outcomes"): (*_READING, ProblemCode.STREAM_NOT_FOUND),
    ("GET", "/rows/certificate"): _READING,
    ("GET", "/rows/events"): (*_MERGING, ProblemCode.NOT_READY),
    ("POST", "/rows/events"): (*_MERGING, ProblemCode.NOT_READY),
    ("GET", "/views/{view}/rows"): _ROW,
    ("POST", "/views/{view}/lookup"): _READING,
    ("GET", "/indexes/{index}/rows"): _MERGING,
    ("GET", "/completeness"): _MERGING,
    ("GET", "/changes"): _MERGING,
    ("GET", "/inspect/{view}"): (ProblemCode.EXPIRED,),
    ("GET", "/maintenance"): (ProblemCode.EXPIRED,),
}
"""By method and the rest of the address after that of the table."""

IMPOSSIBLE: Final[Mapping[tuple[str, str], _Codes]] = {
    # They have no parameters, and open no table, of which an option may not be valid.
    ("GET", "/v1/aggregations"): (ProblemCode.INVALID_REQUEST,),
    ("GET", "/v1/clusters"): (ProblemCode.INVALID_REQUEST,),
    ("GET", "/v1/runners"): (ProblemCode.INVALID_REQUEST,),
    ("GET", "/v1/operations/{operation}"): (ProblemCode.INVALID_REQUEST,),
    # The table or the stream may be new.
    ("POST", "/validate"): (ProblemCode.TABLE_NOT_FOUND,),
    ("PUT", _STREAM): (ProblemCode.STREAM_NOT_FOUND,),
    ("POST", f"{_STREAM}/validate"): (ProblemCode.STREAM_NOT_FOUND,),
    # Neither the declaration nor a schema is read for the entries.
    ("GET", "/audit"): (ProblemCode.UNSUPPORTED_FEATURE,),
    # They have no values of columns.
    ("GET", ""): (ProblemCode.COLUMN_MASKED,),
    ("GET", "/schemas"): (ProblemCode.COLUMN_MASKED,),
    ("GET", "/consumers"): (ProblemCode.COLUMN_MASKED,),
    ("GET", _STREAM): (ProblemCode.COLUMN_MASKED,),
}
"""Problems that follow from the address, and that no request can provoke."""

_WITHOUT_DECLARATION: Final = frozenset(
    {
        "/audit",
        "/changes",
        "/compactions",
        "/consumers",
        "/consumers/{consumer}",
        "/inspect/{view}",
        "/maintenance",
        "/orphan-files/clean",
        "/rescale",
        "/schemas",
        "/snapshots",
        "/snapshots/expire",
        "/snapshots/{snapshot}",
        "/tags",
        "/tags/{tag}",
    }
)
"""Addresses of a table for which its declaration is not read; any other may find one that only a newer version can read."""


def documented_problems(method: str, path: str) -> dict[str, Any]:
    """Return the answers of an operation that are problems, by status, as OpenAPI describes them.

    Args:
        method: In capitals.
        path: The address with the names of its parameters.
    """
    codes: dict[int, list[ProblemCode]] = defaultdict(list)
    impossible = IMPOSSIBLE.get((method, path.removeprefix(TABLE)), ())
    for code in dict.fromkeys(code for code in _codes(method, path) if code not in impossible):
        codes[STATUS_AND_TITLE[code][0]].append(code)
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{SCHEMA}"}}}
    return {
        str(status): {"description": "; ".join(map(_described, codes[status])), "content": content}
        for status in sorted(codes)
    }


def documented_scope(method: str, path: str) -> list[dict[str, list[str]]]:
    """Return the security requirement of an operation, as OpenAPI describes it; [] if it needs none."""
    requirement = SCOPES[method, path]
    return [] if requirement is None else [{SECURITY_SCHEME: [requirement.scope.value]}]


def _codes(method: str, path: str) -> Iterator[ProblemCode]:
    yield from _ALWAYS
    if path not in PROBES:
        yield ProblemCode.HOST_REFUSED
    requirement = SCOPES[method, path]
    if requirement is not None:
        yield from _IDENTIFIED
        if requirement.may_be_masked:
            yield ProblemCode.COLUMN_MASKED
    if method in STATE_CHANGING:
        yield from _CHANGING
    if is_negotiated(method, path):
        yield ProblemCode.NOT_ACCEPTABLE
    if is_remembered(method, path):
        yield from _REMEMBERED
    yield from _of_class(method, class_of(method, path))
    for part, codes in _OF_PART.items():
        if part in path:
            yield from codes
    if path.startswith(TABLE) and path.removeprefix(TABLE) not in _WITHOUT_DECLARATION:
        yield ProblemCode.FEATURES_MISSING
    yield from OF_OPERATION.get((method, path.removeprefix(TABLE)), ())


def _of_class(method: str, request_class: RequestClass | None) -> Iterator[ProblemCode]:
    if request_class is RequestClass.SUBSCRIPTION:
        yield ProblemCode.TOO_MANY_SUBSCRIPTIONS  # at once: none waits for a place
        if method in STATE_CHANGING:
            yield ProblemCode.TOO_MANY_REQUESTS  # there is no room for the body
    elif request_class is not None:
        yield from (ProblemCode.TOO_MANY_REQUESTS, ProblemCode.OVERLOADED)


def _described(code: ProblemCode) -> str:
    return f"`{code.value}`: {STATUS_AND_TITLE[code][1]}"
