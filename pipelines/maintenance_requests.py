"""Requests of a runner's streams for maintenance at once, instead of at the end of its interval.

A stream knows after each commit how many runs a bucket has. With several streams that commit a few times a second, a bucket
would get more runs within the interval than reads should merge.
"""

from collections.abc import Callable


class MaintenanceRequests:
    """Passes requests on to what maintains the tables; until there is such a thing, they do nothing.

    Any thread may call `request`.
    """

    def __init__(self) -> None:
        """Begin without an answer."""
        self._answer: Callable[[], None] | None = None

    def answer_with(self, answer: Callable[[], None]) -> None:
        """Call something with each request from now on.

        Args:
            answer: Returns at once; called from any thread.
        """
        self._answer = answer

    def request(self) -> None:
        """Ask for maintenance of what is due."""
        if self._answer is not None:
            self._answer()
