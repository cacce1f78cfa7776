"""State of a process that serves: from the signal to end on it is not ready, and answers what it has begun."""

from braid.lake import LakeError


class ServiceStops(LakeError):
    """The process ends; another one continues, for subscriptions from the cursor."""


class Lifecycle:
    """The state of the process."""

    def __init__(self) -> None:
        """Take requests."""
        self._is_ending = False

    def end(self) -> None:
        """Say from now on that the process is not ready."""
        self._is_ending = True

    def check(self) -> None:
        """Return while the process takes requests.

        Raises:
            ServiceStops: It ends.
        """
        if self._is_ending:
            message = "this process of the service ends: send requests to another one"
            raise ServiceStops(message)
