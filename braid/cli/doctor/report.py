"""Findings of `braid doctor` as text."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from braid.cli.doctor.findings import Finding, Level
from braid.cli.output import TextTable

_STYLES: Final = {
    Level.OK: "green",
    Level.INFO: "dim",
    Level.WARNING: "yellow",
    Level.PROBLEM: "bold red",
}


def findings_text(findings: Sequence[Finding]) -> TextTable:
    """Return a line for each finding, and one more for what to do."""
    rows: list[tuple[str | Text, ...]] = []
    for one in findings:
        rows.append((Text(one.level.value, _STYLES[one.level]), one.check, one.found))
        if one.advice is not None:
            rows.append(("", "", f"-> {one.advice}"))
    return TextTable(columns=("level", "check", "found"), rows=rows)
