"""Route class whose bodies are parsed and validated in the thread for bodies, not on the event loop.

The number of problems reported for one body is bounded, and texts that UTF-8 cannot encode are refused. If a route takes no
body, a state-changing request to it may have no body or `{}`; any other body is refused.
"""

import json
import re
from collections.abc import Callable, Coroutine, Iterator
from http import HTTPStatus
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from braid.formats.unpaired_surrogates import has_utf8_form
from braid.schemas.api import RowHypothesis
from braid.schemas.problem import JsonPath
from braid.schemas.pushed_records import PushedRecords
from braid.schemas.stream_trial import StreamTrial
from braid.schemas.written_number import written_number

# Findings in one body: each takes about a kilobyte until it is answered, and time of the thread.
FINDINGS_MAX: Final = 2_000
TOO_MANY: Final = "too_many_findings"

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_WITH_RECORDS: Final = (PushedRecords, StreamTrial, RowHypothesis)

_CHANGING: Final = frozenset({"DELETE", "PATCH", "POST", "PUT"})

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedBody(APIRoute):
    """A route that passes a validated model to the framework, which expects parsed JSON there.

    The framework would parse and validate bodies on the event loop. Its validation returns an instance
    of the model unchanged, and it still documents the route.
    """

    def get_route_handler(self) -> Handler:
        """Return the handler of a request."""
        handle = super().get_route_handler()
        model = body_model(self)
        if model is None:
            return _without_body(handle) if _CHANGING & set(self.methods or ()) else handle

        async def handle_checked(request: Request) -> Response:
            body = await request.body()
            if not body:
                return await handle(request)  # the framework reports the missing body
            bodies = request.app.state.components.bodies
            return await handle(_Checked(request, body, await bodies.run(checked, body, model)))

        return handle_checked


def _without_body(handle: Handler) -> Handler:
    """Return a handler that refuses a body, because a client that sends one expects it to matter."""

    async def handle_bare(request: Request) -> Response:
        if (await request.body()).strip() not in (b"", b"{}"):
            detail = "this request takes no body, and nothing was done: send none, or `{}`"
            raise HTTPException(HTTPStatus.BAD_REQUEST, detail)
        return await handle(request)

    return handle_bare


def body_model(route: object) -> type[BaseModel] | None:
    """Return the model of a route's body; None if the route has no body."""
    field = getattr(route, "body_field", None)
    model = None if field is None else field.field_info.annotation
    assert model is None or issubclass(model, BaseModel), "bodies are models"
    return model


class _Checked(Request):
    def __init__(self, request: Request, body: bytes, model: BaseModel) -> None:
        super().__init__(request.scope, request.receive)
        self._sent = body
        self._model = model

    async def body(self) -> bytes:
        return self._sent

    async def json(self) -> BaseModel:
        return self._model


def checked(
    body: bytes, model: type[BaseModel], *, arrange: Callable[[Any], Any] | None = None
) -> BaseModel:
    """Return a body as a model.

    Args:
        body: The body.
        model: The model.
        arrange: Returns the parsed JSON as the model expects it; None: the model expects it as it is.

    Raises:
        RequestValidationError: The body is not JSON, or not valid for the model.
        HTTPException: The body is not UTF-8, or has a number of too many digits.
    """
    try:
        # Bodies with records keep their numbers as they are written.
        parse_float = written_number if issubclass(model, _WITH_RECORDS) else None
        value = json.loads(body.decode("utf-8-sig"), parse_float=parse_float)
    except json.JSONDecodeError as error:
        finding = {"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}
        raise RequestValidationError([finding], body=error.doc) from error
    except ValueError as error:
        # Besides invalid UTF-8, only int() raises a ValueError: for more digits than `sys.set_int_max_str_digits`.
        is_text = not isinstance(error, UnicodeDecodeError)
        reason = "a number has too many digits" if is_text else "it is not UTF-8"
        detail = f"the body is not JSON that can be read: {reason}"
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail) from error
    if arrange is not None:
        value = arrange(value)
    try:
        found = model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(findings(error), body=value) from error
    # The model does not check names that are not fields, and an answer may quote them. Only an escape
    # can produce an unpaired surrogate, so most bodies need no walk.
    if _SURROGATE.search(body) and (halves := list(_unpaired_surrogates(value, ("body",)))):
        raise RequestValidationError(halves[:FINDINGS_MAX], body=value)
    return found


def _unpaired_surrogates(value: Any, path: JsonPath) -> Iterator[dict[str, Any]]:
    """Yield a finding for each text of a JSON value that UTF-8 cannot encode; for a name, at its object."""
    if isinstance(value, str) and not has_utf8_form(value):
        yield _surrogate_finding("a text", value, path)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unpaired_surrogates(inner, (*path, number))
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not has_utf8_form(name):
                yield _surrogate_finding("a name", name, path)
            else:
                yield from _unpaired_surrogates(inner, (*path, name))


def _surrogate_finding(what: str, text: str, path: JsonPath) -> dict[str, Any]:
    message = f"{what} has half of a surrogate pair, which UTF-8 does not have"
    return {"type": "string_unicode", "loc": path, "msg": message, "input": text}


def findings(error: ValidationError) -> list[dict[str, Any]]:
    """Return what is wrong with a body, as the framework reports it; if it is too much, only that."""
    count = error.error_count()
    if count > FINDINGS_MAX:
        return [{"type": TOO_MANY, "loc": ("body",), "msg": f"{count} findings"}]
    return [{**found, "loc": ("body", *found["loc"])} for found in error.errors(include_url=False)]
