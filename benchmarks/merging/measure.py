"""Measurement of one line, with both sides in turn, so that other load on the machine affects both."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.merging import sides
from benchmarks.merging.sides import Side

REPEATS = 5
COUNTS = 3
FOLDS = 3
COLDS = 2
CORES = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Both sides' best time for the same work.

    Attributes:
        ours_s: Ours, wall clock.
        java_s: The reference's, wall clock.
        ours_cpu_s: Ours, processor time.
        java_cpu_s: The reference's, processor time, its compiler's and collector's included.
        java_rows_only_s: The reference's, when the values of its rows are left where they are, of
            which many are then never decoded; our batches always hold them. 0 where not measured.
    """

    ours_s: float
    java_s: float
    ours_cpu_s: float = 0.0
    java_cpu_s: float = 0.0
    java_rows_only_s: float = 0.0

    @property
    def times(self) -> float:
        """How many times as fast as the reference we are."""
        return self.java_s / self.ours_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that is measured of one line.

    Attributes:
        records: Taken in by a merge.
        rows: Given out by it.
        fold_s: Merging everything in memory on one core.
        warm: By number of cores.
        cold: On one core, from the start of the process to its end.
        deletes_cost: How many times the processor time of the line without deletes; None where
            there is no such line.
        folded_deletes_cost: The same of merging in memory.
    """

    records: int
    rows: int
    fold_s: float
    warm: Mapping[int, Speed]
    cold: Speed
    deletes_cost: float | None = None
    folded_deletes_cost: float | None = None


class DifferentRows(Exception):
    """The two sides do not read the same."""


def measure(
    table: Path, *, records: int, without: Path | None, progress: Callable[[str], None]
) -> Measured:
    """Measure a table.

    Args:
        table: Its directory.
        records: In its files.
        without: Directory of the same line without deletes, read in turn with this one.
        progress: Called with the current step.

    Raises:
        SideFailed: A side cannot read the table.
        DifferentRows: The sides read different rows.
    """
    warm = {}
    costs: dict[str, float] = {}
    rows, fold_s = 0, 0.0
    for cores in CORES:
        progress(f"warm, {cores} core(s)")
        with ExitStack() as stack:
            ours = stack.enter_context(sides.ours(table, cores=cores))
            java = stack.enter_context(sides.java(table, cores=cores))
            rows = _same_rows(ours, java)
            readers = {"ours": ours, "java": java}
            if without is not None and cores == 1:
                readers["without"] = stack.enter_context(sides.ours(without, cores=cores))
            reads = _best(readers, "read", REPEATS)
            counts = _best({"java": java}, "count", COUNTS)
            warm[cores] = Speed(
                ours_s=reads["ours"]["wall_ms"] / 1_000,
                java_s=reads["java"]["wall_ms"] / 1_000,
                ours_cpu_s=reads["ours"]["cpu_ms"] / 1_000,
                java_cpu_s=reads["java"]["cpu_ms"] / 1_000,
                java_rows_only_s=counts["java"]["wall_ms"] / 1_000,
            )
            if cores == 1:
                folders = {name: side for name, side in readers.items() if side is not java}
                folds = _best(folders, "fold", FOLDS)
                fold_s = folds["ours"]["wall_ms"] / 1_000
                costs = {"read": _cost(reads), "fold": _cost(folds)} if without else {}
    progress("cold")
    return Measured(
        records=records,
        rows=rows,
        fold_s=fold_s,
        warm=warm,
        cold=_cold(table),
        deletes_cost=costs.get("read"),
        folded_deletes_cost=costs.get("fold"),
    )


def _same_rows(ours: Side, java: Side) -> int:
    """Return the number of rows; this also warms both sides up."""
    read = ours.ask("checksum"), java.ask("checksum")
    if read[0] != read[1]:
        message = f"ours {read[0]}, the reference {read[1]}"
        raise DifferentRows(message)
    return int(read[0]["rows"])


def _best(readers: Mapping[str, Side], request: str, repeats: int) -> dict[str, dict[str, Any]]:
    """Let the sides work in turn; return the least of each side's numbers."""
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in readers}
    for _ in range(repeats):
        for name, side in readers.items():
            answers[name].append(side.ask(request))
    return {
        name: {key: min(answer[key] for answer in several) for key in several[0]}
        for name, several in answers.items()
    }


def _cost(best: Mapping[str, Mapping[str, Any]]) -> float:
    return float(best["ours"]["cpu_ms"] / best["without"]["cpu_ms"])


def _cold(table: Path) -> Speed:
    ours_s, java_s = [], []
    for _ in range(COLDS):
        ours_s.append(sides.cold_s(sides.ours, table, cores=1))
        java_s.append(sides.cold_s(sides.java, table, cores=1))
    return Speed(ours_s=min(ours_s), java_s=min(java_s))
