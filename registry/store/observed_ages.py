"""Observed ages: how long ago documents were written, corrected by the observations of this process.

An age that is computed from a modification time and the reader's clock is wrong by the difference between this clock and the
storage's clock. But a reader that has found the same content for a minute knows that the content is at least a minute old. A
reader that found other content a second ago knows that the new content is at most a second old. A monotonic clock measures
both times.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_DOCUMENTS_MAX: Final = 10_000
"""Documents that are remembered; of more, those that were looked at longest ago are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """What is known of a document: its content, and moments in seconds by the steady clock.

    Attributes:
        content: Hash of the content.
        first_s: When this content was found first.
        last_s: When it was found last.
        before_s: When other content was found last; None: never.
    """

    content: int
    first_s: float
    last_s: float
    before_s: float | None


class ObservedAges:
    """Remembers when it was shown which content of documents; safe to share between threads."""

    def __init__(self, steady_s: Callable[[], float] = time.monotonic) -> None:
        """Begin without any document.

        Args:
            steady_s: Returns seconds since any moment; never goes back and is never set.
        """
        self._steady_s = steady_s
        self._sights: OrderedDict[str, _Sight] = OrderedDict()
        self._lock = threading.Lock()

    def observe(self, name: str, content: bytes, *, age_ms: int) -> int:
        """Note the content of a document that was just read, and return how old it is.

        Args:
            name: The document's name.
            content: Its content; a document that is written again has other content.
            age_ms: Its age by clocks that may differ, milliseconds; may be negative.

        Returns:
            `age_ms`, or the nearest age that agrees with what was seen; milliseconds, never negative.
        """
        with self._lock:
            now_s = self._steady_s()
            sight = _next_sight(self._sights.get(name), hash(content), now_s)
            self._sights[name] = sight
            self._sights.move_to_end(name)
            if len(self._sights) > _DOCUMENTS_MAX:
                self._sights.popitem(last=False)
        if sight.before_s is not None:
            age_ms = min(age_ms, int((now_s - sight.before_s) * 1_000))
        return max(age_ms, int((now_s - sight.first_s) * 1_000))


def _next_sight(known: _Sight | None, content: int, now_s: float) -> _Sight:
    if known is None:
        return _Sight(content=content, first_s=now_s, last_s=now_s, before_s=None)
    if known.content == content:
        return _Sight(content=content, first_s=known.first_s, last_s=now_s, before_s=known.before_s)
    return _Sight(content=content, first_s=now_s, last_s=now_s, before_s=known.last_s)
