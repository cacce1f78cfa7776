"""Client of a schema registry: one request at a time, over HTTP or HTTPS.

Three answers are accepted: the JSON of a schema, a 404 with a registry's error code, and a 200 that is too long to be read.
Every other answer, such as a proxy's page or a redirect, means that the registry is not available. The same request may succeed
later, so no record is refused because of such an answer.

| answer | meaning |
|---|---|
| 200 with the JSON of a schema | the schema |
| 200 with more than 4 MiB | the schema is too large; no other address is asked |
| 404 with `error_code` 40401, 40402 or 40403 | the registry has no such subject, version or schema |
| 401, 403 | not available: the login is refused |
| 3xx | not available: a redirect is not followed, because it could carry the login to another host |
| any other answer, or no answer in time | not available |

The addresses of a registry are asked in turn, beginning with the address that returned a schema most recently. An address that
does not have the schema may only lag behind the others, so the next address is asked as well. If no address returns the schema,
a single answer "no such schema" decides, even if other addresses are not available.
"""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, NoReturn

from braid.formats.schema_registry.registry_connection import RegistryConnection
from braid.formats.timed_exchange import Deadline, TimedExchange
from braid.lake import StorageUnavailable

ANSWER_BYTES_MAX: Final = 4 << 20
"""Longest answer; registries store their schemas in Kafka records, whose usual limit is a quarter of it."""

_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"
_NOT_FOUND: Final = (40_401, 40_402, 40_403)
_CHUNK_BYTES: Final = 1 << 16
_SHOWN_MAX: Final = 200


class NotRegisteredError(Exception):
    """The registry answered that it has no such subject, version or schema."""


class OversizedAnswerError(Exception):
    """The answer is longer than any that is read."""


class _Refusal(Exception):
    """Why one address gave no answer that counts."""

    def __init__(self, reason: str, *, is_login: bool = False) -> None:
        self.reason = reason
        self.is_login = is_login
        super().__init__(reason)


class RegistryClient:
    """Requests to one registry; for one thread at a time."""

    def __init__(
        self, connection: RegistryConnection, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare to ask.

        Args:
            connection: The registry.
            now_s: The clock that bounds the time of an exchange, seconds.
        """
        self._connection = connection
        self._now_s = now_s
        self._first = 0

    def schema(self, path: str) -> Mapping[str, Any]:
        """Return the JSON of a schema; its field `schema` is a text.

        Args:
            path: The path below the registry's address.

        Raises:
            NotRegisteredError: There is no such schema.
            OversizedAnswerError: The answer has more than `ANSWER_BYTES_MAX` bytes.
            StorageUnavailable: No address gave an answer that counts.
        """
        urls = self._connection.urls
        refusals: list[str] = []
        missing: NotRegisteredError | None = None
        is_login = False
        for turn in range(len(urls)):
            place = (self._first + turn) % len(urls)
            try:
                found = self._ask(urls[place], path)
            except NotRegisteredError as error:
                missing = error
            except _Refusal as refusal:
                refusals.append(f"{urls[place]} {refusal.reason}")
                is_login = is_login or refusal.is_login
            else:
                self._first = place
                return found
        if missing is not None:
            raise missing
        raise self._unavailable(refusals, is_login=is_login)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self._connection.certificates)

    def _ask(self, url: str, path: str) -> Mapping[str, Any]:
        headers = {"Accept": _ACCEPT}
        if self._connection.authorization is not None:
            headers["Authorization"] = self._connection.authorization
        deadline = Deadline(self._connection.timeout_ms / 1_000, self._now_s)
        try:
            with (
                TimedExchange(url, deadline, tls=lambda: self._tls) as exchange,
                exchange.get(path, headers) as response,
            ):
                return _read(response.status, _body(response))
        except TimeoutError:
            _refuse(f"does not answer within {self._connection.timeout_ms} ms")
        except OSError as error:
            _refuse(f"cannot be reached: {error.strerror or error}")
        except http.client.HTTPException as error:
            _refuse(f"does not speak HTTP: {type(error).__name__}")

    def _unavailable(self, refusals: list[str], *, is_login: bool) -> StorageUnavailable:
        name = self._connection.name
        message = f"the schema registry `{name}` is not available: {'; '.join(refusals)}"
        if is_login:
            message += f"\nhint: correct the login of [schema_registries.{name}] in the file of `--clusters`"
        return StorageUnavailable(message)


def _refuse(reason: str, *, is_login: bool = False) -> NoReturn:
    raise _Refusal(reason, is_login=is_login)


def _body(response: http.client.HTTPResponse) -> bytes:
    body = bytearray()
    while piece := response.read1(_CHUNK_BYTES):
        body += piece
        if len(body) > ANSWER_BYTES_MAX:
            if response.status == http.client.OK:
                raise OversizedAnswerError
            break
    return bytes(body)


def _read(status: int, body: bytes) -> Mapping[str, Any]:
    """Return the schema of an answer; raise what else it is."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    content: Mapping[str, Any] = found if isinstance(found, dict) else {}
    if status == http.client.OK:
        if not isinstance(content.get("schema"), str):
            _refuse("answers 200 without a schema: is it the address of a registry?")
        return content
    if status == http.client.NOT_FOUND and content.get("error_code") in _NOT_FOUND:
        raise NotRegisteredError(str(content.get("message", ""))[:_SHOWN_MAX])
    reason = f"answers {status}"
    if 300 <= status < 400:
        reason += ", a redirect, which is not followed: name the final address"
    elif status == http.client.NOT_FOUND:
        reason += " without a registry's error code: is it the address of a registry?"
    is_login = status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN)
    _refuse(f"{reason}, the login is refused" if is_login else reason, is_login=is_login)
