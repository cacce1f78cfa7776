"""Current plan of a running stream, which is exchanged when the declaration or the table's schema changes.

    supervisor: the declaration has changed ──► `request_refresh` ─┬─ at once between two micro-batches
                                                                   └─ else before the next attempt
    query: before each attempt of a micro-batch ──► `refresh` ──► `PlanSource.newest` ──► plan

A plan is exchanged between two micro-batches, or between two attempts of one, never within an attempt. It is exchanged
on three occasions: a refresh was requested; the query itself has added columns (`FieldEvolution.evolve`); or the query's
own table object has another schema than the plan, because rows that were parsed for one schema are never written under
another. The newest plan comes from the registry (`RegistryPlans`), or follows the schema
alone (`FixedDeclaration`).

A running query can apply changes of some fields of a declaration only (`registry.live_fields`). A change of any other
field needs a new query; until the new query starts, the running one keeps the former values of the other fields.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from braid.lake import Catalog, Clock, CommitConflict, Table
from braid.records.stream_plan import StreamPlan, fit_plan, plan_stream
from braid.registry.declared_table import read_declared_table
from braid.registry.live_fields import with_live_fields
from braid.registry.store.documents import RegistryStore

_LOG = logging.getLogger(__name__)

_ATTEMPTS_MAX: Final = 100
"""Each failed one means that the schema was changed between reading the registry and reading the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVersion:
    """The declaration and the schema that a stream writes by.

    Attributes:
        schema_id: Id of the table's schema.
        stream_version: Version of the stream's declaration.
        since_ms: When both came into effect, milliseconds since the epoch, UTC.
    """

    schema_id: int
    stream_version: int
    since_ms: int


class PlanSource(Protocol):
    """Source of the newest plan of a stream."""

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the plan for the newest schema of the table; `table` is refreshed to that schema.

        Args:
            plan: The plan in effect; its topic and all else that is fixed for a query stay.
            table: The query's own table object, which is refreshed.

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            LakeError: Registry or table cannot be read.
        """
        ...


class CurrentPlan:
    """The plan in effect.

    For the query's thread; `request_refresh` and `version` may be used from any thread.
    """

    def __init__(self, plan: StreamPlan, *, table: Table, source: PlanSource, clock: Clock) -> None:
        """Begin with a plan.

        Args:
            plan: The plan in effect from the start.
            table: The query's own table object; it is refreshed whenever the plan is exchanged.
            source: Returns the newest plan.
            clock: The clock for `PlanVersion.since_ms`.
        """
        self._table = table
        self._source = source
        self._clock = clock
        self._is_requested = threading.Event()
        self._in_use = threading.Lock()
        self._plan = plan
        self._version = self._version_of(plan)

    @property
    def plan(self) -> StreamPlan:
        """The plan in effect."""
        return self._plan

    @property
    def version(self) -> PlanVersion:
        """The declaration and schema in effect, and since when; for any thread."""
        return self._version

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep other threads from exchanging the plan while the context lasts, which is one micro-batch."""
        with self._in_use:
            yield

    def request_refresh(self) -> None:
        """Make the query apply a changed declaration: at once between two micro-batches, else before the next attempt.

        For any thread but the query's.

        Raises:
            LakeError: What `refresh` raises, where the plan is exchanged at once.
        """
        # The flag comes before the attempt to lock: a micro-batch that holds the lock now sees it.
        self._is_requested.set()
        if self._in_use.acquire(blocking=False):
            try:
                self.refresh()
            finally:
                self._in_use.release()

    def refresh(self, *, is_forced: bool = False) -> None:
        """Exchange the plan if it may be outdated.

        Args:
            is_forced: Whether the newest plan is read even if nothing indicates that there is one.

        Raises:
            LakeError: What `PlanSource.newest` raises; the plan in effect still has to be exchanged then.
        """
        is_other_schema = self._table.schema.id != self._plan.schema_id
        if not is_forced and not self._is_requested.is_set() and not is_other_schema:
            return
        # Cleared before the newest plan is read: a change after that sets the flag again.
        self._is_requested.clear()
        try:
            plan = self._source.newest(self._plan, self._table)
        except BaseException:
            self._is_requested.set()
            raise
        assert plan.schema_id == self._table.schema.id, (
            "a plan comes with the table's newest schema"
        )
        if plan == self._plan:
            return
        assert plan.stream == self._plan.stream, "a plan is exchanged for one of the same stream"
        self._plan = plan
        self._version = self._version_of(plan)

    def _version_of(self, plan: StreamPlan) -> PlanVersion:
        _LOG.info(
            "definition in use stream=%s version=%d schema=%d",
            plan.key,
            plan.version,
            plan.schema_id,
        )
        return PlanVersion(
            schema_id=plan.schema_id, stream_version=plan.version, since_ms=self._clock.now_ms()
        )


@dataclass(frozen=True, slots=True)
class FixedDeclaration:
    """Plans of a stream whose declaration never changes: only the table's schema is followed."""

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the same plan with the types that its columns have now."""
        table.refresh()
        return fit_plan(plan, table.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryPlans:
    """Plans from the registry, which is read anew each time.

    Attributes:
        registry: The warehouse's registry.
        catalog: The warehouse's tables.
    """

    registry: RegistryStore
    catalog: Catalog

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the plan in effect now (see `PlanSource.newest`).

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            CommitConflict: The table's schema changes again with every attempt.
            LakeError: Registry or table cannot be read.
        """
        for _ in range(_ATTEMPTS_MAX):
            state = read_declared_table(self.registry, self.catalog, plan.table)
            table.refresh()
            schema = state.table.schema
            # Document and schema have to be from the same moment: a change in between makes them disagree.
            if table.schema.id != schema.id:
                continue
            entry = state.document.streams.get(plan.stream)
            if entry is None:
                # Deleted just now: the supervisor is about to stop the query.
                return fit_plan(plan, schema)
            return plan_stream(
                table=plan.table,
                spec=state.document.table,
                stream=with_live_fields(plan.spec, entry.spec),
                schema=schema,
                generation=plan.generation,
                version=entry.version,
                other_streams=[other.spec for other in state.document.streams.values()],
            )
        message = f"the schema of {plan.table} keeps changing"
        raise CommitConflict(message)
