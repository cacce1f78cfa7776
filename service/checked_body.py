"""Routes whose bodies become models in the thread for bodies, not on the event loop."""

import json
import re
from collections.abc import Callable, Coroutine, Iterator
from http import HTTPStatus
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

FINDINGS_MAX: Final = (
    2_000  # of a body; listing more of them takes memory, and longer than one turn should
)
TOO_MANY: Final = "too_many_findings"

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedBody(APIRoute):
    """A route that hands the framework a model where it expects parsed JSON.

    The framework parses and checks bodies on the event loop. A model that is there passes its check
    unchanged, and it goes on documenting the route.
    """

    def get_route_handler(self) -> Handler:
        """Return what handles a request."""
        handle = super().get_route_handler()
        model = body_model(self)
        if model is None:
            return handle

        async def handle_checked(request: Request) -> Response:
            body = await request.body()
            if not body:
                return await handle(request)  # the framework says that it is missing
            bodies = request.app.state.components.bodies
            return await handle(_Checked(request, body, await bodies.run(checked, body, model)))

        return handle_checked


def body_model(route: object) -> type[BaseModel] | None:
    """Return the model of a route's body, None where it has none."""
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


def checked(body: bytes, model: type[BaseModel]) -> BaseModel:
    """Return a body as a model.

    Raises:
        RequestValidationError: It is not as declared, or no JSON.
        HTTPException: It is no text, or has a number of more digits than are read.
    """
    try:
        value = json.loads(body.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        finding = {"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}
        raise RequestValidationError([finding], body=error.doc) from error
    except ValueError as error:
        is_text = not isinstance(error, UnicodeDecodeError)
        reason = "a number has too many digits" if is_text else "it is not UTF-8"
        detail = f"the body is not JSON that can be read: {reason}"
        raise HTTPException(HTTPStatus.BAD_REQUEST, detail) from error
    try:
        found = model.model_validate(value)
    except ValidationError as error:
        raise RequestValidationError(_findings(error), body=value) from error
    # Of a name that is nobody's field the model does not look at it, and an answer may quote it.
    if _SURROGATE.search(body) and (halves := list(_halves(value, ("body",)))):
        raise RequestValidationError(halves[:FINDINGS_MAX], body=value)
    return found


def _halves(value: Any, place: tuple[str | int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a finding for each text of a JSON value that has no UTF-8; of a name, at its object."""
    if isinstance(value, str) and not _is_text(value):
        yield _half("a text", value, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _halves(inner, (*place, number))
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not _is_text(name):
                yield _half("a name", name, place)
            else:
                yield from _halves(inner, (*place, name))


def _half(what: str, text: str, place: tuple[str | int, ...]) -> dict[str, Any]:
    message = f"{what} has half of a surrogate pair, which UTF-8 does not have"
    return {"type": "string_unicode", "loc": place, "msg": message, "input": text}


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _findings(error: ValidationError) -> list[dict[str, Any]]:
    count = error.error_count()
    if count > FINDINGS_MAX:
        return [{"type": TOO_MANY, "loc": ("body",), "msg": f"{count} findings"}]
    return [{**found, "loc": ("body", *found["loc"])} for found in error.errors(include_url=False)]
