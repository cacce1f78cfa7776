"""Where a running stream's plan comes from, whenever its table or its declaration has changed."""

from dataclasses import dataclass
from typing import Final, Protocol

from lake import Table
from pipelines.stream.stream_plan import StreamPlan, fit_plan
from schemas import StreamSpec

FOLLOWED: Final = frozenset(
    {"columns", "on_new_field", "columns_max", "on_null_ordering", "max_message_bytes"}
)
"""Fields of a stream that are taken up between two micro-batches; the others take a new query."""


class PlanSource(Protocol):
    """Tells the plan that is in effect now."""

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the plan for the newest schema of the table, which is at that schema then.

        Args:
            plan: The one so far; its topic and whatever else a query is fixed to stay.
            table: The query's own, which is refreshed.

        Raises:
            InvalidRequest: The stream does not fit its table any more.
            LakeError: Registry or table cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class SameDeclaration:
    """For a stream whose declaration nobody changes: only the table's schema is followed."""

    def newest(self, plan: StreamPlan, table: Table) -> StreamPlan:
        """Return the same plan with the types that its columns have now."""
        table.refresh()
        return fit_plan(plan, table.schema)


def can_apply_live(old: StreamSpec, new: StreamSpec) -> bool:
    """Return whether a running query can take a stream's new declaration up."""
    return old == new.model_copy(update={name: getattr(old, name) for name in FOLLOWED})


def fixed_by(running: StreamSpec, new: StreamSpec) -> StreamSpec:
    """Return the new declaration as far as a running query can take it up."""
    return running.model_copy(update={name: getattr(new, name) for name in FOLLOWED})
