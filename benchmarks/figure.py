"""Figures of the benchmarks, and the clock that measures them."""

import time
from collections.abc import Callable
from typing import Any


def figure(name: str, value: float, unit: str, aim: float | None = None) -> dict[str, Any]:
    """Return a figure as the benchmarks print it.

    Args:
        name: What was measured, with the sizes that matter.
        value: The number.
        unit: Its unit.
        aim: The number aimed at; None: measured, not aimed at.
    """
    return {"name": name, "value": value, "unit": unit, "aim": aim}


def figure_line(figure: dict[str, Any]) -> str:
    """Return the line that shows a figure."""
    aim = "" if figure["aim"] is None else f"   (aim {figure['aim']:,})"
    value = figure["value"]
    digits = 0 if abs(value) >= 1_000 else 2
    return f"  {figure['name']:<72} {value:>14,.{digits}f} {figure['unit']}{aim}"


def best_s(
    work: Callable[[], object],
    *,
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the seconds of the fastest of several calls: the one that was disturbed least.

    Args:
        work: What is measured.
        repeats: The number of calls.
        clock: The clock; `time.process_time` measures processor time.
    """
    seconds = []
    for _ in range(repeats):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)
