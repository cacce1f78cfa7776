"""Waiting for what another thread, process or machine brings about.

No other test depends on a clock; `tests.support.soaking` reads it to end a soak. A busy machine makes a test
slow and never makes it fail: the bound here, like pytest's own, only catches what hangs.
"""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 600.0
"""Before something counts as hanging; below the bound of a whole test, so that the failure names what was waited for."""


def wait_until(
    is_so: Callable[[], object],
    *,
    every_s: float = 0.02,
    what: Callable[[], object] = lambda: "it did not come to be",
) -> None:
    """Return as soon as something is so.

    Args:
        is_so: Asked again and again.
        every_s: Pause between two questions.
        what: Says in the end what is not so; asked only then.

    Raises:
        AssertionError: It is not so after `PATIENCE_S`.
    """
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, what()
        time.sleep(every_s)
