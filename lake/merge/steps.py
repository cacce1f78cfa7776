"""Steps: the effect of records on one column of each key, for whole batches."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from braid.lake.merge.segments import Bools, Ints, Segments


class Step(IntEnum):
    """The effect of a record on one column.

    ADD: the record's value is not older than the accumulated one.
    LATE: the record's value is older than the accumulated one.
    RETRACT: the record's value is retracted.
    SEED: the record's value becomes the accumulated one, without the function; only ever the first
        step. A record that seeds and is then retracted makes two steps.
    """

    ADD = 0
    LATE = 1
    RETRACT = 2
    SEED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of one column.

    Attributes:
        segments: One segment per key that has a step; `order` holds the row of each step, in the
            order in which the steps happen. A row may occur twice.
        steps: int8, the `Step` of each position of `segments.order`; None when all are ADD.
    """

    segments: Segments
    steps: npt.NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        """Check that every position has a step."""
        assert self.steps is None or len(self.steps) == len(self.segments.order)

    def subset(self, segments: Ints) -> "Steps":
        """Return the steps of some segments, given ascending."""
        if self.steps is None:
            return Steps(segments=self.segments.subset(segments))
        positions = self.segments.positions_of(segments)
        return Steps(segments=self.segments.subset(segments), steps=self.steps[positions])

    def where(self, *steps: Step) -> Bools:
        """Return one boolean per position: whether its step is one of these."""
        if self.steps is None:
            return np.full(len(self.segments.order), Step.ADD in steps, dtype=np.bool_)
        found: Bools = np.isin(self.steps, steps)
        return found

    def has(self, step: Step) -> bool:
        """Return whether the step occurs."""
        if self.steps is None:
            return step is Step.ADD
        return bool((self.steps == step).any())
