"""ASGI layer for POST requests with an idempotency key: each is carried out once, and its answer is repeated for a day.

```
answer remembered?  yes: repeat it
                    no:  claim the request ──► carry it out ──► remember the answer ──► answer
                           └─ claimed by another one: wait for its answer, for a while
```

`registry/store/remembered_requests` has the answers and the claims. Only answers of success are remembered: after another
one nothing was changed, or the change is not certain, and the request is carried out when it is sent again. A change that a
process has made before it was killed is found in the document of the table: the routes give the request's name to the
registrar (`dependencies.get_registrar`).

The layer is outside of the framework, so that it holds for every POST, and inside of the layers that bound requests.
"""

import asyncio
import hashlib
import logging
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from braid.lake import LakeError
from braid.registry import names
from braid.registry.errors import RegistryError
from braid.registry.store.named_request import NamedRequest
from braid.registry.store.remembered_requests import (
    WAREHOUSE,
    Claim,
    RememberedAnswer,
    RememberedRequests,
)
from braid.schemas import ProblemCode
from braid.schemas.field_problems import parameter_problem
from braid.service.guard.asgi_problem import send_problem
from braid.service.guard.request_class import is_remembered
from braid.service.problems.error_handlers import on_own_error
from braid.service.replayed_body import replayed
from braid.service.request_slot import SlotNotFree, without_slot
from braid.service.scope_headers import header_of
from braid.service.scope_requests import name_request

HEADER: Final = b"idempotency-key"
KEY_LENGTH_MAX: Final = 255
PARAMETER: Final = {
    "name": HEADER.decode(),
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH_MAX},
    "description": "Name of the request: sent again within a day, it has its effect once, and the answer is the first one.",
}
"""The header in the OpenAPI document."""

REPEATED: Final = (b"idempotent-replayed", b"true")
"""Header of an answer that is repeated."""

ANSWER_BYTES_MAX: Final = 2 << 20
"""Bytes of a body that is remembered; a request with a larger answer is carried out again, which changes nothing more."""

_KEPT_HEADERS: Final = ("content-type", "location", "etag")
_PAUSE_SECONDS: Final = 0.1
_WAITING_MAX: Final = 100
_RETRY: Final = {"retry-after": "1"}

logger = logging.getLogger(__name__)


class IdempotentPosts:
    """Carries out each POST with an idempotency key once."""

    def __init__(
        self, app: ASGIApp, requests: RememberedRequests, *, wait_seconds: float = 5.0
    ) -> None:
        """Put the layer before an app.

        Args:
            app: The application.
            requests: The requests of the warehouse.
            wait_seconds: How long a request waits for the answer to an equal one that is carried out.
        """
        self._app = app
        self._requests = requests
        self._wait_seconds = wait_seconds
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        key = None
        if scope["type"] == "http" and is_remembered(scope["method"], scope["path"]):
            key = header_of(scope, HEADER)
        if key is None:
            await self._app(scope, receive, send)
            return
        if not 1 <= len(key) <= KEY_LENGTH_MAX:
            await _refuse_key(key, scope, receive, send)
            return
        body = (await receive())["body"]  # `BodyBounds` has read it as a whole
        try:
            request = await run_in_threadpool(_named, key, scope, body)
            begun = await self._begun(scope_of(scope["path"]), request)
        except (LakeError, RegistryError) as error:
            response = await on_own_error(Request(scope, receive), error)
            await response(scope, receive, send)
            return
        if isinstance(begun, RememberedAnswer):
            await _repeat(begun, send)
        elif begun is None:
            await _ask_to_repeat(scope, receive, send)
        else:
            name_request(scope, request)
            await self._carry_out(begun, scope, replayed(body, receive), send)

    async def _begun(self, table: str, request: NamedRequest) -> Claim | RememberedAnswer | None:
        """Return the answer, or the right to carry the request out; None: another process has not finished it in time."""
        begun = await run_in_threadpool(self._requests.begin, table, request)
        if begun is not None or self._waiting >= _WAITING_MAX:
            return begun
        self._waiting += 1
        try:
            async with without_slot():
                for _ in range(round(self._wait_seconds / _PAUSE_SECONDS)):
                    await asyncio.sleep(_PAUSE_SECONDS)
                    begun = await run_in_threadpool(self._requests.begin, table, request)
                    if begun is not None:
                        break
        except SlotNotFree:
            if isinstance(begun, Claim):  # the request is refused, and may be sent again
                await run_in_threadpool(self._requests.release, begun)
            raise
        finally:
            self._waiting -= 1
        return begun

    async def _carry_out(self, claim: Claim, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer()
        try:
            await self._app(scope, receive, answer.take)
        except Exception:
            await self._end(claim, None)
            raise
        await self._end(claim, answer.remembered(claim.request.digest))
        for message in answer.messages:
            await send(message)

    async def _end(self, claim: Claim, answer: RememberedAnswer | None) -> None:
        """Remember the answer, or give the claim back without one."""
        try:
            if answer is None:
                await run_in_threadpool(self._requests.release, claim)
            else:
                await run_in_threadpool(self._requests.finish, claim, answer)
        except LakeError as error:
            # What was done is done: the client gets its answer. The claim ends by itself.
            logger.warning("answer not remembered table=%s error=%s", claim.scope, error)


@dataclass(slots=True)
class _Answer:
    """The messages of an answer, held back until the answer is remembered."""

    messages: list[Message] = field(default_factory=list)

    async def take(self, message: Message) -> None:
        self.messages.append(message)

    def remembered(self, digest: str) -> RememberedAnswer | None:
        """Return the answer as it is remembered; None: it is not one of success, or too large."""
        start, *parts = self.messages
        body = b"".join(part.get("body", b"") for part in parts)
        status = start["status"]
        if not 200 <= status < 300 or len(body) > ANSWER_BYTES_MAX:
            return None
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]
        }
        kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
        return RememberedAnswer(digest=digest, status=status, headers=kept, body=body.decode())


def scope_of(path: str) -> str:
    """Return the table in an address, within which keys are unique; `WAREHOUSE`: there is none.

    >>> scope_of("/v1/tables/shop/orders/streams/sales/stop")
    'shop.orders'
    """
    parts = path.split("/")
    if len(parts) > 4 and parts[2] == "tables":
        identifier = f"{parts[3]}.{parts[4]}"
        if names.is_identifier(identifier):
            return identifier
    return WAREHOUSE


def _named(key: str, scope: Scope, body: bytes) -> NamedRequest:
    """Return a request with a digest of its client, its address and the content of its body."""
    try:
        content = orjson.dumps(orjson.loads(body or b"{}"), option=orjson.OPT_SORT_KEYS)
    except ValueError:  # not JSON, which the route refuses; or numbers of more than 64 bits
        content = body
    principal: Any = scope.get("state", {}).get("principal")
    parts = (
        getattr(principal, "name", "").encode(),
        scope["path"].encode("utf-8", "surrogateescape"),
        scope["query_string"],
        content,
    )
    digest = hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts))
    return NamedRequest(key=key, digest=digest.hexdigest())


async def _repeat(answer: RememberedAnswer, send: Send) -> None:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()
    ]
    body = answer.body.encode()
    length = (b"content-length", str(len(body)).encode())
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [*headers, length, REPEATED],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def _refuse_key(key: str, scope: Scope, receive: Receive, send: Send) -> None:
    problem = parameter_problem(
        "idempotency-key",
        value=key[:200],
        message=f"expected 1 to {KEY_LENGTH_MAX} characters, found {len(key)}",
        hint="give each request a key of its own, such as a UUID",
    )
    await send_problem(
        ProblemCode.INVALID_REQUEST,
        "the idempotency key is not valid",
        scope=scope,
        receive=receive,
        send=send,
        errors=[problem],
    )


async def _ask_to_repeat(scope: Scope, receive: Receive, send: Send) -> None:
    await send_problem(
        ProblemCode.CONFLICT,
        "the request with this idempotency key is being carried out; send it again for its answer",
        scope=scope,
        receive=receive,
        send=send,
        headers=_RETRY,
    )
