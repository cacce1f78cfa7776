"""What is on its way to storage, and does not stay there half done."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class StagedWrite(ABC):
    """A context: what is not finished when it ends is discarded."""

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what is not finished."""
        self.discard(error)

    @abstractmethod
    def discard(self, error: BaseException | None = None) -> None:
        """Remove it from storage; nothing happens when it is finished or not begun.

        Args:
            error: Why, if it is known.
        """
