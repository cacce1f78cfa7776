"""Requests for maintenance, by which a runner's streams start its next maintenance check early.

After each commit a stream knows how many runs each bucket has. If several streams commit a few times a second, a bucket would
get more runs between two checks than a read should merge.
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
