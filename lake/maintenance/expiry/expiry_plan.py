"""Which snapshots of a table expire, as a pure decision.

Snapshots go from the oldest on, without a gap. With `latest` the newest id, those in
[earliest, end) expire, where end is the smallest of

1. latest - `snapshot.num-retained.min` + 1: so many stay in any case;
2. the oldest snapshot that a consumer still needs;
3. earliest + `snapshot.expire.limit`: what one run may do;
4. the first that is neither one too many for `snapshot.num-retained.max` nor old enough. Old
   enough is a snapshot whose *successor* is older than `snapshot.time-retained`: only then has
   nobody been able to read it as the newest for that long. (Releases before 2.0 of the reference
   look at the snapshot's own time, and take the only snapshot of a quiet hour away from a reader
   that has just begun with it.)

The newest snapshot never expires.

Source: table-format 19; rules of release 2.0.0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lake.errors import InvalidRequest, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How many snapshots, or changelogs, stay, and for how long.

    Attributes:
        count_min: So many of the newest stay, at least 1.
        count_max: Those beyond that many go whatever their age; at least `count_min`.
        older_than_ms: What was followed by another one before this time may go; milliseconds
            since 1970 UTC.
        limit: So many go at a time.
    """

    count_min: int
    count_max: int
    older_than_ms: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryPlan:
    """What expires, and what stops more from it.

    Attributes:
        begin: The oldest id there is.
        end: The first id that stays; equals `begin` when nothing expires.
        held_by: Why `end` stays, for people.
    """

    begin: int
    end: int
    held_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Somebody who still needs a snapshot.

    Attributes:
        snapshot_id: The oldest that is needed.
        reason: Who it is, for people.
    """

    snapshot_id: int
    reason: str


def check_retention(retention: Retention) -> None:
    """Refuse numbers that contradict each other.

    Raises:
        InvalidRequest: Fewer may stay than have to, or a number is below 1.
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
        message = "snapshots cannot be retained so"
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
        earliest: Oldest id.
        latest: Newest id.
        retention: What stays without anybody's asking.
        holds: Who needs which snapshots.
        time_ms_of: The commit time of a snapshot, milliseconds since 1970 UTC; None where it has
            gone meanwhile. Asked in ascending order, and no further than the answer matters.
    """

    def is_young(snapshot_id: int) -> bool:
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

    As for snapshots, but for two things in which the reference differs: a changelog's own time
    counts, because nobody reads it as the newest, and the newest that is kept stays.

    Args:
        kept: Ids of kept changelogs, ascending, at least one.
        latest: The newest snapshot's id: what is counted are changes, wherever they are.
        retention: What stays; `older_than_ms` is compared with a changelog's own time.
        holds: Who needs which snapshots or changelogs.
        time_ms_of: As for `plan_expiry`.
    """

    def is_young(snapshot_id: int) -> bool:
        time_ms = time_ms_of(snapshot_id)
        return time_ms is not None and retention.older_than_ms <= time_ms

    bounds = [
        *_bounds(kept[0], latest, retention, holds),
        Hold(snapshot_id=kept[-1], reason="the newest of all that outlived their snapshots stays"),
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
    # Those below `first_within_count` are too many, whatever their age.
    for candidate in range(max(first_within_count, earliest), bound.snapshot_id):
        if is_young(candidate):
            return ExpiryPlan(begin=earliest, end=candidate, held_by="it is too young")
    return ExpiryPlan(begin=earliest, end=max(bound.snapshot_id, earliest), held_by=bound.reason)
