"""Lines of the scan benchmark: the columns and rows that each line reads."""

import json
from dataclasses import dataclass

import numpy as np

from benchmarks.scan.tables import INDEXED, codes

KEY_RANGE_PART = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One way to read the table.

    Attributes:
        name: As it is printed.
        columns: Of the result; empty means all.
        where: Column, operator and value of each condition.
        is_bulk: Enough rows are read for rows per second to mean something.
    """

    name: str
    columns: tuple[str, ...] = ()
    where: tuple[tuple[str, str, int | str], ...] = ()
    is_bulk: bool = True

    @property
    def choice(self) -> str:
        """The line as it is sent to the readers, in JSON."""
        choice: dict[str, object] = {}
        if self.columns:
            choice["columns"] = self.columns
        if self.where:
            choice["where"] = self.where
        return json.dumps(choice)


def lines(rows_of_day: int) -> list[Line]:
    """Return the lines for a table.

    Args:
        rows_of_day: Rows of each partition; their ids count from 0.
    """
    first = rows_of_day // 2
    last = first + int(rows_of_day * KEY_RANGE_PART)
    code = codes(2, np.array([rows_of_day // 3]))[0].as_py()
    return [
        Line(name="every row"),
        Line(name="two columns", columns=("price", "label")),
        Line(name="one partition", where=(("day", "=", 2),)),
        Line(name="1 % by key", where=(("id", ">=", first), ("id", "<", last))),
        Line(name="one by file index", where=((INDEXED, "=", code),), is_bulk=False),
    ]
