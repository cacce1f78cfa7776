"""One hostile request, and the tables that hostile requests are about."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

TABLES: Final = ("orders", "o1", "o2", "Orders", "o3")  # few: what is accepted must not pile up


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileRequest:
    """One request.

    Attributes:
        kind: What is wrong with it.
        method: Of HTTP.
        target: Path and query, as they are sent.
        headers: Besides those that every client sends.
        body: As it is sent.
    """

    kind: str
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


RequestKind: TypeAlias = Callable[[random.Random], HostileRequest]
"""Draws a request of one kind."""


def drawn_table(chance: random.Random) -> str:
    """Return the address of a table, which exists or not."""
    return f"/v1/tables/shop/{chance.choice(TABLES)}"


def json_request(
    kind: str, method: str, target: str, body: Any, headers: Mapping[str, str] | None = None
) -> HostileRequest:
    """Return a request with a body that is sent as JSON; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content-type": "application/json", **(headers or {})}
    return HostileRequest(kind=kind, method=method, target=target, headers=named, body=data)
