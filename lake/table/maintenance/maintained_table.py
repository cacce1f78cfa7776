"""One table under maintenance: its handle, and what the schedulers remember of it."""

import logging
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field

from braid.lake.errors import LakeError
from braid.lake.files.clock import Clock
from braid.lake.maintenance.compaction.compaction_picks import CompactionMemory
from braid.lake.table.maintenance.failure_backoff import FailureBackoff
from braid.lake.table.maintenance.maintenance_stats import MaintenanceStats
from braid.lake.table.table import Table

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class MaintainedTable:
    """What a service keeps of a table.

    Work in progress refers to this object. So the result of work that ends after the table was
    dropped and created again is not counted for the new table of that name.

    Attributes:
        identifier: `db.table`.
        stats: Its counts and failures.
        table: None until it was opened.
        memory: What the choice of compactions remembers of its buckets.
        next_expiry_ms: The earliest time of its next expiry, milliseconds since 1970 UTC.
    """

    identifier: str
    stats: MaintenanceStats
    table: Table | None = None
    memory: CompactionMemory = field(default_factory=CompactionMemory)
    next_expiry_ms: int = 0

    @classmethod
    def new(cls, identifier: str, clock: Clock) -> "MaintainedTable":
        """Return a table that was not opened yet, without counts."""
        return cls(
            identifier=identifier, stats=MaintenanceStats(failure_backoff=FailureBackoff(clock))
        )

    @property
    def failures(self) -> FailureBackoff:
        """Its failures."""
        return self.stats.failure_backoff

    def fail(self, subject: str, error: BaseException) -> bool:
        """Note a failure, and log it if it is new; return whether it was logged."""
        message = _message_of(error)
        is_new = self.failures.fail(subject, message)
        if is_new:
            logger.warning(
                "maintenance failed table=%s what=%s error=%s", self.identifier, subject, message
            )
        return is_new


def _message_of(error: BaseException) -> str:
    if isinstance(error, BrokenProcessPool):
        return "a process that compacts was killed"
    if isinstance(error, LakeError | OSError):
        return str(error)
    # A defect of this program, or of a package's aggregate function: the message alone says little.
    return f"{type(error).__name__}: {error}"
