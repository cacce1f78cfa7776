"""How a case ends: as expected, otherwise, or at something the engine does not have yet."""

import enum
from dataclasses import dataclass


class Verdict(enum.Enum):
    """The three ways a case is counted."""

    PASSED = "passed"
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


class NotYet(Exception):
    """The case needs a step or a feature that the engine does not have; the message names it."""
