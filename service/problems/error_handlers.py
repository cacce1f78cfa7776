"""Exception handlers: errors of the engine, the registry and the framework as RFC 9457 problems.

Failures of the service itself are logged, and most of their responses have no details. `http/request_context` responds to
an exception without a handler.
"""

import json
import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from braid.formats.key_values import FieldsRefused
from braid.lake import InvalidRequest, LakeError
from braid.registry.errors import (
    DefinitionDiffers,
    DefinitionRefused,
    KeyReused,
    PreconditionFailed,
    RegistryError,
    StreamNotStopped,
)
from braid.registry.store.paths import without_warehouse
from braid.schemas import FieldProblem, ProblemCode, SnapshotInfo
from braid.schemas.contract import TOO_LONG
from braid.schemas.field_problems import SHOWN_MAX, parameter_problem
from braid.service.checked_body import FINDINGS_MAX, TOO_MANY, body_model
from braid.service.control.index_lookup import IndexNotBuilt
from braid.service.control.row_lookup import RowNotFound
from braid.service.lifecycle import ServiceStops
from braid.service.problems.problem_response import (
    media_type_problem,
    problem_response,
    short_path,
)
from braid.service.problems.problem_table import STATUS_AND_TITLE, code_of, code_of_status
from braid.service.problems.request_problems import field_problems

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_LOGGED_CHARACTERS_MAX = 1_000
FINDINGS_REPORTED = 1_000  # findings of a body; several findings of one field become one error

# Details of failures on the service's side are for operators: they may name files and hosts.
_UNDISCLOSED = "the service failed; the log has the reason, under the request id"

# These name neither: what this version does not do, and which process is missing.
_DISCLOSED = (ProblemCode.UNSUPPORTED_FEATURE, ProblemCode.NOT_READY)

logger = logging.getLogger(__name__)


class NotReady(Exception):
    """The warehouse is not usable."""


def install_problem_handlers(app: FastAPI) -> None:
    """Make the app answer errors of the engine, the registry and the framework, and `NotReady`, with a problem."""
    app.add_exception_handler(LakeError, on_own_error)
    app.add_exception_handler(RegistryError, on_own_error)
    app.add_exception_handler(NotReady, _on_not_ready)
    app.add_exception_handler(RequestValidationError, _on_unreadable_request)
    app.add_exception_handler(HTTPException, _on_http_error)


def _answer(
    request: Request,
    code: ProblemCode,
    detail: str,
    errors: Sequence[FieldProblem] = (),
    snapshot: SnapshotInfo | None = None,
) -> Response:
    return problem_response(
        code,
        detail,
        instance=request.scope["path"],
        request_id=request.state.request_id,
        errors=errors,
        snapshot=snapshot,
    )


async def on_own_error(request: Request, error: Exception) -> Response:
    """Return the answer for an error of the engine or the registry."""
    code = code_of(error)
    status, _ = STATUS_AND_TITLE[code]
    # That the process ends is said once, by the server, and not for each request.
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(error, ServiceStops):
        # Failures of storage (503) repeat, and their messages are complete; a traceback adds nothing.
        trace = error if status == HTTPStatus.INTERNAL_SERVER_ERROR else None
        logger.error(
            "request failed request_id=%s error=%s",
            request.state.request_id,
            _one_line(error),
            exc_info=trace,
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and code not in _DISCLOSED:
        return _answer(request, code, _UNDISCLOSED)
    hide = without_warehouse(request.app.state.components.settings.warehouse)
    snapshot = error.snapshot if isinstance(error, RowNotFound) else None
    errors = _errors(error, hide)
    if isinstance(error, PreconditionFailed):
        errors = _failed_conditions(request, error)
    response = _answer(request, code, hide(_detail(error)), errors, snapshot)
    if isinstance(error, PreconditionFailed) and error.current is not None:
        response.headers["etag"] = f'"{error.current}"'
    if isinstance(error, IndexNotBuilt):
        response.headers["retry-after"] = "2"
    return response


def _failed_conditions(request: Request, error: PreconditionFailed) -> tuple[FieldProblem, ...]:
    """Return a problem for each header that states a condition, with the entity tag as it is now."""
    now = "there is none now" if error.current is None else f'its `etag` is now `"{error.current}"`'
    problems = []
    for header in ("if-match", "if-none-match"):
        sent = ", ".join(request.headers.getlist(header))
        is_weak = header == "if-match" and "W/" in sent
        hint = f"{now}: read it again, then decide again"
        if is_weak:
            hint = f"{hint}; a weak tag (`W/…`) matches no `if-match`"
        if sent:
            problems.append(
                parameter_problem(header, value=sent[:SHOWN_MAX], message=str(error), hint=hint)
            )
    return tuple(problems)


def disclosed(error: Exception) -> tuple[str, tuple[FieldProblem, ...]]:
    """Return what an answer may say of an error: its text and its problems, with the warehouse's address still in them."""
    code = code_of(error)
    if STATUS_AND_TITLE[code][0] >= HTTPStatus.INTERNAL_SERVER_ERROR and code not in _DISCLOSED:
        return _UNDISCLOSED, ()
    return _detail(error), _errors(error, lambda text: text)


def _one_line(error: Exception) -> str:
    line = "; ".join(part.strip() for part in str(error).splitlines() if part.strip())
    return line[:_LOGGED_CHARACTERS_MAX]


async def _on_not_ready(request: Request, error: Exception) -> Response:
    logger.error("not ready request_id=%s error=%s", request.state.request_id, _one_line(error))
    return _answer(request, ProblemCode.NOT_READY, _UNDISCLOSED)


# Not a coroutine, so that it runs in a thread: thousands of findings take a while to convert.
def _on_unreadable_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if found and found[0]["type"] == TOO_MANY:
        detail = f"the body has more than {FINDINGS_MAX} mistakes: send it in parts"
        return _answer(request, ProblemCode.LIMIT_EXCEEDED, detail)
    is_too_long = any(e["type"] == TOO_LONG for e in found)
    is_cut = len(found) > FINDINGS_REPORTED
    found = found[:FINDINGS_REPORTED]
    if any(e["type"] == "json_invalid" for e in found):
        reason = found[0].get("ctx", {}).get("error", "not JSON")
        cause = error.__cause__ or error.__context__
        if isinstance(cause, json.JSONDecodeError):
            reason = f"{reason} at line {cause.lineno}, column {cause.colno}"
        return _answer(request, ProblemCode.MALFORMED_REQUEST, f"the body is not JSON: {reason}")
    model = body_model(request.scope.get("route"))
    problems = field_problems(found, body=error.body, model=model)
    if is_too_long:
        detail = "a list or an object has more entries than one request may have"
        return _answer(request, ProblemCode.LIMIT_EXCEEDED, detail, problems)
    count = len(problems)
    detail = f"{count} field{'s are' if count != 1 else ' is'} not as declared"
    if is_cut:
        detail = f"at least {detail}"
    return _answer(request, ProblemCode.INVALID_REQUEST, detail, problems)


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = code_of_status(error.status_code)
    detail = {
        ProblemCode.NOT_FOUND: f"no resource {short_path(request.url.path)}; see /v1/openapi.json",
        ProblemCode.METHOD_NOT_ALLOWED: f"{request.method} is not a method of this address",
    }.get(code, str(error.detail))
    if code is not ProblemCode.METHOD_NOT_ALLOWED:
        headers = error.headers or {}
        problems = []
        if code is ProblemCode.UNSUPPORTED_MEDIA_TYPE:
            expected = headers.get("accept-patch", "application/json")
            problems = [media_type_problem(request.headers.get("content-type"), expected)]
        answer = _answer(request, code, detail, problems)
        answer.headers.update(headers)
        return answer
    allowed = ", ".join(_methods_of(request))
    problem = FieldProblem(
        pointer=None,
        field="method",
        value=request.method,
        message="the address does not have this method",
        hint=f"use {allowed}",
    )
    response = _answer(request, code, detail, (problem,))
    response.headers["allow"] = allowed
    return response


def _methods_of(request: Request) -> list[str]:
    """Return all methods of a request's address; the framework knows only those of one route."""
    scope = {name: request.scope[name] for name in ("type", "path", "root_path", "headers")}
    return [
        method
        for method in _METHODS
        if any(
            route.matches({**scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]


def _detail(error: Exception) -> str:
    if isinstance(error, DefinitionRefused | DefinitionDiffers | KeyReused):
        return error.summary
    return str(error)


def _errors(error: Exception, hide: Callable[[str], str]) -> tuple[FieldProblem, ...]:
    if isinstance(error, DefinitionRefused | DefinitionDiffers | KeyReused):
        return error.problems
    if isinstance(error, FieldsRefused):
        return error.parameters
    if isinstance(error, InvalidRequest):
        return tuple(
            FieldProblem(
                pointer=None,
                field=problem.field,
                value=None if problem.value is None else hide(problem.value),
                message=hide(problem.message),
                hint=None if problem.hint is None else hide(problem.hint),
            )
            for problem in error.problems
        )
    if isinstance(error, StreamNotStopped):
        hint = "POST …/streams/<stream>/stop, and repeat the request once its status is STOPPED"
        message = "the stream may still write"
        return (FieldProblem(pointer=None, field="stream", message=message, hint=hint),)
    return ()
