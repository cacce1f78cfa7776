"""Counters of the cost of reading data files."""

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class ReadCounters:
    """The cost of reading so far; the caller owns the counters.

    Attributes:
        files: Files opened; a file counts each time.
        files_skipped: Files left out one by one because of an index beside them; files of a section that is left
            out as a whole are not counted.
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
