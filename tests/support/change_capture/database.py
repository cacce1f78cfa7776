"""Model of a database: transactions that overlap, row locks, and the log in the order of commits."""

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.support.change_capture.log_places import LogPlaces, Place
from tests.support.change_capture.source_table import Row, SourceTable

OPEN_MAX: Final = 4
"""The most transactions that are open together."""
_CHANGES_MAX: Final = 12


class Operation(Enum):
    """What an event says of a row, as Debezium's `op`."""

    READ = "r"
    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """A change of one row, as the log has it.

    Attributes:
        table: The index of the row's table.
        operation: What was done; a change of key is a delete and a create.
        key: The row's key.
        before: The old row; None if there was none.
        after: The new row; None if there is none any more.
        unavailable: Places of the values in `after` that the log does not have.
        other_key: The new key of a delete, or the old one of a create, of a change of key; None: of none.
    """

    table: int
    operation: Operation
    key: int
    before: Row | None = None
    after: Row | None = None
    unavailable: frozenset[int] = frozenset()
    other_key: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A committed transaction.

    Attributes:
        number: Its place in the order of commits, from 1.
        transaction_id: The number that it got when it began.
        changes: Its changes with their places in the log, in order.
        commit: The place of its commit.
    """

    number: int
    transaction_id: int
    changes: tuple[tuple[RowChange, Place], ...]
    commit: Place


@dataclass(slots=True)
class _Open:
    transaction_id: int
    changes: list[tuple[RowChange, Place]] = field(default_factory=list)
    rows: dict[tuple[int, int], Row | None] = field(default_factory=dict)


class Database:
    """A database in which random transactions run.

    A key that an open transaction has changed is changed by no other, as row locks have it. So the changes of one key
    are in the log in the order of their commits.
    """

    def __init__(
        self,
        *,
        tables: Sequence[SourceTable],
        keys: int,
        places: LogPlaces,
        chance: random.Random,
    ) -> None:
        """Fill half of the keys of each table.

        Args:
            tables: The tables.
            keys: Keys are 0 to `keys - 1`.
            places: The log.
            chance: Decides everything.
        """
        self.tables = tuple(tables)
        self.committed: tuple[dict[int, Row], ...] = tuple({} for _ in tables)
        self.log: deque[Transaction] = deque()
        self.commits = 0
        self.places = places
        self._keys = keys
        self._chance = chance
        self._open: list[_Open] = []
        self._locked: set[tuple[int, int]] = set()
        self._began = 700
        for index, table in enumerate(self.tables):
            for key in chance.sample(range(keys), keys // 2):
                self.committed[index][key] = table.random_row(chance)

    @property
    def has_open_changes(self) -> bool:
        """Whether some open transaction has changed something already."""
        return any(one.changes for one in self._open)

    def step(self) -> None:
        """Let one thing happen in some transaction: a change, the commit, or that it is given up."""
        chance = self._chance
        if not self._open or (len(self._open) < OPEN_MAX and chance.random() < 0.2):
            self._began += 1
            self._open.append(_Open(self._began))
        one = chance.choice(self._open)
        if len(one.changes) >= _CHANGES_MAX or chance.random() < 0.3:
            self._end(one, is_commit=bool(one.changes) and chance.random() < 0.95)
        else:
            self._change(one)

    def signal(self) -> Place:
        """Commit a transaction that changes no row of the tables, as signals to connectors do; return its change's place."""
        self._began += 1
        (place,), commit = self.places.of_commit([self.places.of_change()])
        self.commits += 1
        self.log.append(
            Transaction(number=self.commits, transaction_id=self._began, changes=(), commit=commit)
        )
        return place

    def end_open(self) -> None:
        """Commit whatever is open."""
        for one in list(self._open):
            self._end(one, is_commit=bool(one.changes))

    def _change(self, one: _Open) -> None:
        table = self._chance.randrange(len(self.tables))
        key = self._free_key(one, table)
        if key is None:
            return
        self._lock(one, table, key)
        row = one.rows[table, key]
        chance = self._chance
        if row is None:
            new = self.tables[table].random_row(chance)
            self._note(one, table, key, Operation.CREATE, after=new)
        elif chance.random() < 0.15:
            self._note(one, table, key, Operation.DELETE, before=row)
        elif chance.random() < 0.12:
            self._change_key(one, table, key, row)
        else:
            new = self.tables[table].changed(row, chance)
            self._note(one, table, key, Operation.UPDATE, before=row, after=new)

    def _change_key(self, one: _Open, table: int, key: int, row: Row) -> None:
        other = self._free_key(one, table)
        if other is None or other == key:
            return
        self._lock(one, table, other)
        if one.rows[table, other] is not None:
            return
        new = self.tables[table].changed(row, self._chance)
        unavailable = self.tables[table].unavailable(row, new)
        place = self.places.of_change()
        one.rows[table, key], one.rows[table, other] = None, new
        one.changes += [
            (
                RowChange(
                    table=table, operation=Operation.DELETE, key=key, before=row, other_key=other
                ),
                place,
            ),
            (
                RowChange(
                    table=table,
                    operation=Operation.CREATE,
                    key=other,
                    after=new,
                    unavailable=unavailable,
                    other_key=key,
                ),
                place,
            ),
        ]

    def _note(
        self,
        one: _Open,
        table: int,
        key: int,
        operation: Operation,
        *,
        before: Row | None = None,
        after: Row | None = None,
    ) -> None:
        unavailable: frozenset[int] = frozenset()
        if before is not None and after is not None:
            unavailable = self.tables[table].unavailable(before, after)
        one.rows[table, key] = after
        change = RowChange(
            table=table,
            operation=operation,
            key=key,
            before=before,
            after=after,
            unavailable=unavailable,
        )
        one.changes.append((change, self.places.of_change()))

    def _free_key(self, one: _Open, table: int) -> int | None:
        """Return a key that no other transaction has locked; a few keys are asked for often."""
        keys = self._keys if self._chance.random() < 0.7 else max(2, self._keys // 50)
        key = self._chance.randrange(keys)
        is_locked = (table, key) in self._locked and (table, key) not in one.rows
        return None if is_locked else key

    def _lock(self, one: _Open, table: int, key: int) -> None:
        self._locked.add((table, key))
        one.rows.setdefault((table, key), self.committed[table].get(key))

    def _end(self, one: _Open, *, is_commit: bool) -> None:
        self._open.remove(one)
        self._locked -= one.rows.keys()
        if not is_commit:
            return
        places, commit = self.places.of_commit([place for _, place in one.changes])
        self.commits += 1
        changes = tuple(
            (change, place) for (change, _), place in zip(one.changes, places, strict=True)
        )
        self.log.append(
            Transaction(
                number=self.commits,
                transaction_id=one.transaction_id,
                changes=changes,
                commit=commit,
            )
        )
        for (table, key), row in one.rows.items():
            if row is None:
                self.committed[table].pop(key, None)
            else:
                self.committed[table][key] = row
