"""Headers that keep browsers from using an answer in other ways than the service means it.

Every answer has them; an answer that has one of these headers itself keeps its own, as the pages of a console do.
"""

from collections.abc import Iterable
from typing import Final

_Headers = list[tuple[bytes, bytes]]

_HEADERS: Final[_Headers] = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    # An answer is data: nothing in it is run or loaded, and no page shows it in a frame.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    # What a client may read is no other client's: no shared cache keeps it, and each use is checked again.
    (b"cache-control", b"private, no-cache"),
]
_NAMES: Final = frozenset(name for name, _ in _HEADERS)


def with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> _Headers:
    """Return the headers of an answer, names in lower case, with those of this module that it does not have."""
    found = list(headers)
    own = _NAMES.intersection([name for name, _ in found])
    return found + (_HEADERS if not own else [one for one in _HEADERS if one[0] not in own])
