"""Tests that repeat until a time is over: `make soak`, an hour unless `SOAK_MINUTES` says otherwise."""

import os
import time
from collections.abc import Callable

MINUTES = 60.0


def soak(work: Callable[[int], object]) -> int:
    """Do something again and again until the time is over, at least once; return how often.

    Args:
        work: Gets 0, 1, 2…, to draw from.
    """
    minutes = float(os.environ.get("SOAK_MINUTES", MINUTES))
    end = time.monotonic() + 60 * minutes
    count = 0
    while not count or time.monotonic() < end:
        work(count)
        count += 1
    print(f"{count} rounds in {minutes:g} minutes")
    return count
