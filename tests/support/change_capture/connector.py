"""Connector of a modelled database: the events in the order in which they are sent.

1. A snapshot reads all rows as they are at one moment, and its events have one place in the log. If the connector
   stops meanwhile, the snapshot starts again.
2. Streaming sends the changes of each transaction in the order of commits.
3. Where the connector stops, it continues at the offset that it has stored last, and sends what follows again.
   A former connector that has not stopped yet can send its last events once more, late.
4. A snapshot can be taken again: with the stored offset lost, so that streaming starts behind the snapshot and
   whatever was not sent before never is; or beside it, and then older changes are sent after the newer reads.
5. An incremental snapshot reads rows chunk by chunk beside the changes. A row that changes between the two signals
   around the chunk is left out; the others get the place of the second signal.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.support.change_capture.change_event import ChangeEvent, read_event
from tests.support.change_capture.database import Database, Operation, RowChange
from tests.support.change_capture.log_places import Place

_SENT_AGAIN_MAX: Final = 2_000
_CHUNK_MAX: Final = 200


class Connector:
    """Sends the events of a database."""

    def __init__(
        self,
        database: Database,
        *,
        chance: random.Random,
        length: int,
        send_late: Callable[[Sequence[ChangeEvent]], None],
        leaves_first_open: bool = False,
    ) -> None:
        """Begin with nothing sent.

        Args:
            database: The database, which goes on while events are sent.
            chance: Decides everything.
            length: About so many events are sent.
            send_late: Takes the events that a former connector will send late.
            leaves_first_open: Whether the first transaction that is streamed behind a snapshot may have changed
                rows before it. In PostgreSQL no place tells such changes from older ones, because nothing is known
                of a last commit there. Else a transaction without changes comes first.
        """
        self.sent = 0
        self._database = database
        self._chance = chance
        self._length = length
        self._send_late = send_late
        self._leaves_first_open = leaves_first_open
        self._read = 0  # commits read
        self._last_commit: Place | None = None
        self._recent: deque[ChangeEvent] = deque(maxlen=_SENT_AGAIN_MAX)
        self._not_stored = 0

    def events(self) -> Iterator[ChangeEvent]:
        """Yield the events; at the end whatever the database has committed is sent."""
        for event in self._all():
            self.sent += 1
            self._recent.append(event)
            self._not_stored += 1
            yield event

    def _all(self) -> Iterator[ChangeEvent]:
        chance, length = self._chance, self._length
        steps: dict[int, Callable[[], Iterator[ChangeEvent]]] = {}
        for share, step in (
            (0.2, self._read_in_chunks),
            (0.4, self._snapshot_anew),
            (0.5, self._read_in_chunks),
            (0.6, self._snapshot_beside),
            (0.8, self._snapshot_anew),
            (0.9, self._read_in_chunks),
        ):
            steps[int(length * (share + chance.uniform(-0.08, 0.08)))] = step
        due = deque(sorted(steps))
        yield from self._snapshot_anew()
        while self.sent < length:
            for _ in range(chance.randint(1, 30)):
                self._database.step()
            if due and self.sent >= due[0]:
                yield from steps[due.popleft()]()
            yield from self._stream(chance.randint(0, 8))
            if chance.random() < 0.05:
                self._not_stored = chance.randint(0, self._not_stored)
            if chance.random() < 0.02:
                yield from self._restart()
        self._database.end_open()
        yield from self._stream(len(self._database.log))

    def _stream(self, count: int) -> Iterator[ChangeEvent]:
        """Send the changes of the next transactions."""
        log = self._database.log
        for _ in range(min(count, len(log))):
            transaction = log.popleft()
            for index, (change, place) in enumerate(transaction.changes):
                yield ChangeEvent(
                    (transaction.number, index),
                    change,
                    place,
                    self._last_commit,
                    transaction.transaction_id,
                    "false",
                )
            self._read, self._last_commit = transaction.number, transaction.commit

    def _restart(self) -> Iterator[ChangeEvent]:
        """Send again what follows the stored offset; some of it is sent late, too."""
        again = list(self._recent)[-self._not_stored :] if self._not_stored else []
        if again and self._chance.random() < 0.8:
            start = self._chance.randrange(len(again))
            self._send_late(again[start : start + self._chance.randint(1, 300)])
        yield from again

    def _snapshot_anew(self) -> Iterator[ChangeEvent]:
        """Read all rows, and stream what is committed afterwards."""
        while True:
            self._last_commit = None
            # Nothing before the snapshot is streamed any more, and nothing is sent again from there.
            self._database.log.clear()
            place, commits = self._database.places.of_snapshot(), self._database.commits
            if self._database.has_open_changes and not self._leaves_first_open:
                self._database.signal()
            stops_after = self._chance.randrange(self._count() + 1)
            is_whole = self._chance.random() < 0.8
            for number, event in enumerate(self._reads(place, commits)):
                if not is_whole and number >= stops_after:
                    break
                yield event
            self._not_stored = 0
            if is_whole:
                self._read = commits
                return

    def _snapshot_beside(self) -> Iterator[ChangeEvent]:
        """Read all rows, and go on streaming where it has stopped."""
        database = self._database
        yield from self._stream(len(database.log))
        database.signal()
        list(self._stream(1))  # nothing but the signal
        for _ in range(self._chance.randrange(20)):
            database.step()
        yield from self._reads(database.places.of_snapshot(), database.commits)

    def _reads(self, place: Place, commits: int) -> Iterator[ChangeEvent]:
        """Yield the rows of all tables as they are now; the database goes on meanwhile."""
        rows = [
            (table, key, row)
            for table, committed in enumerate(self._database.committed)
            for key, row in sorted(committed.items())
        ]
        for number, (table, key, row) in enumerate(rows):
            if number % 10 == 0:
                self._database.step()
            change = RowChange(table=table, operation=Operation.READ, key=key, after=row)
            mark = "first" if number == 0 else "last" if number == len(rows) - 1 else "true"
            yield read_event(
                change, commits=commits, place=place, last_commit=self._last_commit, snapshot=mark
            )

    def _read_in_chunks(self) -> Iterator[ChangeEvent]:
        """Read the rows of one table chunk by chunk."""
        table = self._chance.randrange(len(self._database.tables))
        keys = sorted(self._database.committed[table])
        size = max(1, min(_CHUNK_MAX, len(keys) // 5))
        for start in range(0, len(keys), size):
            yield from self._read_chunk(table, keys[start : start + size])

    def _read_chunk(self, table: int, keys: list[int]) -> Iterator[ChangeEvent]:
        database, chance = self._database, self._chance
        yield from self._stream(len(database.log))
        database.signal()
        for _ in range(chance.randrange(20)):
            database.step()
        committed = database.committed[table]
        window = {key: committed[key] for key in keys if key in committed}
        for _ in range(chance.randrange(20)):
            database.step()
        place = database.signal()
        for event in self._stream(len(database.log) - 1):
            if event.change.table == table:
                window.pop(event.change.key, None)
            yield event
        last_commit = self._last_commit
        list(self._stream(1))  # the second signal
        for key, row in window.items():
            change = RowChange(table=table, operation=Operation.READ, key=key, after=row)
            yield read_event(
                change,
                commits=self._read,
                place=place,
                last_commit=last_commit,
                snapshot="incremental",
            )

    def _count(self) -> int:
        return sum(len(rows) for rows in self._database.committed)
