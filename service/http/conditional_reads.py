"""ASGI layer that answers a GET request with 304 if the client has the answer already.

Where a route sets no `etag` of its own, the layer sets a weak one: a digest of the answer. So a client that repeats a request, such
as a console, receives the same lists and statuses once. The answer is still computed. Rows do not pass this layer: they are
answered before it, and compared without being read (`row_dispatch`).
"""

import hashlib
from http import HTTPStatus
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from braid.service.entity_tags import is_known
from braid.service.scope_headers import header_of

BYTES_MAX: Final = 1 << 20
"""Largest answer that gets a digest, because the digest is computed on the event loop: about half a millisecond."""

_JSON: Final = b"application/json"
_OF_BODY: Final = (b"content-length", b"content-type")
_DIGEST_LENGTH: Final = 32  # hexadecimal digits: 128 bits


class ConditionalReads:
    """Compares the `etag` of each JSON answer to a GET request with `if-none-match`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        held: Message | None = None

        async def compare(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _may_be_known(message):
                held = message
                return
            if held is not None:
                start, held = held, None
                if not message.get("more_body", False):
                    await _send_unless_known(start, message, scope, send)
                    return
                await send(start)  # an answer in parts is not held back
            await send(message)

        await self._app(scope, receive, compare)


def _may_be_known(start: Message) -> bool:
    return start["status"] == HTTPStatus.OK and any(
        name == b"content-type" and value.startswith(_JSON) for name, value in start["headers"]
    )


async def _send_unless_known(start: Message, body: Message, scope: Scope, send: Send) -> None:
    headers = list(start["headers"])
    etag = next((value.decode("latin-1") for name, value in headers if name == b"etag"), None)
    content = body.get("body", b"")
    if etag is None and len(content) <= BYTES_MAX:
        etag = f'W/"{hashlib.sha256(content).hexdigest()[:_DIGEST_LENGTH]}"'
        headers.append((b"etag", etag.encode()))
    if is_known(etag, header_of(scope, b"if-none-match")):
        kept = [(name, value) for name, value in headers if name not in _OF_BODY]
        await send({**start, "status": HTTPStatus.NOT_MODIFIED, "headers": kept})
        await send({**body, "body": b""})
        return
    await send({**start, "headers": headers})
    await send(body)


def document_condition(operation: dict[str, Any]) -> None:
    """Add `if-none-match` and 304 to an operation of the OpenAPI document that reads."""
    operation.setdefault("parameters", []).append(
        {
            "name": "if-none-match",
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": "Entity tags of answers that the client has; if one is that of the answer, it is 304.",
        }
    )
    operation["responses"].setdefault("304", {"description": "The client has the answer already"})
