"""Counters of the cost of reading data files."""

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class ReadCounters:
    """The cost of reading so far; the caller owns the counters.

    Attributes:
        files: Files opened.
        files_skipped: Files that were not opened because of their index.
        row_groups: Row groups decoded, in part or whole.
        row_groups_skipped: Row groups that the row filter excluded.
        rows: Rows decoded.
        columns: Columns decoded: name of the file and of the column, each pair once.
    """

    files: int = 0
    files_skipped: int = 0
    row_groups: int = 0
    row_groups_skipped: int = 0
    rows: int = 0
    columns: list[tuple[str, str]] = field(default_factory=list)
