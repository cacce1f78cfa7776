"""Histories of keys, and the steps of a column in them.

The history of a key consists of its records that have an effect; it is the same for all columns. `retracts`
determines the histories of keys with retracts.

Source: merge-semantics 2.3, 2.4, 3.4, 3.5.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.lake.merge.segments import Bools, Ints, Segments, run_starts
from braid.lake.merge.steps import Step, Steps

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The records with an effect on each of some keys, in merge order.

    A record *acts* when the engine merges it. A key is *seeded* when all columns of its first
    record are copied before anything else. That record is a retract that comes first under
    partial-update, or a record that removed the row; in the second case the records before it are
    not in the history of the row. A seeding record may also act.

    Attributes:
        segments: One segment per key; under aggregation with removals one per part of a key, from each
            removal to the next.
        acts: One boolean per position; None when all act.
        is_retract: One boolean per position; None when none is.
        seeded: One boolean per segment; None when none is.
        untouched: One boolean per segment: whether it is a single record that is kept as it is.
            None when none is.
    """

    segments: Segments
    acts: Bools | None = None
    is_retract: Bools | None = None
    seeded: Bools | None = None
    untouched: Bools | None = None

    def __post_init__(self) -> None:
        """Check that every array has one element per position, or per segment."""
        for per_position in (self.acts, self.is_retract):
            assert per_position is None or len(per_position) == len(self.segments.order)
        for per_segment in (self.seeded, self.untouched):
            assert per_segment is None or len(per_segment) == self.segments.count

    @property
    def seed_positions(self) -> Ints:
        """Return the positions of the records that seed, ascending."""
        if self.seeded is None:
            return np.empty(0, dtype=np.int64)
        return self.segments.starts[self.seeded]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySteps:
    """The steps of a column for those keys that have steps.

    Attributes:
        steps: One segment per such key.
        keys: Numbers of these keys, ascending; None means all.
        untouched: One boolean per such key: whether it has a single record that is kept as it is.
            None when none has.
    """

    steps: Steps
    keys: Ints | None = None
    untouched: Bools | None = None


def steps_of(
    history: History,
    *,
    chosen: Bools | None = None,
    is_late: Bools | None = None,
    without_retracts: bool = False,
) -> KeySteps | None:
    """Return the steps of a column in a history; None when no key has a step.

    Args:
        history: The history of some keys.
        chosen: One boolean per position: whether the record takes part in the column's group; None
            means all. Untouched and seeding records always make a step.
        is_late: One boolean per position: whether it has an add that is older than an accumulated
            value; None when none has.
        without_retracts: The column ignores retracts.
    """
    segments = history.segments
    assert chosen is None or len(chosen) == len(segments.order), "one boolean per position"
    if chosen is None and history.is_retract is None and history.seeded is None:
        # Every record is a step, so the steps have the segments of the history.
        steps = (
            _codes(history, is_late, np.arange(len(segments.order)))
            if is_late is not None
            else None
        )
        return KeySteps(steps=Steps(segments=segments, steps=steps), untouched=history.untouched)
    taking = np.ones(len(segments.order), dtype=np.bool_) if chosen is None else chosen.copy()
    if history.acts is not None:
        taking &= history.acts
    if without_retracts and history.is_retract is not None:
        taking &= ~history.is_retract
    if history.untouched is not None:
        taking[segments.starts[history.untouched]] = True
    acting = np.flatnonzero(taking)
    codes = _codes(history, is_late, acting)
    seeds = history.seed_positions
    positions = np.concatenate([seeds, acting])
    if not len(positions):
        return None
    codes = np.concatenate([np.full(len(seeds), Step.SEED, dtype=np.int8), codes])
    # Seeds come first in `positions` and the sort is stable, so a record seeds before it acts.
    order = np.argsort(positions, kind="stable")
    positions, codes = positions[order], codes[order]
    keys = segments.segment_of[positions]
    starts = np.flatnonzero(run_starts(keys))
    return KeySteps(
        steps=Steps(
            segments=Segments(order=segments.order[positions], starts=starts),
            steps=codes if codes.any() else None,
        ),
        keys=keys[starts],
        untouched=None if history.untouched is None else history.untouched[keys[starts]],
    )


def _codes(history: History, is_late: Bools | None, positions: Ints) -> Codes:
    # Zero is `Step.ADD`. A retract is never late: it is taken back whatever its age.
    codes = np.zeros(len(positions), dtype=np.int8)
    if is_late is not None:
        codes[is_late[positions]] = Step.LATE
    if history.is_retract is not None:
        codes[history.is_retract[positions]] = Step.RETRACT
    return codes
