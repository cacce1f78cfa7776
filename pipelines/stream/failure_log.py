"""Failure log of a repeated action: one line when it begins to fail, when the class of its error changes, and when it works again."""

import logging
from typing import Final

_CHARACTERS_MAX: Final = 500


class FailureLog:
    """Logs the failures of one repeated action without repeating itself. Use it from one thread only."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        """Create the log, without a failure so far.

        Args:
            log: The logger.
            what: The failed action and its subject, such as `registry not read`.
        """
        self._log = log
        self._what = what
        self._cause: str | None = None

    def note_failure(self, error: BaseException) -> None:
        """Log a failure, unless the one before had the same cause."""
        # The class is the cause: messages differ in times and addresses between equal failures.
        cause = type(error).__name__
        if cause != self._cause:
            line = f"{cause}: {error}"
            line = "; ".join(part.strip() for part in line.splitlines() if part.strip())
            self._log.warning("%s error=%s", self._what, line[:_CHARACTERS_MAX])
        self._cause = cause

    def note_success(self) -> None:
        """Log that the action works again, if it has failed before."""
        if self._cause is not None:
            self._cause = None
            self._log.info("resolved: %s", self._what)
