"""One table that Java and we alter, write and compact in turns, and a model that knows its rows.

After each turn both read the same rows, those of the model, at the newest snapshot and an older one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from braid.lake import Machine, RowKind, SchemaChange, Table, parse_type
from tests.conformance.compare import difference
from tests.interop.java_changes import java_change, java_type
from tests.interop.java_driver import JavaDriver, JavaRefused
from tests.interop.ours import json_rows, open_table
from tests.property.evolving_columns import Column, shown_row
from tests.property.evolving_model import (
    Engine,
    EvolvingModel,
    Rows,
    first_columns,
)


def given_case(options: Mapping[str, str], *, is_partitioned: bool) -> dict[str, Any]:
    """Return the table as Java creates it."""
    return {
        "schema": {
            "columns": [
                {"name": one.name, "type": java_type(parse_type(one.sql))}
                for one in first_columns()
            ],
            "primary_key": ["k", "p"],
            "partition": ["p"] if is_partitioned else [],
        },
        "options": dict(options),
    }


@dataclass(kw_only=True)
class EvolvingAlternation:
    """A table under way.

    Attributes:
        path: Its directory; it is there and empty.
        java: Takes its turns.
        engine: Of the table.
        told: What was done, for the message of a failure.
        java_changes: How many changes Java has made.
    """

    path: Path
    java: JavaDriver
    engine: Engine
    told: list[str] = field(default_factory=list)
    java_changes: int = 0
    _rows: Rows = field(default_factory=dict)
    _seen: dict[int, Rows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the table."""
        self._table = open_table(self.path)
        self._model = EvolvingModel(self.engine, self._table.schema)

    def turn(self, what: str, data: st.DataObject) -> None:
        """Let one of both alter, write or compact, and look at the table."""
        is_java = data.draw(st.booleans())
        self.told.append(f"{'Java' if is_java else 'ours'}: {what}")
        try:
            match what:
                case "alter":
                    self._alter(data, is_java=is_java)
                case "write":
                    self._write(data, is_java=is_java)
                case _:
                    self._compact(is_java=is_java)
            self.look(data)
        except Exception as error:
            error.add_note("\n".join([str(self.path), *self.told]))
            raise

    def look(self, data: st.DataObject) -> None:
        """Check the newest rows, and those of an older snapshot."""
        table = self._ours()
        newest = table.latest_snapshot()
        if newest is None:
            return
        self._seen[newest.id] = self._rows
        self._compare(None, self._rows)
        number = data.draw(st.sampled_from(sorted(self._seen)))
        self._compare(number, self._seen[number])

    def _compare(self, number: int | None, expected: Rows) -> None:
        table = self._ours()
        ours = table.scan(at=number).to_arrow()
        columns = self._model.columns
        if number is not None:
            columns = self._model.versions[table.snapshot(number).schema_id]
        rows = [shown_row(columns, row) for row in expected.values()]
        seen = ours.to_pylist()
        wrong = [row for row in seen if row not in rows], [row for row in rows if row not in seen]
        assert wrong == ([], []), f"snapshot {number}: ours, and the model's: {wrong}"
        if self._java_reads(columns):
            java = self.java.rows(self.path, snapshot=number)
            found = difference(java, ours, schema=ours.schema, hints={})
            assert found is None, f"snapshot {number}: {found}"

    def _java_reads(self, columns: Sequence[Column]) -> bool:
        """Return whether Java can read a snapshot under its columns.

        It takes the table's newest options to it, and fails where they name a column that had
        another name then.
        """
        named = self.engine.named
        then = {one.name for one in columns if one.id in named}
        return then == {one.name for one in self._model.columns if one.id in named}

    def _alter(self, data: st.DataObject, *, is_java: bool) -> None:
        changes, columns = self._model.drawn_changes(data)
        self.told[-1] += "".join(f"\n    {change}" for change in changes)
        if not (is_java and changes and self._java_alters(changes)):
            self._ours().alter(*changes)
        self._model.follow(open_table(self.path).schema, columns)

    def _java_alters(self, changes: list[SchemaChange]) -> bool:
        """Let Java alter; it fails where two fields of one column are renamed at once, say."""
        before = open_table(self.path).schema
        try:
            self.java.do("alter", self.path, changes=[java_change(one) for one in changes])
        except JavaRefused as error:
            self.told[-1] += f"\n    refused: {error}"
            assert open_table(self.path).schema == before
            return False
        self.java_changes += len(changes)
        return True

    def _write(self, data: st.DataObject, *, is_java: bool) -> None:
        columns = self._model.columns
        batch = self._model.drawn_batch(data, columns)
        table = open_table(self.path)
        if is_java:
            values = json_rows(replace(batch, given=columns).arrow(table.schema))
            symbols = [RowKind(kind).symbol for kind in batch.kinds]
            rows = [[symbol, *row] for symbol, row in zip(symbols, values, strict=True)]
            self.java.write(self.path, rows)
        else:
            kinds = pa.array(batch.kinds, pa.int8())
            self._ours().write_and_commit(batch.arrow(table.schema), kinds=kinds)
        self._rows = self._model.written(self._rows, batch)
        if table.schema.table_options.hides_level_0:
            self._compact(is_java=not is_java)

    def _compact(self, *, is_java: bool) -> None:
        if is_java:
            self.java.do("compact", self.path, mode="full")
        else:
            assert self._ours().compact(machine=Machine.COLUMN).dropped == ()

    def _ours(self) -> Table:
        """Return the table as one process has it that goes on all the time."""
        self._table.refresh()
        return self._table
