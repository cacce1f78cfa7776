"""Change capture of a modelled database, from a seed: records of Kafka, and the rows that have to come of them."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

from tests.support.change_capture.change_event import ChangeEvent
from tests.support.change_capture.connector import Connector
from tests.support.change_capture.database import Database
from tests.support.change_capture.log_places import LogPlaces, MysqlPlaces, PostgresPlaces
from tests.support.change_capture.newest_rows import NewestRow, NewestRows
from tests.support.change_capture.source_table import SourceTable
from tests.support.change_capture.topic import KafkaRecord, Topics

POSTGRESQL: Final = (
    SourceTable(name="orders", numbers=("quantity", "price"), texts=("body", "note")),
    SourceTable(name="bills", numbers=("amount",), texts=("letter",), has_full_identity=True),
)
"""Two tables, with REPLICA IDENTITY DEFAULT and FULL."""

MYSQL: Final = (
    SourceTable(
        name="orders",
        numbers=("quantity", "price"),
        texts=("body", "note"),
        has_full_identity=True,
    ),
    SourceTable(name="bills", numbers=("amount",), texts=("letter",), has_full_identity=True),
)
"""The same tables; a binary log with whole rows has every value."""


class ChangeCapture:
    """A database and its connector."""

    def __init__(
        self,
        seed: int,
        *,
        places: type[PostgresPlaces | MysqlPlaces],
        tables: Sequence[SourceTable],
        keys: int,
        events: int,
        partitions: int = 4,
        has_late_events: bool = True,
        leaves_first_open: bool = False,
    ) -> None:
        """Prepare the database.

        Args:
            seed: Decides everything.
            places: The kind of the database.
            tables: Its tables.
            keys: Each table has so many keys at most.
            events: About so many are sent: whatever is open at the end is sent, too.
            partitions: Of each topic.
            has_late_events: Whether former connectors send events late. Without them the events of a key arrive
                in an order that ends with its newest one; tombstones are late all the same.
            leaves_first_open: See `Connector`.
        """
        chance = random.Random(seed)
        log: LogPlaces = places(chance)
        self.tables = tuple(tables)
        self.partitions = partitions
        self.newest = tuple(NewestRows() for _ in tables)
        self._topics = Topics(
            self.tables,
            partitions=partitions,
            places=log,
            connector=places.connector,
            chance=chance,
        )
        self.database = Database(tables=self.tables, keys=keys, places=log, chance=chance)
        self._connector = Connector(
            self.database,
            chance=chance,
            length=events,
            send_late=self._topics.send_late if has_late_events else _send_nothing,
            leaves_first_open=leaves_first_open,
        )

    def events(self) -> Iterator[ChangeEvent]:
        """Yield the events as the connector sends them, without those that come late."""
        for event in self._connector.events():
            self.newest[event.change.table].add(event)
            yield event

    def records(self) -> Iterator[KafkaRecord]:
        """Yield the records of all topics in the order in which they are sent."""
        for event in self.events():
            yield from self._topics.records_of(event)
        yield from self._topics.rest()

    def rows(self, table: int) -> dict[int, NewestRow]:
        """Return the newest state of each key of a table, of what has been sent until now."""
        return self.newest[table].rows()


def _send_nothing(_: Sequence[ChangeEvent]) -> None:
    """Take the events that nobody sends."""
