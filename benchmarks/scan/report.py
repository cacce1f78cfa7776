"""Report of the scan benchmark: lines that are printed as they are measured, and the same results as figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.figure import figure
from benchmarks.scan.lines import Line

JAVA_AIM = 2.0
PYARROW_AIM = 0.8

HEADER = f"""
Milliseconds of one reading, the best of several, the sides in turn; x is how many times as fast ours
is, (cpu) the same by processor time, which a busy machine disturbs less. Aims: {JAVA_AIM:g} times Java,
{PYARROW_AIM:g} times plain pyarrow, which knows no keys and reads compacted files only.

                                          |   rows |     ours |    Java     x (cpu) | pyarrow     x (cpu) |  ours, rows/s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of one table.

    Attributes:
        table: Which one.
        line: What was read.
        cores: Of each side.
        rows: Given out.
        best: By side, the least `wall_ms` and `cpu_ms`.
    """

    table: str
    line: Line
    cores: int
    rows: int
    best: Mapping[str, Mapping[str, float]]

    @property
    def name(self) -> str:
        """Table, line and cores."""
        cores = "one core" if self.cores == 1 else f"{self.cores} cores"
        return f"{self.table}, {self.line.name}, {cores}"

    def times(self, other: str, unit: str = "wall_ms") -> float:
        """Return how many times as fast as another side we are."""
        return self.best[other][unit] / self.best["ours"][unit]


def row(measured: Measured) -> str:
    """Return the row of a line."""
    ours_ms = measured.best["ours"]["wall_ms"]
    columns = [f"{measured.name:<42}|{measured.rows:>8,}|{ours_ms:>10.1f}"]
    columns += [_beside(measured, other) for other in ("java", "pyarrow")]
    rate = f"{measured.rows / ours_ms * 1_000:>14,.0f}" if measured.line.is_bulk else " " * 14
    return " |".join([*columns, rate])


def figures(measured: Measured) -> list[dict[str, Any]]:
    """Return the numbers of a line as the benchmarks give them."""
    name = f"scan: {measured.name}"
    found = [
        figure(f"{name}: {side}", best["wall_ms"], "ms") for side, best in measured.best.items()
    ]
    if measured.line.is_bulk:
        rate = measured.rows / measured.best["ours"]["wall_ms"] * 1_000
        found.append(figure(f"{name}: ours", rate, "rows/s"))
    for other, aim in (("java", JAVA_AIM), ("pyarrow", PYARROW_AIM)):
        if other in measured.best:
            found.append(figure(f"{name}: over {other}", measured.times(other), "times", aim))
            cpu = measured.times(other, "cpu_ms")
            found.append(figure(f"{name}: processor time over {other}", cpu, "times"))
    return found


def _beside(measured: Measured, other: str) -> str:
    if other not in measured.best:
        return " " * 21
    aim = JAVA_AIM if other == "java" else PYARROW_AIM
    mark = " " if measured.times(other) >= aim else "!"
    wall = f"{measured.best[other]['wall_ms']:>8.1f} {measured.times(other):>5.1f}{mark}"
    return f"{wall}({measured.times(other, 'cpu_ms'):4.1f})"
