"""Tables that have had the same rows as another, and so know what it must hold."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from braid.lake import Machine, Table
from tests.conformance.case import Case
from tests.conformance.compare import difference
from tests.conformance.execute import create_declared, memory_catalog, write_rows
from tests.interop.java_driver import JavaDriver
from tests.interop.ours import json_rows

Rows = Sequence[Sequence[Any]]
"""Rows `[kind, value…]` of the conformance format."""


_OF_FILES = ("changelog-producer", "deletion-vectors.enabled", "deletion-vectors.bitmap64")
"""Options that change files, and when rows are seen, but in the end not the rows."""


class Twin(Protocol):
    """A table that has had the same rows."""

    def write(self, rows: Rows) -> None:
        """Take the rows of one commit."""
        ...

    def compact(self) -> None:
        """Follow a full compaction."""
        ...

    def mark(self) -> int:
        """Return what names this moment."""
        ...

    def go_back(self, mark: int) -> None:
        """Be what it was then."""
        ...

    def difference(self, rows: pa.Table) -> str | None:
        """Return in words how rows that somebody read differ from its own, None if they do not."""
        ...


class JavaTwin:
    """A table that Java has to itself, for tables whose rows depend on what was compacted when."""

    def __init__(self, case: Case, java: JavaDriver, path: Path) -> None:
        self._case = case
        self._java = java
        self._path = path
        java.do("create", path, case=dict(case.raw))

    def write(self, rows: Rows) -> None:
        self._java.write(self._path, rows)

    def compact(self) -> None:
        self._java.do("compact", self._path, mode="full")

    def mark(self) -> int:
        return int(self._java.do("snapshots", self._path)[-1][0])

    def go_back(self, mark: int) -> None:
        self._java.do("rollback", self._path, snapshot=mark)

    def difference(self, rows: pa.Table) -> str | None:
        return difference_of(self._case, self._java.rows(self._path), rows)


class AppendedTwin:
    """A table of ours, in memory and only appended to, for tables whose rows depend on nothing else.

    First-row shows what is compacted alone, so there it is compacted after every commit.
    """

    def __init__(self, case: Case) -> None:
        plain = {key: value for key, value in case.options.items() if key not in _OF_FILES}
        self._case = replace(case, options=plain)
        self._table = create_declared(self._case, memory_catalog())
        self._commits: list[Rows] = []

    def write(self, rows: Rows) -> None:
        self._commits.append(rows)
        write_rows(self._table, rows, self._case.arrow_schema, machine=Machine.ROW)
        if hides_new_rows(self._table):
            self._table.compact(machine=Machine.ROW)

    def mark(self) -> int:
        return len(self._commits)

    def go_back(self, mark: int) -> None:
        commits, self._commits = self._commits[:mark], []
        self._table = create_declared(self._case, memory_catalog())
        for rows in commits:
            self.write(rows)

    def compact(self) -> None:
        pass

    def difference(self, rows: pa.Table) -> str | None:
        expected = json_rows(self._table.scan(machine=Machine.ROW).to_arrow())
        return difference_of(self._case, expected, rows)


def hides_new_rows(table: Table) -> bool:
    """Return whether readers see only what is compacted."""
    return table.schema.table_options.hides_level_0


def difference_of(case: Case, expected: Rows, rows: pa.Table) -> str | None:
    """Return in words how rows differ from those expected."""
    wanted = [list(row) for row in expected]
    return difference(wanted, rows, schema=case.arrow_schema, hints=case.compare)
