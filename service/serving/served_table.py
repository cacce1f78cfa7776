"""State of one table that requests are answered from: a snapshot, its lookup, the declaration, and when it was verified.

Immutable: a request reads one reference, and never a part of a newer state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from braid.formats.json_values import json_writer
from braid.lake import Clock, SnapshotLookup, StreamPosition, Table, positions_of
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import TableDocument
from braid.schemas.api import Visibility
from braid.service.control.row_request import RowRequest
from braid.service.control.row_status import StatusRules
from braid.service.control.view_lookup import ViewPlan, view_plan


@dataclass(frozen=True, kw_only=True)  # no slots: cached_property needs a dictionary
class ServedTable:
    """A table at one snapshot.

    Attributes:
        table: The open table.
        lookup: Rows at the snapshot; has the snapshot and the schema.
        document: The declaration, at least as new as the schema; None: the table is not registered.
    """

    table: Table
    lookup: SnapshotLookup
    document: TableDocument | None
    _view_plans: dict[str, ViewPlan] = field(default_factory=dict, compare=False, repr=False)

    def view_plan(self, name: str, document: TableDocument) -> ViewPlan:
        """Return the plan of a feature view, which is kept if the table is registered.

        Args:
            name: The view.
            document: `document`, or the one that was read since.

        Raises:
            ViewNotFound, SchemaMismatch: See `control.view_lookup.view_plan`.
        """
        plan = self._view_plans.get(name)
        if plan is None:
            plan = view_plan(document, self.lookup.schema, name)
            if document is self.document:
                self._view_plans[name] = plan
        return plan

    def status_rules(self, document: TableDocument) -> StatusRules:
        """Return the rules of the status of rows; `document` is the declaration, or the one that was read since."""
        if document is self.document:
            return self._status_rules
        return StatusRules(document, self.lookup.schema)

    @cached_property
    def _status_rules(self) -> StatusRules:
        assert self.document is not None, "asked for with the document"
        return StatusRules(self.document, self.lookup.schema)

    @cached_property
    def positions(self) -> Mapping[str, StreamPosition]:
        """The positions of the table's streams in the snapshot."""
        return {} if self.lookup.snapshot is None else positions_of(self.lookup.snapshot)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The columns that a row has where a request names none: all but the generated ones."""
        return tuple(field.name for field in shown_fields(self.lookup.schema))

    @cached_property
    def write_row(self) -> Callable[[Mapping[str, object]], dict[str, Any]]:
        """The function from a row to its JSON values."""
        return json_writer(shown_fields(self.lookup.schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What is served of a table, and when that was last known to be the newest.

    Attributes:
        table: The table at its snapshot.
        verified_ms: Milliseconds since 1970.
    """

    table: ServedTable
    verified_ms: int

    @property
    def snapshot_id(self) -> int:
        """Id of the snapshot; 0 without one."""
        snapshot = self.table.lookup.snapshot
        return 0 if snapshot is None else snapshot.id

    def is_asked_for(self, request: RowRequest) -> bool:
        """Return whether a request is about what is served: neither an older state, nor one with hidden records."""
        is_merged = request.visibility is Visibility.MERGED and self.table.lookup.hidden is not None
        return request.at.is_newest and not is_merged

    def state_for(self, request: RowRequest, clock: Clock) -> tuple[SnapshotLookup, int]:
        """Return the state that a request asks for, and when it was determined; reads storage if it is not what is served.

        Raises:
            LakeError: There is no such state, or it cannot be read.
        """
        if self.is_asked_for(request):
            return self.table.lookup, self.verified_ms
        verified_ms = clock.now_ms()
        is_merged = request.visibility is Visibility.MERGED
        return self.table.table.lookup_at(request.at, merged=is_merged), verified_ms
