"""Findings of `braid doctor`."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    INFO = "info"  # not checked here, or worth knowing
    WARNING = "warning"  # works now, and may not for long
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check has found.

    Attributes:
        check: The check, such as `storage` or `stream shop.orders/payments`.
        level: How bad it is.
        found: What was found.
        advice: What to do; None where nothing is to be done.
    """

    check: str
    level: Level
    found: str
    advice: str | None = None
