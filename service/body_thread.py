"""Thread for request bodies, in which they are parsed and validated one after another.

For bodies above 16 KiB, the thread also checks depth, number of values and zero bytes (`guard/body_bounds`).

Parsing and validation are compiled code, which holds the interpreter lock until it ends. On the event loop,
or in several threads at once, `/health` would wait for the bodies of all simultaneous requests; with one
thread it waits for one body at most. (With parsing on the event loop, a body with 640 KB of wrong keys
delayed `/health` by eight seconds.)
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

SMALL = 16 << 10
"""Bytes; a smaller body is checked or parsed in less time than the switch to another thread takes."""

P = ParamSpec("P")
T = TypeVar("T")


class BodyThread:
    """Runs work on bodies outside the event loop; the thread starts with the first work."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bodies")

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the work after the work queued before it; return its result, or raise its exception."""
        future = self._executor.submit(work, *args, **kwargs)
        return await asyncio.wrap_future(future)
