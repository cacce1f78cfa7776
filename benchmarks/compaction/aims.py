"""Aim of a figure of the compaction benchmark: whether it is reached, and its printed form; `report` has the limits."""

from dataclasses import dataclass
from typing import Any

from benchmarks.figure import figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A figure with an aim.

    Attributes:
        what: Was measured.
        found: The figure.
        unit: Of it.
        limit: What is aimed at.
        is_most: The figure is to be at most the limit; else at least.
    """

    what: str
    found: float
    unit: str
    limit: float
    is_most: bool = False

    @property
    def is_met(self) -> bool:
        """Return whether the figure reaches the aim."""
        return self.found <= self.limit if self.is_most else self.found >= self.limit

    def figure(self) -> dict[str, Any]:
        """Return the figure as the benchmarks give it."""
        return {**figure(self.what, self.found, self.unit, self.limit), "met": self.is_met}

    def __str__(self) -> str:
        """Return both numbers."""
        relation = "at most" if self.is_most else "at least"
        return f"{self.what}: {self.found:.2f} {self.unit}, aim {relation} {self.limit:g}"


def mark(aims: list[Aim]) -> str:
    """Return the end of a row: ok, or which aims are missed."""
    missed = [f"{aim.found:.2f} {aim.unit}" for aim in aims if not aim.is_met]
    return f"MISSED ({', '.join(missed)})" if missed else "ok"


def summary(aims: list[Aim]) -> str:
    """Return how many aims are met, and each that is missed."""
    missed = [aim for aim in aims if not aim.is_met]
    lines = [f"{len(aims) - len(missed)} of {len(aims)} aims met"]
    return "\n".join([*lines, *(f"MISSED: {aim}" for aim in missed)])
