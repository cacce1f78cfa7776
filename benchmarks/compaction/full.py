"""Measurement of full compactions, by both sides in turn: each bucket has four files with overlapping keys."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compaction import sides
from benchmarks.compaction.sides import Compactor, OurSide
from benchmarks.merging.measure import DifferentRows, Speed

WARM_UPS = 1
REPEATS = 3
CORES = (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullLine:
    """What is measured of one table.

    Attributes:
        records: In the files before.
        rows: After.
        speed: By number of cores.
        read_before_s: Reading all rows from four files with our reader, one core.
        read_after_s: The same from what we compacted.
    """

    records: int
    rows: int
    speed: Mapping[int, Speed]
    read_before_s: float
    read_after_s: float


def measure_full(
    table: Path, scratch: Path, *, records: int, progress: Callable[[str], None]
) -> FullLine:
    """Compact copies of a table.

    Args:
        table: Its directory.
        scratch: A folder on the same file system, for copies.
        records: In its files.
        progress: Called with the current step.

    Raises:
        SideFailed: A side cannot compact the table.
        DifferentRows: What the sides compacted holds different rows.
    """
    speed: dict[int, Speed] = {}
    read_before_s, read_after_s, rows = 0.0, 0.0, 0
    for cores in CORES:
        progress(f"{cores} core(s)")
        with ExitStack() as stack:
            ours = stack.enter_context(sides.ours(cores=cores))
            java = stack.enter_context(sides.java(cores=cores))
            best = _best({"ours": ours, "java": java}, table, scratch)
            speed[cores] = Speed(
                ours_s=best["ours"]["wall_ms"] / 1_000,
                java_s=best["java"]["wall_ms"] / 1_000,
                ours_cpu_s=best["ours"]["cpu_ms"] / 1_000,
                java_cpu_s=best["java"]["cpu_ms"] / 1_000,
            )
            if cores == 1:
                rows = _same_rows(ours, scratch)
                read_before_s = _read_s(ours, table)
                read_after_s = _read_s(ours, scratch / "ours")
        shutil.rmtree(scratch)
    return FullLine(
        records=records,
        rows=rows,
        speed=speed,
        read_before_s=read_before_s,
        read_after_s=read_after_s,
    )


def _best(
    compactors: Mapping[str, Compactor], table: Path, scratch: Path
) -> dict[str, dict[str, float]]:
    """Let the sides compact in turn; leave what they did last; return each side's least numbers."""
    answers: dict[str, list[dict[str, float]]] = {name: [] for name in compactors}
    for _ in range(WARM_UPS + REPEATS):
        for name, compactor in compactors.items():
            shutil.rmtree(scratch / name, ignore_errors=True)
            answers[name].append(compactor.compact(sides.copy_table(table, scratch / name)))
    return {
        name: {key: min(a[key] for a in several[WARM_UPS:]) for key in ("wall_ms", "cpu_ms")}
        for name, several in answers.items()
    }


def _same_rows(reader: OurSide, scratch: Path) -> int:
    read = [reader.ask(do="read", table=str(scratch / name)) for name in ("ours", "java")]
    found = [(int(one["rows"]), int(one["checksum"])) for one in read]
    if found[0] != found[1]:
        message = f"ours {found[0]}, the reference {found[1]}"
        raise DifferentRows(message)
    return found[0][0]


def _read_s(reader: OurSide, table: Path) -> float:
    return min(reader.ask(do="read", table=str(table))["wall_ms"] for _ in range(3)) / 1_000
