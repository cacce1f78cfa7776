"""Report of the merge benchmark: lines that are printed as they are measured, and the same results as figures."""

from typing import Any

from benchmarks.figure import figure
from benchmarks.merging.cases import Case
from benchmarks.merging.measure import Measured

COLD_AIM = 2.0
DELETES_AIM = 2.0

HEADER = """
Millions of records per second. Warm is the best of five readings in one process, the two sides in
turn; x is ours over the reference's, (cpu) the same by processor time, which a busy machine
disturbs less. Both sides read the same files and take every value of every row, as a user of the
rows has to; [rows] is what x would be if the reference left the values of its rows alone. The rows
of both sides are compared.

                                           fold |   one core, warm               |   two cores, warm  |   one core, cold  |
line                                       ours |  ours   Java     x (cpu) [rows]|  ours   Java     x |  ours  Java     x | aim
"""


def row(case: Case, measured: Measured) -> str:
    """Return the row of a case."""
    one, two, cold = measured.warm[1], measured.warm[2], measured.cold
    missed = missed_aims(case, measured)
    mark = "ok" if not missed else f"MISSED: {', '.join(missed)}"

    def rate(seconds: float) -> float:
        return measured.records / seconds / 1e6

    return (
        f"{case.name:<40} {rate(measured.fold_s):6.2f} |"
        f"{rate(one.ours_s):6.2f} {rate(one.java_s):6.2f} {one.times:5.1f}"
        f" ({one.java_cpu_s / one.ours_cpu_s:3.1f}) [{one.java_rows_only_s / one.ours_s:3.1f}] |"
        f"{rate(two.ours_s):6.2f} {rate(two.java_s):6.2f} {two.times:5.1f} |"
        f"{cold.ours_s:5.1f}s {cold.java_s:4.1f}s {cold.times:4.1f} |"
        f" {case.aim_times:g} {mark}"
    )


def deletes_row(case: Case, measured: Measured) -> str:
    """Return what deletes cost, for a case that has them."""
    assert measured.deletes_cost is not None
    assert measured.folded_deletes_cost is not None
    mark = "ok" if measured.deletes_cost <= DELETES_AIM else "MISSED"
    return (
        f"  deletes cost {measured.deletes_cost:.2f} times the same line without, "
        f"{measured.folded_deletes_cost:.2f} times in memory   (aim {DELETES_AIM:g}) {mark}"
    )


def skipped_row(case: Case, reason: str) -> str:
    """Return the row of a case that could not be measured."""
    return f"{case.name:<40} skipped: {reason}"


def missed_aims(case: Case, measured: Measured) -> list[str]:
    """Return which aims the case misses, as text."""
    found = {
        "one core": (measured.warm[1].times, case.aim_times),
        "two cores": (measured.warm[2].times, case.aim_times),
        "cold": (measured.cold.times, COLD_AIM),
    }
    return [f"{what} {times:.2f} < {aim:g}" for what, (times, aim) in found.items() if times < aim]


def figures(case: Case, measured: Measured) -> list[dict[str, Any]]:
    """Return the numbers of a case as the benchmarks give them."""
    name, records = case.name, measured.records
    found = [figure(f"{name}: fold in memory", records / measured.fold_s, "records/s")]
    for cores, speed in measured.warm.items():
        where = f"{name}: warm, {cores} core(s)"
        found += [
            figure(f"{where}: ours", records / speed.ours_s, "records/s"),
            figure(f"{where}: reference", records / speed.java_s, "records/s"),
            figure(f"{where}: ours over reference", speed.times, "times", case.aim_times),
            figure(
                f"{where}: ours over reference, its values left alone",
                speed.java_rows_only_s / speed.ours_s,
                "times",
            ),
            figure(
                f"{where}: processor time of the reference over ours",
                speed.java_cpu_s / speed.ours_cpu_s,
                "times",
            ),
        ]
    found += [
        figure(f"{name}: cold: ours", measured.cold.ours_s, "s"),
        figure(f"{name}: cold: reference", measured.cold.java_s, "s"),
        figure(f"{name}: cold: ours over reference", measured.cold.times, "times", COLD_AIM),
    ]
    if measured.deletes_cost is not None:
        found.append(figure(f"{name}: deletes cost", measured.deletes_cost, "times", DELETES_AIM))
    return found
