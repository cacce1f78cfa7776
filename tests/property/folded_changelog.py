"""The changes of a table, applied one after another, are the table."""

from braid.lake import Table
from braid.lake.format.system_columns import RowKind
from tests.property.test_table_model import COLUMNS, Engine, State

FOLLOWS_ROWS = ("lookup", "full-compaction")
"""Producers that tell how rows changed; `input` tells what was written."""


class FoldedChangelog:
    """Follows a table from its first snapshot on.

    Attributes:
        rows: The changes so far, added up.
    """

    def __init__(self, engine: Engine, producer: str | None) -> None:
        self._engine = engine
        self._producer = producer
        self._known = 0
        self.rows: State = {}

    def follow(self, table: Table, *, until: int | None = None) -> None:
        """Apply the changes of the snapshots since the last time, up to the newest or another."""
        if self._producer is None:
            return
        changes = table.changes(self._known, until)
        for row in changes.to_arrow().to_pylist():
            self._apply(RowKind(row.pop("_VALUE_KIND")), row)
        self._known = changes.until_snapshot_id

    def go_back(self, snapshot_id: int, rows: State) -> None:
        """Go on from a snapshot, where the rows were these."""
        self._known = snapshot_id
        self.rows = rows

    def must_add_up_to(self, state: State) -> None:
        """Check the rows so far; for those that follow rows right after a full compaction."""
        if self._producer is not None:
            assert self.rows == state

    def _apply(self, kind: RowKind, row: dict[str, object]) -> None:
        key = (row["k"], row["p"])
        if self._producer not in FOLLOWS_ROWS:
            record = tuple(row[name] for name in COLUMNS)
            self._engine.apply(self.rows, record, int(kind))
        elif kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            assert (key in self.rows) is (kind is RowKind.UPDATE_AFTER), (kind, row)
            self.rows[key] = row
        elif kind is RowKind.UPDATE_BEFORE:
            assert self.rows[key] == row, (kind, row)
        else:
            assert self.rows.pop(key) == row, (kind, row)
