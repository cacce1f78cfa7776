"""What becomes of the table for the new fields of one stream's micro-batches.

A field that was refused once stays refused, and its records are dead letters, until the stream is
declared otherwise: the registry is asked once, not for every record.
"""

import logging
from collections.abc import Mapping
from typing import Final

from lake import Table
from pipelines.new_fields.schema_delta import SchemaDelta
from pipelines.new_fields.undeclared_field_reader import UndeclaredFieldReader, name_taken
from pipelines.stream.current_plan import CurrentPlan
from pipelines.stream.stream_evolver import StreamEvolver
from pipelines.stream.stream_plan import StreamPlan
from registry.alteration.stream_evolution import LIMIT_REACHED
from schemas import OnNewField

_LOG = logging.getLogger(__name__)

ROUNDS_MAX: Final = 5
"""Of one micro-batch, each of which ends with another schema or with fields refused."""

_REFUSED_MAX: Final = 1_000
"""Names that a stream may invent before every further one is refused unheard."""


class FieldEvolution:
    """Remembers what was refused, and bounds how often a micro-batch changes the table."""

    def __init__(self, evolver: StreamEvolver | None) -> None:
        """Begin with nothing refused.

        Args:
            evolver: Changes the table; None: everything is refused.
        """
        self._evolver = evolver
        self._refused: dict[str, str] = {}
        self._refused_version = -1
        self._rounds = 0

    def begin(self) -> None:
        """Begin a micro-batch."""
        self._rounds = 0

    def reader(self, plan: StreamPlan, table: Table) -> UndeclaredFieldReader | None:
        """Return what looks for new fields; None where they are not looked for in Python."""
        if plan.spec.on_new_field is not OnNewField.EVOLVE:
            return None
        self._forget_outdated(plan)
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
        """Change the table, and take the new plan up.

        Raises:
            LakeError: Registry or table do not answer; nothing of the micro-batch is committed.
        """
        assert self._evolver is not None, "without one the tasks refuse"
        self._rounds += 1
        old = current.plan
        refused = dict(self._evolver.evolve(old, delta))
        current.refresh(is_forced=True)
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
        """Let what was refused under another declaration be asked again."""
        if plan.version != self._refused_version:
            self._refused, self._refused_version = {}, plan.version


def _left_out(old: StreamPlan, new: StreamPlan, delta: SchemaDelta) -> dict[str, str]:
    """Return the fields, by address, and the columns that are as they were, and why."""
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
