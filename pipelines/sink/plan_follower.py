"""The plan that micro-batches are parsed and written by, exchanged between two of them.

It is exchanged when somebody says that the declaration has changed (`ask`), and whenever the table is
at another schema than the plan: rows that were parsed for one schema are never written under another.
"""

import logging
import threading
from dataclasses import dataclass

from lake import Clock, Table
from pipelines.json.parse import RecordParser
from pipelines.stream.plan_source import PlanSource
from pipelines.stream.stream_plan import StreamPlan

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Which declaration and schema a stream writes by.

    Attributes:
        schema_id: Of the table's schema.
        stream_version: Of the stream's declaration.
        since_ms: When both came into effect, milliseconds since the epoch, UTC.
    """

    schema_id: int
    stream_version: int
    since_ms: int


class PlanFollower:
    """Holds the plan in effect. One thread at a time, but for `ask` and `following`."""

    def __init__(self, plan: StreamPlan, *, table: Table, source: PlanSource, clock: Clock) -> None:
        """Begin with a plan.

        Args:
            plan: In effect from the start.
            table: The query's own; it is refreshed whenever the plan is exchanged.
            source: Tells the newest plan.
            clock: For `Following.since_ms`.
        """
        self._table = table
        self._source = source
        self._clock = clock
        self._is_asked = threading.Event()
        self._plan = plan
        self._parser: RecordParser | None = None
        self._following = self._begin(plan)

    @property
    def plan(self) -> StreamPlan:
        """The plan in effect."""
        return self._plan

    @property
    def parser(self) -> RecordParser:
        """Parses by that plan."""
        if self._parser is None:
            self._parser = RecordParser(self._plan)
        return self._parser

    @property
    def following(self) -> Following:
        """What is in effect, and since when; for any thread."""
        return self._following

    def ask(self) -> None:
        """Say that the declaration may have changed; for any thread."""
        self._is_asked.set()

    def keep_up(self) -> None:
        """Exchange the plan if it may be outdated; between two micro-batches, or two attempts of one.

        Raises:
            LakeError: As `PlanSource.newest`; the plan in effect is still to be exchanged then.
        """
        if not self._is_asked.is_set() and self._table.schema.id == self._plan.schema_id:
            return
        self._is_asked.clear()
        try:
            plan = self._source.newest(self._plan, self._table)
        except BaseException:
            self._is_asked.set()
            raise
        if plan == self._plan:
            return
        self._plan = plan
        self._parser = None
        self._following = self._begin(plan)

    def _begin(self, plan: StreamPlan) -> Following:
        _LOG.info(
            "writes by stream=%s version=%d schema=%d", plan.key, plan.version, plan.schema_id
        )
        return Following(
            schema_id=plan.schema_id, stream_version=plan.version, since_ms=self._clock.now_ms()
        )
