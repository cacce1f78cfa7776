"""Problem documents (RFC 9457) and the responses that carry them."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

from fastapi import Response

from braid.schemas import FieldProblem, ProblemCode, ProblemDocument, SnapshotInfo
from braid.schemas.field_problems import SHOWN_MAX, parameter_problem
from braid.service.problems.problem_table import STATUS_AND_TITLE

MEDIA_TYPE = "application/problem+json"
ERRORS_MAX = 100
_PATH_CHARACTERS_MAX = 500

_RETRIED: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_AUTHENTICATE: Final = {"www-authenticate": 'Bearer realm="braid"'}
_RETRY_AFTER: Final = {"retry-after": "1"}  # seconds; a caller that knows a better time replaces it


def problem_response(
    code: ProblemCode,
    detail: str,
    *,
    instance: str,
    request_id: str,
    errors: Sequence[FieldProblem] = (),
    snapshot: SnapshotInfo | None = None,
) -> Response:
    """Return the answer for a problem; it says how a client identifies itself, or when the same request can succeed, if that helps."""
    problem = problem_of(
        code, detail, instance=instance, request_id=request_id, errors=errors, snapshot=snapshot
    )
    # Not orjson, which refuses text that is not UTF-8: a problem may quote such text.
    body = json.dumps(problem.model_dump(mode="json")).encode()
    is_retried = problem.status in _RETRIED or code is ProblemCode.SNAPSHOT_NOT_REACHED
    headers = _RETRY_AFTER if is_retried else None
    if code is ProblemCode.UNAUTHENTICATED:
        headers = _AUTHENTICATE
    return Response(body, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers)


def problem_of(
    code: ProblemCode,
    detail: str,
    *,
    instance: str,
    request_id: str,
    errors: Sequence[FieldProblem] = (),
    snapshot: SnapshotInfo | None = None,
) -> ProblemDocument:
    """Return a problem document with at most `ERRORS_MAX` errors; if there are more, `detail` has their number."""
    status, title = STATUS_AND_TITLE[code]
    if len(errors) > ERRORS_MAX:
        detail = f"{detail}; the first {ERRORS_MAX} of {len(errors)} are listed"
    return ProblemDocument(
        type=f"/problems/{code.value}",
        title=title,
        status=status,
        detail=detail,
        instance=short_path(instance),
        code=code,
        errors=tuple(errors[:ERRORS_MAX]),
        request_id=request_id,
        snapshot=snapshot,
    )


def media_type_problem(found: str | None, expected: str) -> FieldProblem:
    """Return the problem of a body that is not sent as the media type that is expected."""
    return parameter_problem(
        "content-type",
        value=None if found is None else found[:SHOWN_MAX],
        message="the body is not sent as the address expects it",
        hint=f"send the header `content-type: {expected}`, also without a body",
    )


def short_path(path: str) -> str:
    """Return a path, cut to the length that an answer may quote."""
    return path if len(path) <= _PATH_CHARACTERS_MAX else path[:_PATH_CHARACTERS_MAX] + "..."
