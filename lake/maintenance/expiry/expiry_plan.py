"""Plan of an expiry: which snapshots expire, and which changelogs that outlived their snapshots. Pure functions.

Snapshots expire from the oldest on, without a gap. Let `earliest` and `latest` be the ids of the oldest and the
newest snapshot. The snapshots in [earliest, end) expire, where end is the smallest of

1. latest - `snapshot.num-retained.min` + 1, because that number of the newest snapshots always stays;
2. the oldest snapshot that a consumer, a lease or a stream still needs;
3. earliest + `snapshot.expire.limit`, the bound of one run;
4. the first snapshot that is neither in excess of `snapshot.num-retained.max` nor old enough. A snapshot is old
   enough if its *successor* is older than `snapshot.time-retained`: only then it is certain that no reader has found
   it as the newest within that time. (Paimon before 2.0 compares the snapshot's own time. After an hour without
   commits, the next commit then lets the snapshot expire that was the newest during the hour, although a reader may
   have opened it a moment ago.)

The newest snapshot never expires. The rules of changelogs differ in two points (see `plan_changelog_expiry`).

Source: table-format 19; rules of Paimon 2.0.0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from braid.lake.errors import InvalidRequest, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Bounds of the number and age of the snapshots, or changelogs, that stay.

    Attributes:
        count_min: Number of the newest snapshots that stay in any case, at least 1.
        count_max: Number of the newest snapshots that may stay; the others expire at any age. At least
            `count_min`.
        older_than_ms: A snapshot whose successor is older may expire; milliseconds since 1970 UTC.
        limit: Number of the snapshots that expire in one run at most.
    """

    count_min: int
    count_max: int
    older_than_ms: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryPlan:
    """The range of snapshots that expire.

    Attributes:
        begin: Id of the oldest existing snapshot.
        end: Id of the first snapshot that stays; equals `begin` when nothing expires.
        held_by: Why snapshot `end` stays, as text for users.
    """

    begin: int
    end: int
    held_by: str

    def __post_init__(self) -> None:
        assert self.begin <= self.end, "a plan never goes below the oldest snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A lower bound of the snapshots that stay.

    Attributes:
        snapshot_id: Id of the oldest snapshot that is needed.
        reason: Why that snapshot stays, as text for users.
    """

    snapshot_id: int
    reason: str


def check_retention(retention: Retention) -> None:
    """Refuse bounds that contradict each other.

    Raises:
        InvalidRequest: The maximum is below the minimum, or a number is below 1.
    """
    problems = [
        Problem(field=name, value=str(value), message="must be at least 1")
        for name, value in (("retain_min", retention.count_min), ("max_deletes", retention.limit))
        if value < 1
    ]
    if retention.count_max < retention.count_min:
        problems.append(
            Problem(
                field="retain_max",
                value=str(retention.count_max),
                message=f"must not be less than retain_min, which is {retention.count_min}",
                hint="set snapshot.num-retained.min and .max, or the arguments, so that they fit",
            )
        )
    if problems:
        message = "the retention of snapshots is not valid"
        raise InvalidRequest(message, problems=problems)


def plan_expiry(
    earliest: int,
    latest: int,
    retention: Retention,
    *,
    holds: tuple[Hold, ...] = (),
    time_ms_of: Callable[[int], int | None],
) -> ExpiryPlan:
    """Return which snapshots expire.

    Args:
        earliest: Id of the oldest snapshot.
        latest: Id of the newest snapshot; below `earliest` if another process has expired that snapshot
            since its id was read.
        retention: Bounds of number and age.
        holds: Holds of consumers, leases and streams.
        time_ms_of: Returns the commit time of a snapshot by id, milliseconds since 1970 UTC; None if the
            snapshot is gone. Called in ascending order, and only as far as the result depends on it.
    """

    def is_young(snapshot_id: int) -> bool:
        # The successor's time is when the snapshot stopped being the newest.
        time_ms = time_ms_of(snapshot_id + 1)
        return time_ms is not None and retention.older_than_ms <= time_ms

    bounds = _bounds(earliest, latest, retention, holds)
    return _first_that_stays(earliest, latest - retention.count_max + 1, bounds, is_young=is_young)


def plan_changelog_expiry(
    kept: Sequence[int],
    latest: int,
    retention: Retention,
    *,
    holds: tuple[Hold, ...] = (),
    time_ms_of: Callable[[int], int | None],
) -> ExpiryPlan:
    """Return which of the changelogs that outlived their snapshots expire.

    The rules are those of snapshots, with two differences that the reference has too: a changelog's own
    time counts, because no reader finds it as the newest, and the newest of these changelogs always stays.

    Args:
        kept: Ids of kept changelogs, ascending, at least one.
        latest: Id of the newest snapshot: the numbers of `retention` count the changes of existing
            snapshots, too.
        retention: Bounds; `older_than_ms` is compared with a changelog's own time.
        holds: Holds of consumers and leases.
        time_ms_of: Returns the commit time of a changelog (see `plan_expiry`).
    """

    def is_young(snapshot_id: int) -> bool:
        time_ms = time_ms_of(snapshot_id)
        return time_ms is not None and retention.older_than_ms <= time_ms

    assert kept, "there is a changelog"
    bounds = [
        *_bounds(kept[0], latest, retention, holds),
        Hold(
            snapshot_id=kept[-1],
            reason="the newest changelog that outlived its snapshot always stays",
        ),
    ]
    return _first_that_stays(kept[0], latest - retention.count_max + 1, bounds, is_young=is_young)


def _bounds(earliest: int, latest: int, retention: Retention, holds: Sequence[Hold]) -> list[Hold]:
    return [
        Hold(
            snapshot_id=latest - retention.count_min + 1,
            reason=f"the newest {retention.count_min} stay",
        ),
        *holds,
        Hold(
            snapshot_id=earliest + retention.limit,
            reason=f"no more than {retention.limit} expire at a time",
        ),
    ]


def _first_that_stays(
    earliest: int,
    first_within_count: int,
    bounds: Sequence[Hold],
    *,
    is_young: Callable[[int], bool],
) -> ExpiryPlan:
    bound = min(bounds, key=lambda hold: hold.snapshot_id)
    # Ids below `first_within_count` are in excess, so their age does not matter. Of the others the first
    # young one stays, and so do all above it, so no gap arises.
    for candidate in range(max(first_within_count, earliest), bound.snapshot_id):
        if is_young(candidate):
            return ExpiryPlan(begin=earliest, end=candidate, held_by="it is too young")
    return ExpiryPlan(begin=earliest, end=max(bound.snapshot_id, earliest), held_by=bound.reason)
