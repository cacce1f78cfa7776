"""Transactions of a real server that overlap, from a seed; no statement waits for the lock of another one."""

import random
from dataclasses import dataclass, field
from typing import Final

from tests.support.captured_postgres.captured_events import SIGNALS
from tests.support.captured_postgres.server import PostgresServer
from tests.support.captured_postgres.session import Session
from tests.support.change_capture.source_table import SourceTable, Value

_SESSIONS: Final = 3
_LARGE_REPEATS: Final = 300
"""Eight characters so often are stored apart from their row (TOAST)."""


@dataclass(slots=True)
class _Transaction:
    session: Session
    changes: int = 0
    rows: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Whether a row that it has touched exists now, by table and key."""


class Workload:
    """Random changes of the tables of a server."""

    def __init__(
        self, server: PostgresServer, *, tables: tuple[SourceTable, ...], keys: int, seed: int
    ) -> None:
        """Create the tables, empty.

        Args:
            server: The server.
            tables: The tables.
            keys: Keys are 0 to `keys - 1`.
            seed: Decides everything but the times of the server.
        """
        self.changes = 0
        self._tables = tables
        self._keys = keys
        self._chance = random.Random(seed)
        self._exists: set[tuple[int, int]] = set()
        self._locked: set[tuple[int, int]] = set()
        self._main = server.session()
        self._transactions = [_Transaction(server.session()) for _ in range(_SESSIONS)]
        for table in tables:
            self._main.run(*_create(table))
        self._main.run(
            f"CREATE TABLE {SIGNALS} (id varchar(64) PRIMARY KEY, type varchar(32), data varchar(2048))"
        )

    def fill(self, count: int) -> None:
        """Insert so many rows into each table, and commit."""
        for index, table in enumerate(self._tables):
            keys = self._chance.sample(range(self._keys), count)
            self._main.run("BEGIN", *(self._insert(table, key) for key in keys), "COMMIT")
            self._exists |= {(index, key) for key in keys}

    def run(self, changes: int) -> None:
        """Change so many rows; transactions may be left open."""
        end = self.changes + changes
        while self.changes < end:
            one = self._chance.choice(self._transactions)
            if one.changes and self._chance.random() < 0.25:
                self._end(one, is_commit=self._chance.random() < 0.9)
            else:
                self._change(one)

    def signal(self, name: str, kind: str, tables: str) -> None:
        """Ask the connector for a snapshot: `incremental`, or `blocking` beside the stream."""
        listed = ",".join(f'"{table}"' for table in tables.split(","))
        data = f'{{"data-collections": [{listed}], "type": "{kind}"}}'
        self._main.run(f"INSERT INTO {SIGNALS} VALUES ('{name}', 'execute-snapshot', '{data}')")

    def insert_mark(self, key: int) -> None:
        """Insert a row into the first table, behind all changes."""
        self._main.run(self._insert(self._tables[0], key))

    def finish(self) -> None:
        """Commit whatever is open."""
        for one in self._transactions:
            self._end(one, is_commit=True)

    def rows(self, index: int) -> dict[int, tuple[Value, ...]]:
        """Return the rows of a table, by key."""
        table = self._tables[index]
        found: dict[int, tuple[Value, ...]] = {}
        names = ", ".join(("id", *table.numbers, *table.texts))
        for line in self._main.run(f"SELECT {names} FROM {table.name}"):
            key, *values = line.split("|")
            numbers, texts = values[: len(table.numbers)], values[len(table.numbers) :]
            found[int(key)] = (
                *(int(value) if value else None for value in numbers),
                *(value or None for value in texts),
            )
        return found

    def close(self) -> None:
        """Close the connections."""
        for session in (self._main, *(one.session for one in self._transactions)):
            session.close()

    def _change(self, one: _Transaction) -> None:
        chance = self._chance
        index, key = chance.randrange(len(self._tables)), chance.randrange(self._keys)
        if not self._take(one, index, key):
            return
        table = self._tables[index]
        if not one.changes:
            one.session.run("BEGIN")
        if not one.rows[index, key]:
            statement = self._insert(table, key)
            one.rows[index, key] = True
        elif chance.random() < 0.15:
            statement = f"DELETE FROM {table.name} WHERE id = {key}"
            one.rows[index, key] = False
        else:
            values = self._new_values(table)
            other = chance.randrange(self._keys)
            is_moved = (
                chance.random() < 0.12
                and other != key
                and self._take(one, index, other)
                and not one.rows[index, other]
            )
            if is_moved:
                values.append(f"id = {other}")
                one.rows[index, key], one.rows[index, other] = False, True
            statement = f"UPDATE {table.name} SET {', '.join(values)} WHERE id = {key}"
        one.session.run(statement)
        one.changes += 1
        self.changes += 1

    def _take(self, one: _Transaction, index: int, key: int) -> bool:
        """Lock a row for a transaction; return whether it has the lock."""
        row = index, key
        if row not in one.rows:
            if row in self._locked:
                return False
            self._locked.add(row)
            one.rows[row] = row in self._exists
        return True

    def _end(self, one: _Transaction, *, is_commit: bool) -> None:
        if one.changes:
            one.session.run("COMMIT" if is_commit else "ROLLBACK")
        self._locked -= one.rows.keys()
        if is_commit:
            for row, exists in one.rows.items():
                (self._exists.add if exists else self._exists.discard)(row)
        one.rows, one.changes = {}, 0

    def _insert(self, table: SourceTable, key: int) -> str:
        values = [str(key), *(self._number() for _ in table.numbers)]
        values += [self._text() for _ in table.texts]
        return f"INSERT INTO {table.name} VALUES ({', '.join(values)})"

    def _new_values(self, table: SourceTable) -> list[str]:
        chance = self._chance
        values = [f"{name} = {self._number()}" for name in table.numbers]
        return values + [
            f"{name} = {self._text()}" for name in table.texts if chance.random() < 0.25
        ]

    def _number(self) -> str:
        return "NULL" if self._chance.random() < 0.1 else str(self._chance.randrange(1_000_000))

    def _text(self) -> str:
        number = self._chance.randrange(1 << 20)
        match number % 8:
            case 0:
                return "NULL"
            case 1 | 2:
                return f"'text {number}'"
            case _:
                return f"repeat('{number:08d}', {_LARGE_REPEATS})"


def _create(table: SourceTable) -> list[str]:
    numbers = [f"{name} int" for name in table.numbers]
    identity = "FULL" if table.has_full_identity else "DEFAULT"
    columns = ", ".join(
        ("id bigint PRIMARY KEY", *numbers, *(f"{name} text" for name in table.texts))
    )
    external = [
        f"ALTER TABLE {table.name} ALTER {name} SET STORAGE EXTERNAL" for name in table.texts
    ]
    return [
        f"CREATE TABLE {table.name} ({columns})",
        *external,
        f"ALTER TABLE {table.name} REPLICA IDENTITY {identity}",
    ]
