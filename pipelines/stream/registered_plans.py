"""The plan of a stream as the registry and its table say, both of one moment."""

from dataclasses import dataclass
from typing import Final

from lake import Catalog, CommitConflict, Table
from pipelines.stream.plan_source import fixed_by
from pipelines.stream.stream_plan import StreamPlan, fit_plan, plan_stream
from registry.store.documents import RegistryStore
from registry.table_state import read_table_state

_ATTEMPTS_MAX: Final = 100
"""Each in vain means that somebody changed the schema just then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPlans:
    """Reads them anew each time.

    Attributes:
        registry: Of the warehouse.
        catalog: Of the warehouse.
    """

    registry: RegistryStore
    catalog: Catalog

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the plan in effect now (see `PlanSource.newest`).

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            CommitConflict: The table's schema goes on changing.
            LakeError: Registry or table cannot be read.
        """
        for _ in range(_ATTEMPTS_MAX):
            state = read_table_state(self.registry, self.catalog, plan.table)
            table.refresh()
            schema = state.table.schema
            if table.schema.id != schema.id:
                continue
            entry = state.document.streams.get(plan.stream)
            if entry is None:
                # Deleted just now: whoever hosts the query is about to stop it.
                return fit_plan(plan, schema)
            return plan_stream(
                table=plan.table,
                spec=state.document.table,
                stream=fixed_by(plan.spec, entry.spec),
                schema=schema,
                generation=plan.generation,
                version=entry.version,
                beside=[other.spec for other in state.document.streams.values()],
            )
        message = f"the schema of {plan.table} goes on changing"
        raise CommitConflict(message)
