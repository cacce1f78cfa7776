"""The base class of writes that are discarded, at the end of their context, unless they are finished."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class StagedWrite(ABC):
    """A context manager around one write: on exit, a write that is not finished is discarded."""

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Discard the write unless it is finished."""
        self.discard(error)

    @abstractmethod
    def discard(self, error: BaseException | None = None) -> None:
        """Remove the written bytes from storage; does nothing when the write is finished or not begun.

        Args:
            error: The cause, if it is known.
        """
