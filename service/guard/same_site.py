"""Protection against cross-site requests and DNS rebinding, by the headers of requests.

A service without logins trusts every client that can reach it. A browser can reach it, and sends the requests
of any page. Three headers reveal such requests: `content-type`, because a form cannot send JSON;
`origin`, which names the site of a script; and `host`, which under DNS rebinding has the attacker's name. `host` is checked for
all requests except probes, and the other two for state-changing requests.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from braid.schemas import ProblemCode
from braid.schemas.field_problems import parameter_problem
from braid.schemas.merge_patch import MEDIA_TYPE as MERGE_PATCH
from braid.service.guard.asgi_problem import send_problem
from braid.service.guard.request_class import STATE_CHANGING
from braid.service.problems.problem_response import media_type_problem
from braid.service.scope_headers import header_of

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = "*"

PROBES = ("/health", "/ready")  # probes are called by address, and return no data of tables
_HOST = re.compile(r"(?P<name>\[[^\]]*\]|[^:]*)(:[0-9]*)?")
_KNOWN_MAX = 1_000  # headers `host` that are not checked again
_PORTS = {"http": 80, "https": 443}
_JSON = "application/json"


class SameSite:
    """Refuses requests that a page of another site could have sent."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str] | None = None,
        origins: Iterable[str] = (),
        bound_host: str = "",
    ) -> None:
        """Put the check before an app.

        Args:
            app: The application.
            hosts: Host names that requests may be addressed to, `*` for any; None: any, for an app
                without a network.
            origins: Other sites whose pages may send state-changing requests, such as
                `https://console.example`.
            bound_host: The address that the process listens at; with a wildcard any address is allowed
                as host.
        """
        self._app = app
        names = None if hosts is None else frozenset(map(_plain_host, hosts))
        self._hosts = None if names is None or ANY_HOST in names else names | {*LOOPBACK}
        self._origins = frozenset(filter(None, map(_site_of, origins)))
        self._known: set[str] = set()
        self._is_any_address = _is_wildcard(bound_host)
        if self._hosts is not None:
            self._hosts |= {_plain_host(bound_host)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = header_of(scope, b"host") or ""
        if not self._knows(host) and scope["path"] not in PROBES:
            problem = parameter_problem(
                "host",
                value=host[:200],
                message="the service does not answer to this name",
                hint="operators allow a name with `braid service --allow-host NAME`",
            )
            await send_problem(
                ProblemCode.HOST_REFUSED,
                "the header `host` names another service",
                scope=scope,
                receive=receive,
                send=send,
                errors=[problem],
            )
            return
        if scope["method"] in STATE_CHANGING:
            headers = Headers(scope=scope)
            # Of several, as proxies may join requests, each has to be known.
            foreign = [one for one in headers.getlist("origin") if not self._is_own(one, host)]
            if foreign:
                problem = parameter_problem(
                    "origin",
                    value=foreign[0][:200],
                    message="a page of another site has sent this request",
                    hint="operators allow a site with `braid service --allow-origin ORIGIN`",
                )
                await send_problem(
                    ProblemCode.ORIGIN_REFUSED,
                    "pages of other sites may not change anything",
                    scope=scope,
                    receive=receive,
                    send=send,
                    errors=[problem],
                )
                return
            expected = MERGE_PATCH if scope["method"] == "PATCH" else _JSON
            content_type, coding = headers.get("content-type"), headers.get("content-encoding")
            problem = media_type_problem(content_type, expected)
            refusal = _media_refusal(content_type)
            if refusal is None and (refusal := _coding_refusal(coding)) is not None:
                problem = parameter_problem(
                    "content-encoding",
                    value=coding and coding[:200],
                    message="bodies are not decompressed",
                    hint="send the body uncompressed, without this header",
                )
            if refusal is not None:
                await send_problem(
                    ProblemCode.UNSUPPORTED_MEDIA_TYPE,
                    refusal,
                    scope=scope,
                    receive=receive,
                    send=send,
                    errors=[problem],
                )
                return
        await self._app(scope, receive, send)

    def _knows(self, host: str) -> bool:
        if self._hosts is None or host in self._known:
            return True
        is_known = self._checked(host, self._hosts)
        if is_known and len(self._known) < _KNOWN_MAX:
            self._known.add(host)
        return is_known

    def _checked(self, host: str, hosts: frozenset[str]) -> bool:
        found = _HOST.fullmatch(host.strip())
        if found is None:
            return False
        name = _plain_host(found["name"])
        return name in hosts or (self._is_any_address and _is_address(name))

    def _is_own(self, origin: str, host: str) -> bool:
        site = _site_of(origin)
        if site is None:
            return False
        if site in self._origins:
            return True
        scheme = site[0]
        # Behind a proxy that terminates TLS this process sees http where the page has https: only host
        # and port are compared.
        return site == _site_of(f"{scheme}://{host}")


def _media_refusal(content_type: str | None) -> str | None:
    if content_type is None:
        return "the request has no content type"
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    is_json = media_type in ("application/json", "application/x-ndjson") or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if not is_json:
        return f"the body is sent as `{media_type[:100]}`"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            return f"the body is sent in `{value[:100]}`; JSON is UTF-8 (RFC 8259)"
    return None


def _coding_refusal(content_encoding: str | None) -> str | None:
    if content_encoding is None or content_encoding.strip().lower() in ("", "identity"):
        return None
    return f"the body is sent as `{content_encoding[:100]}`; send it uncompressed"


def _site_of(origin: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port of an origin; None for `null` and for texts that are not origins."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or parts.scheme not in _PORTS:
        return None
    return parts.scheme, _plain_host(parts.hostname), port or _PORTS[parts.scheme]


def _plain_host(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").lower()


def _is_wildcard(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
