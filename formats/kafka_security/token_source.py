"""Source of the current OAUTHBEARER token: a token is reused for four fifths of its lifetime, at most 48 minutes, and then replaced."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

# Of a token that comes without its life.
_SECONDS_UNKNOWN: Final = 60.0
_SECONDS_MAX: Final = 3_600.0
_USED_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token that was issued just now.

    Attributes:
        text: The token, visible ASCII characters; never shown.
        life_s: How long it is valid, seconds; None: not told, taken as a minute.
    """

    text: str = field(repr=False)
    life_s: float | None = None


class TokenSource:
    """The current token of one client; for any number of threads.

    A token is given until four fifths of its life have passed, at most 48 minutes: a connection that is made
    with it has time to log in.
    """

    def __init__(
        self, issue: Callable[[], IssuedToken], *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare a source without a token.

        Args:
            issue: Returns a new token; what it raises, `token` raises.
            now_s: The clock of tokens' lives, seconds.
        """
        self._issue = issue
        self._now_s = now_s
        self._lock = threading.Lock()
        self._token = ""
        self._used_until_s = float("-inf")

    def token(self) -> str:
        """Return a token that is valid now.

        Raises:
            StorageUnavailable: No token is issued.
        """
        with self._lock:
            if self._now_s() >= self._used_until_s:
                asked_s = self._now_s()
                issued = self._issue()
                life_s = _SECONDS_UNKNOWN if issued.life_s is None else issued.life_s
                self._used_until_s = asked_s + _USED_SHARE * min(life_s, _SECONDS_MAX)
                self._token = issued.text
            return self._token
