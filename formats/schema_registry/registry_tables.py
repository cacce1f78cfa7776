"""Parser of the tables `[schema_registries.<name>]` in the operators' file.

```toml
[schema_registries.shop]
url = ["https://registry-1:8081", "https://registry-2:8081"]
username = "braid"
password = "${file:/run/secrets/registry}"
ca_file = "/etc/braid/registry-ca.pem"
timeout_ms = 5000
topics = ["shop.*"]
```

Passwords and tokens are references to secrets. They are not resolved here, because a process that only reads the file may not
have the secrets. No error message shows the declared text of a password or token, or an address that contains a login.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from braid.formats.clusters.secret_references import is_reference, unusable_references
from braid.formats.schema_registry.named_registry import (
    ANY_TOPIC,
    TIMEOUT_MS,
    NamedSchemaRegistry,
)
from braid.lake import Problem

FIELDS: Final = ("ca_file", "password", "timeout_ms", "token", "topics", "url", "username")
URLS_MAX: Final = 10
TIMEOUT_MS_MIN: Final = 100
TIMEOUT_MS_MAX: Final = 60_000

_REFERENCE: Final = "one reference, `${env:NAME}` or `${file:/path}`"
_MAY_BE_SECRET: Final = re.compile(r"[?#%].*", re.DOTALL)
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]+\]")
_PATH: Final = re.compile(r"[A-Za-z0-9._~/-]*")


def named_registry(name: str, entry: Mapping[str, Any]) -> NamedSchemaRegistry:
    """Return the registry of a table.

    Args:
        name: The registry's name.
        entry: The fields of a table without problems.
    """
    return NamedSchemaRegistry(
        name=name,
        urls=tuple(url.rstrip("/") for url in _urls(entry)),
        username=entry.get("username"),
        password=entry.get("password"),
        token=entry.get("token"),
        ca_file=entry.get("ca_file"),
        timeout_ms=entry.get("timeout_ms", TIMEOUT_MS),
        topics=tuple(entry.get("topics", ANY_TOPIC)),
    )


def registry_problems(entry: Mapping[str, Any], prefix: str) -> Iterator[Problem]:
    """Yield the problems of a table's known fields.

    Args:
        entry: The fields of the table.
        prefix: The table's name with a dot, for locations.
    """
    yield from _check_urls(entry, f"{prefix}url")
    yield from _check_login(entry, prefix)
    path = entry.get("ca_file")
    if path is not None and not (isinstance(path, str) and path.startswith("/")):
        yield _expected(f"{prefix}ca_file", path, "the absolute path of a PEM file")
    timeout = entry.get("timeout_ms", TIMEOUT_MS)
    is_number = isinstance(timeout, int) and not isinstance(timeout, bool)
    if not is_number or not TIMEOUT_MS_MIN <= timeout <= TIMEOUT_MS_MAX:
        expected = f"milliseconds from {TIMEOUT_MS_MIN} to {TIMEOUT_MS_MAX}"
        yield _expected(f"{prefix}timeout_ms", timeout, expected)
    topics = entry.get("topics", [])
    if not isinstance(topics, list) or not all(isinstance(one, str) and one for one in topics):
        yield _expected(f"{prefix}topics", topics, 'a list of texts, such as ["shop.*"]')


def _urls(entry: Mapping[str, Any]) -> list[Any]:
    given = entry.get("url", [])
    return given if isinstance(given, list) else [given]


def _check_urls(entry: Mapping[str, Any], field: str) -> Iterator[Problem]:
    urls = _urls(entry)
    if not 1 <= len(urls) <= URLS_MAX:
        yield _expected(field, None, f"`https://host:port`, or a list of 1 to {URLS_MAX}")
    for url in urls:
        if isinstance(url, str) and "@" in url:
            # Not repeated: it may be a login.
            hint = "set `username` and `password`"
            message = "an address must not contain a login"
            yield Problem(field=field, value=None, message=message, hint=hint)
        elif not isinstance(url, str) or not _is_address(url):
            yield _expected(field, _shown(url), "`http://host[:port][/path]` or `https://...`")


def _shown(url: object) -> str:
    """Return what a message may repeat of an address: what is behind these characters may be a secret."""
    return _MAY_BE_SECRET.sub("...", url) if isinstance(url, str) else type(url).__name__


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc
    except ValueError:
        return False
    is_plain = not parts.query and not parts.fragment and "?" not in url and "#" not in url
    return (
        parts.scheme in ("http", "https")
        and parts.port != 0
        and is_plain
        and _HOST.fullmatch(host) is not None
        and _PATH.fullmatch(parts.path) is not None
    )


def _check_login(entry: Mapping[str, Any], prefix: str) -> Iterator[Problem]:
    username = entry.get("username")
    if username is not None and not (isinstance(username, str) and username):
        yield _expected(f"{prefix}username", type(username).__name__, "a text, in quotes")
    elif username is not None:
        for reference in unusable_references(username):
            expected = "`${env:NAME}` or `${file:/path}`"
            yield _expected(f"{prefix}username", reference, expected)
    for name in ("password", "token"):
        value = entry.get(name)
        if value is not None and not (isinstance(value, str) and is_reference(value)):
            yield _expected(f"{prefix}{name}", None, _REFERENCE)
    has_user, has_password = "username" in entry, "password" in entry
    if has_user != has_password:
        missing = "password" if has_user else "username"
        yield _expected(f"{prefix}{missing}", None, "both `username` and `password`")
    if "token" in entry and (has_user or has_password):
        message = "a registry has a login or a token, not both"
        yield Problem(field=f"{prefix}token", value=None, message=message, hint="fix the file")


def _expected(field: str, value: object, expected: str) -> Problem:
    found = None if value is None else str(value)
    return Problem(field=field, value=found, message=f"expected {expected}", hint="fix the file")
