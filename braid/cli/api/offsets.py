"""The position of a stream over HTTP: where it continues, and moves of a stopped stream."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from braid.cli.api.validations import show_problems
from braid.cli.arguments import refuse
from braid.cli.exits import EXIT_USAGE
from braid.cli.output import OutputFormat, TextTable, cell, print_document
from braid.schemas import OffsetRange, OffsetsRequest, PartitionChange
from braid.schemas.offsets import OFFSET_MAX, PARTITIONS_MAX

if TYPE_CHECKING:
    from braid.client import Stream


def offsets_request(
    assignments: Sequence[str], *, beyond_end: bool, dry_run: bool
) -> OffsetsRequest | None:
    """Return the requested offsets; None without any. Exits with one line when an assignment is invalid."""
    offsets: dict[str, int] = {}
    for text in assignments:
        partition, equals, offset = text.partition("=")
        is_valid = equals and partition.isdecimal() and offset.isdecimal()
        if not is_valid or int(offset) > OFFSET_MAX or int(partition) > PARTITIONS_MAX:
            refuse("--set", text, "expected PARTITION=OFFSET, such as 0=1200")
        if str(int(partition)) in offsets:
            refuse("--set", text, f"the partition {int(partition)} is given twice")
        offsets[str(int(partition))] = int(offset)
    if not offsets:
        if beyond_end or dry_run:
            refuse("--set", "", "expected at least one PARTITION=OFFSET")
        return None
    return OffsetsRequest(offsets=offsets, beyond_end=beyond_end)


def show_offsets(stream: "Stream", output: OutputFormat) -> None:
    """Print where a stream continues, by partition.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    found = stream.offsets()
    begins, ends = found.beginning_offsets or {}, found.end_offsets or {}
    rows = [
        (
            str(partition),
            str(offset),
            cell(begins.get(partition)),
            cell(ends.get(partition)),
            _ranges(found.skipped.get(partition, ())),
            _ranges(found.read_again.get(partition, ())),
        )
        for partition, offset in sorted(found.offsets.items())
    ]
    columns = ("partition", "next offset", "first offset", "end", "skipped", "read again")
    numbers = frozenset(columns[:4])
    print_document(found, output, TextTable(columns=columns, rows=rows, numbers=numbers))


def set_offsets(
    stream: "Stream", request: OffsetsRequest, *, is_dry_run: bool, output: OutputFormat
) -> int:
    """Set where a stopped stream continues, or only print what it would read again and skip.

    Returns:
        The exit status: 0; 2 if a dry run finds that the request would be refused.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    if is_dry_run:
        checked = stream.validate_offsets(request)
        show_problems(checked.errors)
        print_document(checked, output, _changes_text(checked.partitions))
        return 0 if checked.valid else EXIT_USAGE
    changed = stream.set_offsets(request)
    print_document(changed, output, _changes_text(changed.partitions))
    return 0


def _changes_text(partitions: Mapping[int, PartitionChange]) -> TextTable:
    fields = ("before", "after", "read_again", "read_late", "skipped")
    rows = [
        (str(partition), *(str(getattr(change, name)) for name in fields))
        for partition, change in sorted(partitions.items())
    ]
    columns = ("partition", *(name.replace("_", " ") for name in fields))
    return TextTable(columns=columns, rows=rows, numbers=frozenset(columns))


def _ranges(ranges: Sequence[OffsetRange]) -> str:
    return " ".join(f"{one.start}-{one.end}" for one in ranges)
