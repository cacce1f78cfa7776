"""Check of a table's changelog: Java reads the same one, and its changes add up to the table's rows."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from braid.lake import Table
from braid.lake.format.system_columns import VALUE_KIND, RowKind
from tests.conformance.case import Case
from tests.conformance.compare import difference
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import json_rows
from tests.interop.twins import difference_of

FOLLOWS_ROWS = ("lookup", "full-compaction")
"""Producers whose changes add up to the rows that are compacted."""


class ChangelogCheck:
    """Follows a table from its first snapshot on."""

    def __init__(self, case: Case, java: JavaDriver, path: Path) -> None:
        self._case = case
        self._java = java
        self._path = path
        self._known = 0
        self._rows: dict[str, list[Any]] = {}
        self._keys = [1 + case.names.index(name) for name in case.primary_key]

    def follow(self, table: Table) -> str | None:
        """Read what is new; return in words how Java and we differ, None if we do not."""
        newest = table.latest_snapshot()
        if newest is None or newest.id <= self._known:
            return None
        arguments = {"from": self._known + 1, "to": newest.id}
        theirs = dict(self._java.do("changelog", self._path, **arguments))
        schema = pa.schema([pa.field(VALUE_KIND, pa.int8()), *self._case.arrow_schema])
        ours = {part.snapshot_id: part.to_arrow() for part in table.changes(self._known, newest.id)}
        self._known = newest.id
        for number in sorted(theirs.keys() | ours.keys()):
            expected = [_with_number(row) for row in theirs.get(number, [])]
            found = ours.get(number, schema.empty_table())
            differs = difference(expected, found, schema=schema, hints=self._case.compare)
            if differs is not None:
                return f"changes of snapshot {number}: {differs}"
            self._apply(found)
        return None

    def mark(self) -> dict[str, list[Any]]:
        """Return what the changes add up to so far."""
        return dict(self._rows)

    def go_back(self, snapshot_id: int, mark: dict[str, list[Any]]) -> None:
        """Go on from an older snapshot."""
        self._known = snapshot_id
        self._rows = dict(mark)

    def difference_from(self, rows: pa.Table) -> str | None:
        """Return how the changes so far, added up, differ from rows; None if they do not.

        Without a difference, too, where the table's changes do not follow its rows.
        """
        if self._case.options.get("changelog-producer") not in FOLLOWS_ROWS:
            return None
        found = [row[1:] for row in self._rows.values()]
        return difference_of(self._case, found, rows)

    def _apply(self, changes: pa.Table) -> None:
        for row in json_rows(changes):
            key = json.dumps([row[position] for position in self._keys])
            if RowKind(row[0]).is_retract:
                self._rows.pop(key, None)
            else:
                self._rows[key] = row


def _with_number(row: Sequence[Any]) -> list[Any]:
    return [int(RowKind.from_symbol(row[0])), *row[1:]]
