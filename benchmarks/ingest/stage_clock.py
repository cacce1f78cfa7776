"""Clock that divides the processor time of a process among stages: time counts for the innermost stage that is open."""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, ParamSpec, TypeVar
from unittest import mock

P = ParamSpec("P")
T = TypeVar("T")
REST: Final = "rest"


class StageClock:
    """Seconds by stage. Not thread-safe.

    Example:
        >>> ticks = iter([0.0, 1.0, 3.0, 4.0])
        >>> clock = StageClock(lambda: next(ticks))
        >>> with clock.stage("outer"):
        ...     with clock.stage("inner"):
        ...         pass
        >>> clock.seconds
        {'outer': 2.0, 'inner': 2.0}
    """

    def __init__(self, now: Callable[[], float] = time.process_time) -> None:
        """Make a clock.

        Args:
            now: Seconds; by default processor time of this process, all threads.
        """
        self._now = now
        self._stack: list[str] = []
        self._since = 0.0
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Give the time until the end of the context to a stage, except what stages within it get."""
        self._turn()
        self._stack.append(name)
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._turn()
            self._stack.pop()

    def timed(self, name: str, function: Callable[P, T]) -> Callable[P, T]:
        """Return a function whose calls are a stage."""

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.stage(name):
                return function(*args, **kwargs)

        return call

    def iterated(self, name: str, items: Iterator[T]) -> Iterator[T]:
        """Yield the items; waiting for each is a stage."""
        end = object()
        while True:
            with self.stage(name):
                item: Any = next(items, end)
            if item is end:
                return
            yield item

    @contextmanager
    def installed(self, stages: Mapping[tuple[object, str], str]) -> Iterator[None]:
        """Make calls of functions stages, while the context is open.

        Args:
            stages: Stage by function: the module or class that it is looked up in, and its name there.
        """
        with ExitStack() as opened:
            for (owner, name), stage in stages.items():
                timed = self.timed(stage, getattr(owner, name))
                opened.enter_context(mock.patch.object(owner, name, timed))
            yield

    def _turn(self) -> None:
        now = self._now()
        if self._stack:
            self.seconds[self._stack[-1]] += now - self._since
        self._since = now
