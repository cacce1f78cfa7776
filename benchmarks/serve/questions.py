"""Requests of the serving benchmark by kind, each as the bytes that are sent."""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import numpy as np
import orjson

from benchmarks.serve.wide_rows import IDENTIFIER

BATCH_KEYS: Final = 100
_COUNT: Final = 20_000
"""Different requests of a kind, which are sent in turn."""

_ROWS: Final = f"/v1/tables/{IDENTIFIER.replace('.', '/')}/rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A kind of request.

    Attributes:
        name: As it is printed.
        request: Returns a request of some keys.
        keys: Keys of a request.
        is_present: Whether rows of the keys exist.
        connections: Connections that ask at once where no rate is given.
    """

    name: str
    request: Callable[[list[int]], bytes]
    keys: int = 1
    is_present: bool = True
    connections: int = 16

    @property
    def status(self) -> int:
        """Status of a right answer."""
        return int(HTTPStatus.OK if self.is_present else HTTPStatus.NOT_FOUND)

    def requests(self, rows: int, *, seed: int, token: str | None = None) -> list[bytes]:
        """Return requests of random keys of a table with the keys of the even numbers below `2 * rows`.

        With an access token each has it in a header.
        """
        count = _COUNT // self.keys
        numbers = np.random.default_rng(seed).integers(0, rows, (count, self.keys)) * 2
        if not self.is_present:
            numbers += 1
        requests = [self.request(keys) for keys in numbers.tolist()]
        if token is None:
            return requests
        with_token = f"\r\nauthorization: Bearer {token}\r\n".encode()
        return [request.replace(b"\r\n", with_token, 1) for request in requests]


def _get(path: str) -> Callable[[list[int]], bytes]:
    return lambda keys: f"GET {path}?id={keys[0]} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def _lookup(keys: list[int]) -> bytes:
    body = orjson.dumps({"keys": [{"id": key} for key in keys]})
    head = (
        f"POST {_ROWS}/lookup HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


PRESENT: Final = Question(name="one row", request=_get(_ROWS))
QUESTIONS: Final = (
    PRESENT,
    Question(name="one absent row", request=_get(_ROWS), is_present=False),
    Question(name=f"{BATCH_KEYS} rows", request=_lookup, keys=BATCH_KEYS, connections=4),
    Question(name="status of a row", request=_get(f"{_ROWS}/status")),
    Question(name="explain a row", request=_get(f"{_ROWS}/explain"), connections=4),
)
