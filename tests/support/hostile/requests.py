"""All kinds of hostile requests that an HTTP client library can send."""

import random
from collections.abc import Iterator
from typing import Final

from tests.support.hostile import malformed_requests, row_requests
from tests.support.hostile.hostile_request import HostileRequest

_KINDS: Final = (*malformed_requests.KINDS, *row_requests.KINDS)


def hostile_requests(seed: int, count: int) -> Iterator[HostileRequest]:
    """Yield requests, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield chance.choice(_KINDS)(chance)


def requests_of_every_kind(seed: int, count: int) -> Iterator[HostileRequest]:
    """Yield so many requests of each kind, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        for kind in dict.fromkeys(_KINDS):
            yield kind(chance)
