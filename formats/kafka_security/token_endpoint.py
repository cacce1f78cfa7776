"""Client of an authorization server's token endpoint: OAuth 2.0 with the grant "client credentials", over HTTP or HTTPS.

It follows no redirects and ignores the proxies of the environment, so the client's secret is sent only to the address in the
operators' file.
"""

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn
from urllib.parse import urlencode, urlsplit

from braid.formats.kafka_security.token_source import IssuedToken
from braid.formats.timed_exchange import Deadline, TimedExchange
from braid.lake import StorageUnavailable

ANSWER_BYTES_MAX: Final = 256 << 10
_CHUNK_BYTES: Final = 1 << 14
_ERROR_MAX: Final = 80
_LIFE_S_MAX: Final = 10**9  # an integer in JSON may be too large for a float


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """Where and how to ask for a token.

    Attributes:
        url: The address, `http` or `https`; certificates are checked by the system's authorities.
        client_id: The client's name.
        client_secret: The client's secret; never shown.
        scope: What the token is for; None: the server's default.
        timeout_ms: Longest time from the connection to the end of the answer, milliseconds.
    """

    url: str
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    scope: str | None = None
    timeout_ms: int = 4_000


class EndpointClient:
    """Requests to one token endpoint; for any number of threads."""

    def __init__(
        self, endpoint: TokenEndpoint, *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare to ask.

        Args:
            endpoint: Where to ask.
            now_s: The clock that bounds the time of an exchange, seconds.
        """
        self._endpoint = endpoint
        self._now_s = now_s

    def ask(self) -> IssuedToken:
        """Return a new token.

        Raises:
            StorageUnavailable: The endpoint gives no token; the message has neither secret nor token.
        """
        endpoint = self._endpoint
        parts = urlsplit(endpoint.url)
        form = {"grant_type": "client_credentials"}
        if endpoint.scope is not None:
            form["scope"] = endpoint.scope
        login = f"{endpoint.client_id}:{endpoint.client_secret}".encode()
        headers = {
            "Accept": "application/json",
            "Authorization": f"Basic {base64.b64encode(login).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        rest = ("" if parts.path else "/") + (f"?{parts.query}" if parts.query else "")
        deadline = Deadline(endpoint.timeout_ms / 1_000, self._now_s)
        try:
            with (
                TimedExchange(endpoint.url, deadline, tls=ssl.create_default_context) as exchange,
                exchange.post(rest, headers, urlencode(form).encode()) as response,
            ):
                return self._read(response.status, self._body(response))
        except TimeoutError:
            self._refuse(f"does not answer within {endpoint.timeout_ms} ms")
        except OSError as error:
            self._refuse(f"cannot be reached: {error.strerror or error}")
        except http.client.HTTPException as error:
            self._refuse(f"does not speak HTTP: {type(error).__name__}")

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        body = bytearray()
        while piece := response.read1(_CHUNK_BYTES):
            body += piece
            if len(body) > ANSWER_BYTES_MAX:
                self._refuse(f"answers with more than {ANSWER_BYTES_MAX} bytes")
        return bytes(body)

    def _read(self, status: int, body: bytes) -> IssuedToken:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        content: dict[str, Any] = found if isinstance(found, dict) else {}
        if status not in (http.client.OK, http.client.CREATED):
            self._refuse(f"answers {status}{_reason(status, content)}")
        token = content.get("access_token")
        if not isinstance(token, str) or not token:
            self._refuse(f"answers {status} without a token: is it a token endpoint?")
        if not all("!" <= character <= "~" for character in token):
            self._refuse("answers with a token that has other characters than visible ASCII")
        return IssuedToken(text=token, life_s=_life_s(content.get("expires_in")))

    def _refuse(self, reason: str) -> NoReturn:
        message = f"no token for OAUTHBEARER: {self._endpoint.url} {reason}"
        raise StorageUnavailable(message)


def _life_s(found: object) -> float | None:
    if not isinstance(found, int | float) or isinstance(found, bool) or not found > 0:
        return None
    return float(min(found, _LIFE_S_MAX))


def _reason(status: int, content: dict[str, Any]) -> str:
    """Return what an error's answer means; OAuth's own code is one of a few words."""
    if 300 <= status < 400:
        return ", a redirect, which is not followed: name the final address"
    code = content.get("error")
    is_word = isinstance(code, str) and code.replace("_", "").isalpha() and len(code) < _ERROR_MAX
    if is_word:
        return f" ({code})"
    return ", the client is refused" if status in (401, 403) else ""
