"""The one thread in which bodies are checked, parsed and made into models, one after another.

Parsing and checking run in C, and hold the interpreter for as long as they take. On the event loop, or in
many threads at once, the requests of a moment would keep `/health` waiting for all of them; here it
waits for one at most.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class BodyThread:
    """Runs work on bodies away from the event loop; the thread comes with the first of it."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bodies")

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the work returns, or raise what it raises, when its turn has come."""
        future = self._executor.submit(work, *args, **kwargs)
        return await asyncio.wrap_future(future)
