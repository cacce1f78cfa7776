"""Sending of requests over HTTP, with retries: one loop for each of the two clients, and what both share."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from braid.client.errors import BraidError, InvalidName, NoAnswer, UnexpectedAnswer, error_of
from braid.client.retries import Attempts, Retries

AnswerT = TypeVar("AnswerT")
Decode = Callable[[httpx.Response], AnswerT]

_PROBLEM = "application/problem+json"
_SHOWN_CHARACTERS = 200
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, before it becomes bytes.

    Attributes:
        method: The HTTP method.
        path: The path, with `{names}`.
        names: The names' values, not escaped.
        query: Parameters.
        headers: Headers.
        body: JSON; None: no body.
        is_repeatable: Whether it may be made twice.
    """

    method: str
    path: str
    names: Mapping[str, str]
    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: bytes | None
    is_repeatable: bool

    def options(self) -> dict[str, Any]:
        """Return the arguments of `httpx.Client.request`.

        Raises:
            InvalidName: A name cannot be a part of a path.
        """
        names = {name: _segment(name, value) for name, value in self.names.items()}
        body = {} if self.body is None else {"content-type": "application/json"}
        return {
            "method": self.method,
            "url": self.path.format_map(names),
            "params": {name: _parameter(value) for name, value in self.query.items()},
            "headers": {**body, **self.headers},
            "content": self.body,
        }


class Sender:
    """Sends requests, and waits for their answers; safe between threads."""

    def __init__(
        self,
        http: httpx.Client,
        *,
        retries: Retries,
        chance: random.Random,
        sleep: Callable[[float], object],
    ) -> None:
        """Send over `http`; `sleep` is called with the seconds of a pause, whose jitter comes from `chance`."""
        self._http = http
        self._retries = retries
        self._chance = chance
        self._sleep = sleep

    def send(self, request: Request, decode: Decode[AnswerT]) -> AnswerT:
        """Return the answer to a request.

        Raises:
            BraidError: There is no answer, or none that `decode` can read; see `errors`.
        """
        attempts = Attempts(self._retries, self._chance, is_repeatable=request.is_repeatable)
        while True:
            try:
                return _decoded(self._http.request(**request.options()), decode)
            except (httpx.TransportError, BraidError) as error:
                pause = attempts.pause(_own(error))
            self._sleep(pause)


class AsyncSender:
    """Sends requests from coroutines."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        retries: Retries,
        chance: random.Random,
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        """Send over `http`; see `Sender`."""
        self._http = http
        self._retries = retries
        self._chance = chance
        self._sleep = sleep

    async def send(self, request: Request, decode: Decode[AnswerT]) -> AnswerT:
        """Return the answer to a request; raises what `Sender.send` raises."""
        attempts = Attempts(self._retries, self._chance, is_repeatable=request.is_repeatable)
        while True:
            try:
                return _decoded(await self._http.request(**request.options()), decode)
            except (httpx.TransportError, BraidError) as error:
                pause = attempts.pause(_own(error))
            await self._sleep(pause)


def _decoded(response: httpx.Response, decode: Decode[AnswerT]) -> AnswerT:
    is_problem = response.headers.get("content-type", "").startswith(_PROBLEM)
    try:
        if is_problem:
            retry_after = response.headers.get("retry-after", "")
            seconds = float(retry_after) if retry_after.isdecimal() else None
            raise error_of(response.json(), retry_after_seconds=seconds)
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return decode(response)
    except ValueError as error:  # not JSON, or not the document that it should be
        raise _unexpected(response, str(error)) from error
    raise _unexpected(response, "neither a success nor a problem document")


def _own(error: httpx.TransportError | BraidError) -> BraidError:
    if isinstance(error, BraidError):
        return error
    text = str(error) or type(error).__name__
    return NoAnswer(f"no answer: {text}", is_unsent=isinstance(error, _UNSENT))


def _unexpected(response: httpx.Response, reason: str) -> UnexpectedAnswer:
    shown = response.text[:_SHOWN_CHARACTERS]
    message = (
        f"{response.status_code} from {response.url} is not an answer of the API: {reason}\n{shown}"
    )
    return UnexpectedAnswer(message)


def _segment(name: str, value: str) -> str:
    """Return a name as a part of a path."""
    # Servers resolve `%2F` before they route, and clients and proxies resolve dots: these would be other addresses.
    if "/" in value or value in ("", ".", ".."):
        message = f"expected the name of a {name}, found {value!r}"
        raise InvalidName(message)
    return quote(value, safe="")


def _parameter(value: Any) -> Any:
    """Return a value of a parameter as text; several values of one parameter as texts."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(one) for one in value]
    return str(value)
