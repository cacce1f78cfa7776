"""Watch of a chaos run's table: reads its commits before they expire, as a consumer that holds what it has not read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from braid.demo.s3_server import S3Server
from braid.lake import Catalog, StorageUnavailable, Table
from braid.lake.files.object_store.store import ObjectStoreFileIO
from tests.support.chaos.commits import Commit, Place, commit_of
from tests.support.chaos.streams import IDENTIFIER
from tests.support.s3_storage import s3_settings
from tests.support.waiting import wait_until

_CONSUMER: Final = "chaos"


class TableWatch:
    """The commits of the table so far.

    Attributes:
        commits: Those that were read, by ascending id.
    """

    def __init__(self, store: S3Server) -> None:
        """Become a consumer of the table, which has no snapshot yet.

        The watch does not meet the store's faults, which are there for others.
        """
        bare = replace(s3_settings(store), endpoint=store.bare_endpoint)
        self._catalog = Catalog(store.warehouse, file_io=ObjectStoreFileIO(bare))
        self.commits: list[Commit] = []
        self.table().reset_consumer(_CONSUMER, 1)

    def table(self) -> Table:
        """Open the table anew."""
        return self._catalog.table(IDENTIFIER)

    def look(self) -> dict[Place, int]:
        """Read what was committed since, and return the newest positions; while the store is stopped, the last ones."""
        try:
            table = self.table()
            latest = table.latest_snapshot()
            first = self.commits[-1].snapshot_id + 1 if self.commits else 1
            for number in range(first, latest.id + 1 if latest else 1):
                self.commits.append(commit_of(number, table.snapshot(number).properties))
            if latest is not None and latest.id >= first:
                table.reset_consumer(_CONSUMER, latest.id + 1)
        except StorageUnavailable:
            pass
        return dict(self.commits[-1].offsets) if self.commits else {}

    def wait_for(self, goal: int, *, keep: Callable[[], object]) -> None:
        """Wait until the positions have come to a sum of offsets."""

        def is_there() -> bool:
            keep()
            return sum(self.look().values()) >= goal

        wait_until(is_there, every_s=0.3, what=lambda: f"{self.look()}, expected {goal} in all")
