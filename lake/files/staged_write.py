"""The base class of writers of files: the end of its context removes a file that is not finished."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class StagedWrite(ABC):
    """A context manager around a write of one or several files: on exit, a file that is not finished is removed."""

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the file that is not finished, if there is one."""
        self.discard(error)

    @abstractmethod
    def discard(self, error: BaseException | None = None) -> None:
        """Remove the unfinished file from storage; does nothing without one. Finished files stay.

        Args:
            error: The cause, if it is known.
        """
