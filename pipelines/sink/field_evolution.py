"""Field evolution: changes of a table for the new fields of its stream's micro-batches, within bounds.

A field that was refused once stays refused, and its records become dead letters, until the stream's declaration changes
or its query starts again. So the registry is asked once, and not for every record.
"""

import logging
from collections.abc import Mapping
from typing import Final

from braid.lake import Table
from braid.pipelines.plan_changes.current_plan import CurrentPlan
from braid.pipelines.plan_changes.stream_evolver import StreamEvolver
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.undeclared_field_reader import UndeclaredFieldReader, name_taken
from braid.records.stream_plan import StreamPlan
from braid.registry.alteration.stream_evolution import LIMIT_REACHED
from braid.schemas import OnNewField

_LOG = logging.getLogger(__name__)

ROUNDS_MAX: Final = 5
"""Rounds of one micro-batch; each ends with another schema, or with fields refused."""

_REFUSED_MAX: Final = 1_000
"""Refused names that are remembered; beyond, every further new field is refused without asking."""


class FieldEvolution:
    """Remembers refused fields, and bounds how often a micro-batch changes the table."""

    def __init__(self, evolver: StreamEvolver | None) -> None:
        """Begin without refused fields.

        Args:
            evolver: Changes the table; None: every new field is refused.
        """
        self._evolver = evolver
        self._refused: dict[str, str] = {}
        self._refused_version = -1
        self._rounds = 0

    def begin(self) -> None:
        """Begin a micro-batch."""
        self._rounds = 0

    def reader(self, plan: StreamPlan, table: Table) -> UndeclaredFieldReader | None:
        """Return the reader of new fields; None where Python does not search for them."""
        if plan.spec.on_new_field is not OnNewField.EVOLVE:
            return None
        self._forget_outdated(plan)
        # In the last round the tasks refuse every new field, which ends the rounds of the micro-batch.
        is_last = (
            self._evolver is None
            or self._rounds >= ROUNDS_MAX
            or len(self._refused) >= _REFUSED_MAX
        )
        return UndeclaredFieldReader(
            plan=plan,
            taken=tuple(table.schema.field_names),
            refused=dict(self._refused),
            is_last=is_last,
        )

    def evolve(self, current: CurrentPlan, delta: SchemaDelta) -> None:
        """Change the table, and exchange the plan for the one with the new columns.

        Raises:
            LakeError: Registry or table does not answer; nothing of the micro-batch is committed.
        """
        assert self._evolver is not None, "without an evolver the tasks refuse every new field"
        self._rounds += 1
        assert self._rounds <= ROUNDS_MAX, "after the last round the tasks refuse every new field"
        old = current.plan
        refused = dict(self._evolver.evolve(old, delta))
        current.refresh(is_forced=True)
        # A field that is neither refused nor in the new plan would be reported again by every attempt.
        refused = _left_out(old, current.plan, delta) | refused
        self._forget_outdated(current.plan)
        self._refused |= refused
        _LOG.info(
            "new fields stream=%s schema=%d refused=%s",
            old.key,
            current.plan.schema_id,
            sorted(refused)[:10],
        )

    def _forget_outdated(self, plan: StreamPlan) -> None:
        """Forget the fields refused under another declaration: the registry is asked again."""
        if plan.version != self._refused_version:
            self._refused, self._refused_version = {}, plan.version


def _left_out(old: StreamPlan, new: StreamPlan, delta: SchemaDelta) -> dict[str, str]:
    """Return why fields and columns stay as they were, by the field's address or the column's name."""
    paths = {column.path for column in new.columns}
    taken = {column.name.lower(): column.name for column in new.columns}
    reasons = {}
    for path in delta.new:
        if path not in paths:
            name = taken.get(path[-1].lower())
            reasons[".".join(path)] = LIMIT_REACHED if name is None else name_taken(name)
    before = {column.name: column.type for column in old.columns}
    after: Mapping[str, object] = {column.name: column.type for column in new.columns}
    unchanged = [name for name in delta.wider if before.get(name) == after.get(name)]
    return reasons | dict.fromkeys(unchanged, LIMIT_REACHED)
