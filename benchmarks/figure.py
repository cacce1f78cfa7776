"""One measured number."""

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
