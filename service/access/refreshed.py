"""Values that are loaded again and again in a thread, and read without waiting.

What is loaded lies on storage or on another server. A request reads the value that was loaded last. Only a request to which this value
gives no answer waits for the next one. While loading fails, the last value is used until it is too old.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

ValueT = TypeVar("ValueT")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTimes:
    """Times of a refreshed value, seconds.

    Attributes:
        every_s: Pause between two loads.
        pause_s: The least time between the beginnings of two loads, also if requests wait for the second.
        wait_s: The longest time that a request waits.
        kept_s: Age from which on a value is not used any more.
    """

    every_s: float
    pause_s: float
    wait_s: float
    kept_s: float


@dataclass(frozen=True, slots=True)
class _Loaded(Generic[ValueT]):
    value: ValueT
    began_s: float


class Refreshed(Generic[ValueT]):
    """A value that is loaded in a thread of its own. Close it at the end."""

    def __init__(
        self,
        load: Callable[[], ValueT],
        *,
        name: str,
        times: RefreshTimes,
        errors: tuple[type[Exception], ...],
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load nothing yet.

        Args:
            load: Returns the value; called in a thread, never twice at once.
            name: What is loaded, for the log.
            times: When it is loaded.
            errors: What `load` raises while it cannot load. Another exception is a bug, and logged with its trace; the next load may succeed.
            steady_s: A clock that nobody sets, seconds.
        """
        self._load = load
        self._name = name
        self._times: Final = times
        self._errors = errors
        self._steady_s = steady_s
        self._made_s = steady_s()
        self._loaded: _Loaded[ValueT] | None = None
        self._began_s: float | None = None
        self._failure: str | None = None
        self._loading: Future[None] | None = None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=f"refresh {name}")
        self._ends = threading.Event()

    def current(self) -> ValueT | None:
        """Return the value that was loaded last; None: none was, or it is too old."""
        loaded = self._loaded
        if loaded is None or self._steady_s() - loaded.began_s > self._times.kept_s:
            return None
        return loaded.value

    @property
    def age_s(self) -> float:
        """Seconds since the value was loaded; before that, since this object was made."""
        loaded = self._loaded
        return self._steady_s() - (self._made_s if loaded is None else loaded.began_s)

    async def newer(self, *, age_s: float = 0.0) -> ValueT | None:
        """Return a new value; None: it could not be loaded in time.

        Args:
            age_s: How long ago its load may have begun, seconds; 0: it begins after this call.
        """
        asked_s = self._steady_s() - age_s
        try:
            async with asyncio.timeout(self._times.wait_s):
                # Twice at most: the load that is under way may have begun before.
                while self._began_s is None or self._began_s < asked_s:
                    await asyncio.shield(asyncio.wrap_future(self._next_load()))
        except TimeoutError:
            return None
        loaded = self._loaded
        return loaded.value if loaded is not None and loaded.began_s >= asked_s else None

    async def follow(self) -> None:
        """Load the value now, and again and again, until this coroutine is cancelled."""
        while True:
            await asyncio.shield(asyncio.wrap_future(self._next_load()))
            await asyncio.sleep(self._times.every_s)

    def close(self) -> None:
        """End the thread, once a load that is under way has ended."""
        self._ends.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _next_load(self) -> Future[None]:
        loading = self._loading
        if loading is None or loading.done():
            loading = self._loading = self._threads.submit(self._load_after_pause)
        return loading

    def _load_after_pause(self) -> None:
        if self._began_s is not None:
            rest_s = self._began_s + self._times.pause_s - self._steady_s()
            if rest_s > 0 and self._ends.wait(rest_s):
                return
        began_s = self._steady_s()
        try:
            self._loaded = _Loaded(self._load(), began_s)
        except Exception as error:
            # Whatever it is: without further loads a revoked token would stay valid.
            message = "; ".join(str(error).splitlines())[:1_000]
            if message != self._failure:  # logged once, not at each load
                trace = None if isinstance(error, self._errors) else error
                logger.warning("%s cannot be loaded: %s", self._name, message, exc_info=trace)
            self._failure = message
        else:
            if self._failure is not None:
                logger.info("%s can be loaded again", self._name)
            self._failure = None
        finally:
            self._began_s = began_s
