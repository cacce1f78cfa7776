"""Result of a commit."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a commit ended."""

    COMMITTED = "committed"
    REPLAYED = "replayed"  # the identity, offsets or replayed letters were in the table already
    EMPTY = "empty"  # no files to commit, and `allow_empty` was not set


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """The acknowledgement of a commit.

    Attributes:
        snapshot_id: The snapshot that holds the commit; for a replay of a stream's batch or
            of dead letters the newest snapshot at that time; 0 when there is none.
        attempts: The number of attempts, 1 without a race; 0 if there was nothing to commit.
        wait_ms: Time spent waiting between attempts, milliseconds.
        outcome: How the commit ended.
        time_ms: `timeMillis` of the snapshot; 0 when there is none.
        lost_to: Ids of the snapshots that other commits published first, one for each attempt that lost
            a race.
        are_files_unused: The files of the messages are in no snapshot and never will be. True only
            for a replay, and only if no earlier attempt can have published its files.
    """

    snapshot_id: int
    attempts: int
    wait_ms: int
    outcome: Outcome
    time_ms: int = 0
    lost_to: tuple[int, ...] = ()
    are_files_unused: bool = False
