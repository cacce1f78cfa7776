"""Something that fails again and again, told once: a line when it begins, one when it changes, one when it ends."""

import logging
from typing import Final

_CHARACTERS_MAX: Final = 500


class FailureLog:
    """What one repeated action says about its failures. For one thread."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        """Begin without a failure.

        Args:
            log: Where to tell.
            what: The action and what it concerns, as in `registry not read`.
        """
        self._log = log
        self._what = what
        self._cause: str | None = None

    def failed(self, error: BaseException) -> None:
        """Tell of a failure, unless the one before had the same cause."""
        cause = f"{type(error).__name__}: {error}"
        line = "; ".join(part.strip() for part in cause.splitlines() if part.strip())
        if type(error).__name__ != self._cause:
            self._log.warning("%s error=%s", self._what, line[:_CHARACTERS_MAX])
        self._cause = type(error).__name__

    def over(self) -> None:
        """Tell that it works again, if it has failed before."""
        if self._cause is not None:
            self._cause = None
            self._log.info("over: %s", self._what)
