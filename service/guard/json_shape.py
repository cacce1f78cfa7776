"""Depth and size of JSON, counted from its bytes before anything parses it.

Parsing costs memory and time by what a text becomes, not by its length: a megabyte may be half a
million numbers, or brackets that nest as deep. Vectorised, so that telling costs less than parsing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_QUOTE, _COMMA, _COLON, _BACKSLASH = b'",:\\'
_BLOCK = 256 << 10  # bytes at once: what is made of them fits into the processor's cache
_OPEN, _CLOSE = tuple(b"[{"), tuple(b"]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonShape:
    """The shape of a JSON text; of other texts it means nothing.

    Attributes:
        depth: Brackets that are open at once.
        values: Commas and colons outside of texts.
    """

    depth: int
    values: int


def json_shape(body: bytes, *, block: int = _BLOCK) -> JsonShape:
    r"""Return the shape of a JSON text in UTF-8, which is looked at in blocks of so many bytes.

    >>> json_shape(rb'{"a": [1, [2, 3]], "b,[": "\"["}')
    JsonShape(depth=3, values=5)
    """
    has_escapes = b'\\"' in body
    depth = deepest = values = 0
    is_inside = is_escaped = False  # where the block before ended: in a text, after a backslash
    for start in range(0, len(body), block):
        text = np.frombuffer(body, np.uint8, min(block, len(body) - start), start)
        quotes = text == _QUOTE
        if has_escapes:
            escaped = _escaped(text, is_escaped)
            quotes &= ~escaped[:-1]
            is_escaped = bool(escaped[-1])
        # A byte is outside of texts when an even number of quotes comes before it.
        inside = np.bitwise_xor.accumulate(quotes)
        inside ^= is_inside
        is_inside = bool(inside[-1])
        text = text[~inside]
        opened = (text == _OPEN[0]) | (text == _OPEN[1])
        closed = (text == _CLOSE[0]) | (text == _CLOSE[1])
        depths = np.cumsum(opened.view(np.int8) - closed.view(np.int8), dtype=np.int32)
        if len(depths):
            deepest = max(deepest, depth + int(depths.max()))
            depth += int(depths[-1])
        values += int(np.count_nonzero((text == _COMMA) | (text == _COLON)))
    return JsonShape(depth=deepest, values=values)


def _escaped(text: NDArray[np.uint8], is_first: bool) -> NDArray[np.bool_]:
    """Return where an odd number of backslashes comes right before a byte, and before what follows.

    Args:
        text: Not empty.
        is_first: Whether its first byte is escaped by what comes before.
    """
    places = np.arange(len(text), dtype=np.int32)
    last_other = np.where(text == _BACKSLASH, np.int32(-2 if is_first else -1), places)
    np.maximum.accumulate(last_other, out=last_other)
    escaped = np.empty(len(text) + 1, np.bool_)
    escaped[0] = is_first
    np.bitwise_and(places - last_other, 1, out=escaped[1:], casting="unsafe")
    return escaped
