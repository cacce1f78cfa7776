"""Places in the logs of databases, and what change events tell of them.

PostgreSQL writes the changes of open transactions into its log as they happen, and a connector gets a transaction
when it commits: the places of changes (LSNs) overlap between transactions. An event also tells the place of the last
commit before its transaction; behind a snapshot nothing is known of it, until a transaction has been read.

MySQL writes a transaction into its binary log when it commits: a place is a file, the position of an event in it,
and the number of a row in the event. Files are numbered without end: `mysql-bin.999999` comes before
`mysql-bin.1000000`.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

Place: TypeAlias = tuple[int, ...]
"""A place in a log, comparable with others of it: the LSN, or number of the file, position and row."""

_POSITIONS_OF_FILE: Final = 200_000


class LogPlaces(Protocol):
    """The log of one database, which grows."""

    def of_change(self) -> Place:
        """Return the place of a change that a transaction makes now; not final for every database."""

    def of_commit(self, changes: Sequence[Place]) -> tuple[list[Place], Place]:
        """Return the final places of a transaction's changes, and the end of its commit, which is now."""

    def of_snapshot(self) -> Place:
        """Return the place that a snapshot gives to its reads, if it is taken now."""

    def source(
        self, place: Place, last_commit: Place | None, *, is_chunk: bool
    ) -> Mapping[str, Any]:
        """Return what an event tells of its place.

        Args:
            place: Of the change.
            last_commit: The end of the last transaction that was read before this one; None: none was read since
                a snapshot.
            is_chunk: Whether an incremental snapshot has read it.
        """


class PostgresPlaces:
    """The write-ahead log of a PostgreSQL server."""

    connector: Final = "postgresql"

    def __init__(self, chance: random.Random) -> None:
        """Begin a log; `chance` decides how long its records are."""
        self._chance = chance
        self._next = 24_000_000 + chance.randrange(1_000) * 8

    def of_change(self) -> Place:
        """Return the place of the next record."""
        place = self._next
        self._next += 8 * self._chance.randint(7, 40)
        return (place,)

    def of_commit(self, changes: Sequence[Place]) -> tuple[list[Place], Place]:
        """Return the places that the changes have already, and the end of the commit's record."""
        self.of_change()
        return list(changes), (self._next,)

    def of_snapshot(self) -> Place:
        """Return where the next record will be: the first change after the snapshot may have the same place."""
        return (self._next,)

    def source(
        self, place: Place, last_commit: Place | None, *, is_chunk: bool
    ) -> Mapping[str, Any]:
        """Return `lsn`, which a read of an incremental snapshot lacks, and `sequence` with the last commit before it."""
        before = "null" if last_commit is None else f'"{last_commit[0]}"'
        return {
            "sequence": f'[{before},"{place[0]}"]',
            "lsn": None if is_chunk else place[0],
        }


class CommitPlaces(PostgresPlaces):
    """A log whose changes all have the place of their commit, as a decoder of PostgreSQL's log had it once.

    Several changes of a row can have one place then: the order in which they are sent is the only one that they have.
    """

    def of_commit(self, changes: Sequence[Place]) -> tuple[list[Place], Place]:
        """Return the place of the commit's record for each change, and its end."""
        place = self.of_change()
        return [place] * len(changes), (self._next,)


class MysqlPlaces:
    """The binary log of a MySQL server."""

    connector: Final = "mysql"

    def __init__(self, chance: random.Random) -> None:
        """Begin a log, a few files before their numbers get one more digit."""
        self._chance = chance
        self._file = 1_000_000 - chance.randint(1, 3)
        self._position = 4
        self._statements = 0

    def of_change(self) -> Place:
        """Return a place that the commit replaces; equal ones are replaced by equal ones."""
        self._statements += 1
        return (self._statements,)

    def of_commit(self, changes: Sequence[Place]) -> tuple[list[Place], Place]:
        """Return the places of the changes: several rows may be in one event of the log."""
        if self._position > _POSITIONS_OF_FILE:
            self._file, self._position = self._file + 1, 4
        self._grow()
        places: list[Place] = []
        row = 0
        for number, change in enumerate(changes):
            if number and change == changes[number - 1]:
                places.append(places[-1])
                continue
            if places and self._chance.random() < 0.4:
                row += 1
            else:
                self._grow()
                row = 0
            places.append((self._file, self._position, row))
        self._grow()
        commit = (self._file, self._position, 0)
        self._grow()
        return places, commit

    def of_snapshot(self) -> Place:
        """Return the end of the log, where the next transaction begins."""
        return (self._file, self._position, 0)

    def source(
        self, place: Place, last_commit: Place | None, *, is_chunk: bool
    ) -> Mapping[str, Any]:
        """Return file, position and row; the last commit is not told."""
        file, position, row = place
        return {
            "server_id": 223_344,
            "gtid": None,
            "file": f"mysql-bin.{file:06d}",
            "pos": position,
            "row": row,
        }

    def _grow(self) -> None:
        self._position += self._chance.randint(40, 400)
