"""Runs a folder of conformance cases through both merge machines: `python -m tests.conformance.run FOLDER`.

A folder holds `*.jsonl` files, one case a line, and `tables/<id>/` with golden tables. A case counts once: it
has passed when both machines gave the expected outcome at every step, is different on purpose where the engine
is meant to answer otherwise, is skipped when one met a feature that the engine does not have yet (and nothing
before it was wrong), and has failed otherwise.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from braid.lake import Machine
from tests.conformance.case import Case, read_cases
from tests.conformance.execute import run_table_case
from tests.conformance.golden import golden_checks
from tests.conformance.merge_level import run_merge_case
from tests.conformance.outcome import Mismatch, NotYet, OnPurpose, Outcome, Verdict

BOTH: Final = tuple(Machine)
_REASON_LENGTH_MAX = 300
"""A failure is one line; the rest of a long row is in the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to run: a case, or what is asked of a golden table.

    Attributes:
        name: `<file or folder>/<id of the case>`, unique in its folder.
        run: Runs it through some machines.
        case: The case, where it is one.
    """

    name: str
    run: Callable[[Sequence[Machine]], Outcome]
    case: Case | None = None


def checks(folder: Path) -> Iterator[Check]:
    """Yield what a folder has to run: files of cases in alphabetical order, then golden tables.

    Raises:
        FileNotFoundError: There is no such folder, or nothing to run in it.
    """
    found = [*sorted(folder.glob("*.jsonl")), *sorted(folder.glob("tables/*/expected.json"))]
    if not found:
        message = f"no *.jsonl and no tables/<id>/expected.json in {folder}"
        raise FileNotFoundError(message)
    for part in found:
        yield from _golden(part.parent) if part.suffix == ".json" else _cases(part)


def _cases(file: Path) -> Iterator[Check]:
    for case in read_cases(file):
        yield Check(name=f"{file.stem}/{case.id}", run=partial(run_case, case), case=case)


def _golden(folder: Path) -> Iterator[Check]:
    for name, check in golden_checks(folder):
        yield Check(name=f"{folder.name}/{name}", run=partial(_judge, name, check))


def run_case(case: Case, machines: Sequence[Machine] = BOTH) -> Outcome:
    """Run one case through some machines."""
    run = run_merge_case if case.level == "merge" else run_table_case
    return _judge(case.id, partial(run, case), machines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print failures, skipped cases by reason and the totals; return 1 when anything failed."""
    parser = argparse.ArgumentParser(description="Run conformance cases through both machines.")
    parser.add_argument("folder", type=Path)
    counts: Counter[Verdict] = Counter()
    reasons: Counter[tuple[Verdict, str]] = Counter()
    for check in checks(parser.parse_args(arguments).folder):
        outcome = check.run(BOTH)
        counts[outcome.verdict] += 1
        if outcome.verdict is Verdict.FAILED:
            print(f"FAILED {outcome.case_id}: {outcome.reason}")
        elif outcome.reason:
            reasons[outcome.verdict, outcome.reason] += 1
    for (verdict, reason), count in reasons.most_common():
        print(f"{verdict.value} {count:4}: {reason}")
    print(", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict))
    return int(counts[Verdict.FAILED] > 0)


def _judge(case_id: str, run: Callable[[Machine], None], machines: Sequence[Machine]) -> Outcome:
    outcomes = [_judge_machine(case_id, machine, run) for machine in machines]
    for verdict in (Verdict.FAILED, Verdict.SKIPPED, Verdict.DIFFERENT):
        for outcome in outcomes:
            if outcome.verdict is verdict:
                return outcome
    return outcomes[0]


def _judge_machine(case_id: str, machine: Machine, run: Callable[[Machine], None]) -> Outcome:
    try:
        run(machine)
    except NotYet as reason:
        return Outcome(case_id=case_id, verdict=Verdict.SKIPPED, reason=str(reason))
    except OnPurpose as reason:
        return Outcome(case_id=case_id, verdict=Verdict.DIFFERENT, reason=str(reason))
    except Mismatch as reason:
        return _failed(case_id, machine, str(reason))
    except Exception as error:  # noqa: BLE001  # an engine that crashes fails one case, not the run
        return _failed(case_id, machine, f"crashed with {type(error).__name__}: {error}")
    return Outcome(case_id=case_id, verdict=Verdict.PASSED)


def _failed(case_id: str, machine: Machine, reason: str) -> Outcome:
    line = " ".join(f"{machine.name} {reason}".split())
    if len(line) > _REASON_LENGTH_MAX:
        line = line[: _REASON_LENGTH_MAX - 1] + "…"
    return Outcome(case_id=case_id, verdict=Verdict.FAILED, reason=line)


if __name__ == "__main__":
    sys.exit(main())
