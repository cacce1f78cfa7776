"""The formats of exported files."""

from enum import StrEnum
from pathlib import Path

from braid.arguments import refuse


class ExportFormat(StrEnum):
    """A format of files; the value is the ending of their names, too."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"


def format_of(target: Path, text: str | None) -> ExportFormat:
    """Return the format that is meant: as said, else by the target's ending.

    Ends the process with one line when it is none.
    """
    known = tuple(ExportFormat)
    if text is not None:
        if text not in known:
            refuse("--format", text, f"expected one of {', '.join(known)}")
        return ExportFormat(text)
    ending = target.suffix.removeprefix(".").lower()
    if ending not in known:
        expected = f"expected the ending {', '.join(known)}, or --format"
        refuse("TARGET", str(target), expected)
    return ExportFormat(ending)
