"""The answer of a dry run."""

from braid.registry.effects import PlannedChange
from braid.schemas.api import Validation


def validation_of(planned: PlannedChange) -> Validation:
    """Return a planned change as it is answered."""
    return Validation(valid=not planned.problems, errors=planned.problems, plan=planned.effects)
