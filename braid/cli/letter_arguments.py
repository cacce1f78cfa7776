"""Selections of dead letters as arguments of a command, and a dead letter as a line of text."""

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

from braid.cli.arguments import refuse
from braid.schemas import LetterSelection, ListedLetter, OffsetSpan
from braid.schemas.offsets import OFFSET_MAX

_SHOWN_CHARACTERS: Final = 100


def selection(reasons: Sequence[str], offsets: Sequence[str]) -> LetterSelection:
    """Return the selection of `--reason` and `--offsets`; exit with one line for an invalid range.

    Args:
        reasons: Names of reasons.
        offsets: `PARTITION:START-END`, the end not included, one for a partition.
    """
    spans = {}
    for text in offsets:
        partition, _, rest = text.partition(":")
        start, _, end = rest.partition("-")
        if not all(part.isdecimal() for part in (partition, start, end)) or int(start) >= int(end):
            expected = "expected PARTITION:START-END, such as 0:1200-1300; the offset END is not in the range"
            refuse("--offsets", text, expected)
        if str(int(partition)) in spans:
            refuse(
                "--offsets",
                text,
                f"expected one range for each partition, found a second one of partition {int(partition)}",
            )
        try:
            spans[str(int(partition))] = OffsetSpan(start=int(start), end=int(end))
        except ValidationError:
            refuse("--offsets", text, f"expected offsets up to {OFFSET_MAX}")
    return LetterSelection(reasons=tuple(reasons), offsets=spans)


def letter_line(letter: ListedLetter) -> str:
    """Return a dead letter as a line: its place, whether it was replayed, the reason, the beginning of the value."""
    value = "-" if letter.value is None else letter.value
    text = " ".join(f"{letter.message} | {value[:_SHOWN_CHARACTERS]}".split())
    return f"{letter.partition}:{letter.offset} {letter.standing} {letter.reason}: {text}"
