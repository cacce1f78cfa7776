"""Outcomes of a case: as expected, different, different on purpose, or not supported by the engine."""

import enum
import re
from dataclasses import dataclass

from braid.lake import UnsupportedFeature


class Verdict(enum.Enum):
    """The ways a case is counted."""

    PASSED = "passed"
    DIFFERENT = "different on purpose"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on one case and, unless it passed, why in one line."""

    case_id: str
    verdict: Verdict
    reason: str = ""


class Mismatch(Exception):
    """The engine did something else than the case expects."""


class OnPurpose(Exception):
    """The engine answered where, or as, the reference does not, as it is meant to; the message says why."""


class NotYet(Exception):
    """The case needs a step or a feature that the engine does not have; the message names it."""


def unsupported(error: UnsupportedFeature) -> NotYet:
    """Return the engine's refusal in words that cases of one kind share: an option and its value."""
    if not error.problems:
        return NotYet(first_line(error))
    problem = error.problems[0]
    option = re.sub(r"^fields\.[^.]*\.", "fields.<column>.", problem.field)
    return NotYet(option if problem.value is None else f"{option} = {problem.value}")


def first_line(error: BaseException) -> str:
    """Return what an error says, shortly: an engine's first line and the first thing it names."""
    lines = str(error).splitlines()
    return ": ".join(lines[:2]) if lines else type(error).__name__
