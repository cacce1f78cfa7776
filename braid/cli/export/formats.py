"""Formats of exported files: their names, and the choice of a format by the target's suffix."""

from enum import StrEnum
from pathlib import Path

from braid.cli.arguments import refuse


class ExportFormat(StrEnum):
    """A format of files; its value is also the suffix of their names."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"


def format_of(target: Path, text: str | None) -> ExportFormat:
    """Return the format named by `text`, else by the target's suffix.

    Exits with one line when it is unknown.
    """
    known = tuple(ExportFormat)
    if text is not None:
        if text not in known:
            refuse("--format", text, f"expected one of {', '.join(known)}")
        return ExportFormat(text)
    suffix = target.suffix.removeprefix(".").lower()
    if suffix not in known:
        expected = f"expected the suffix {', '.join(known)}, or --format"
        refuse("TARGET", str(target), expected)
    return ExportFormat(suffix)
