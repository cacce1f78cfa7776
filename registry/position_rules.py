"""Rules for moves of a stream's position, and the records that a move reads again or skips. Pure.

A move forwards skips the records in between, unless they were read before. A move backwards reads records again, after
which the table has to have the same rows as before. The order that is stored in the table ensures this, except in two
cases, which are refused:

1. a function counts a repeated value twice (`why_repetition_matters`);
2. records of an earlier generation would be written in the present generation, as newer than records that came after
   them. These are the records below `GroupOrder.began`, or all records if another stream has written the group since.

In some tables rows are ordered by when they were written, perhaps only among equal values of an ordering column, or are
removed by deletes that compactions may have dropped. In these tables a stream that reads records again shows older rows
until it has passed the highest offset that it has read. A move that skips records before that would leave the older
rows in the table, so it is refused, too.

Also refused are partitions that the position does not have, offsets outside of the topic as last measured (`beyond_end`
allows offsets above its end), and moves of a position that is in another topic or belongs to a former stream.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from braid.lake import (
    WHOLE_ROWS,
    GroupOrder,
    StreamPosition,
    offsets_left_older,
    read_ranges_of,
    split_by_reading,
)
from braid.registry.layout.column_functions import column_functions, why_repetition_matters
from braid.registry.rules.arrival_rules import shows_older_rows
from braid.schemas import (
    FieldProblem,
    OffsetsRequest,
    PartitionChange,
    StreamEntry,
    StreamSpec,
    TableSpec,
    TopicOffsets,
)
from braid.schemas.field_problems import problem_at, quoted_list


@dataclass(frozen=True, slots=True, kw_only=True)
class MovePlan:
    """A requested move, checked.

    Attributes:
        partitions: The effect by partition, for those that move.
        problems: Why the move is refused; empty if it is not.
    """

    partitions: Mapping[int, PartitionChange]
    problems: tuple[FieldProblem, ...]


def plan_move(
    request: OffsetsRequest,
    *,
    table: TableSpec,
    entry: StreamEntry,
    position: StreamPosition | None,
    orders: Mapping[str, GroupOrder],
    measured: TopicOffsets | None,
) -> MovePlan:
    """Return what a move would do, and why it is refused, if it is.

    Args:
        request: The request.
        table: The declaration of the table.
        entry: The stream.
        position: The stream's position in the table; None if it has none.
        orders: Orders of the table's groups.
        measured: The topic's offsets as a runner last measured them; None: never.
    """
    problem = _unusable(entry, position)
    if problem is not None or position is None:
        return MovePlan(partitions={}, problems=() if problem is None else (problem,))
    wanted = {int(name): offset for name, offset in request.offsets.items()}
    moving = {
        partition: _change(position, partition, offset)
        for partition, offset in sorted(wanted.items())
        if partition in position.offsets and position.offsets[partition] != offset
    }
    problems = [
        *_unknown_partitions(wanted, position),
        *_beyond_bounds(moving, measured, beyond_end=request.beyond_end),
        *_repetitions(moving, table, entry.spec),
        *_earlier_generations(moving, entry.spec, position, orders),
        *_older_rows(moving, table, entry.spec, position),
    ]
    return MovePlan(partitions=moving, problems=tuple(problems))


def _change(position: StreamPosition, partition: int, offset: int) -> PartitionChange:
    before = position.offsets[partition]
    within = (min(before, offset), max(before, offset))
    read, unread = split_by_reading(read_ranges_of(position, partition), within)
    is_back = offset < before
    return PartitionChange(
        before=before,
        after=offset,
        read_again=read if is_back else 0,
        read_late=unread if is_back else 0,
        # What lies ahead and was read before a move back is in the table already.
        skipped=0 if is_back else unread,
    )


def _unusable(entry: StreamEntry, position: StreamPosition | None) -> FieldProblem | None:
    """Return the problem of a stream whose table has no position that could be moved."""
    if entry.spec.is_from_spark:
        message = "Spark feeds the stream, and the checkpoint of its query has the position"
        hint = "start the query with another checkpoint, and the option `takeover`"
        return problem_at("offsets", message=message, hint=hint)
    start = "start the stream once: it begins as `starting_offsets` says"
    if position is None or not position.topic:
        message = "the stream has not been started yet, so it has no position that could be set"
        return problem_at("offsets", message=message, hint=start)
    if position.topic != entry.spec.topic:
        message = f"the position in the table belongs to another topic, {position.topic}"
        return problem_at("offsets", message=message, hint=start)
    if entry.former_epoch is not None and position.epoch <= entry.former_epoch:
        message = "the position in the table belongs to a former stream of this name"
        return problem_at("offsets", message=message, hint=start)
    return None


def _unknown_partitions(
    wanted: Mapping[int, int], position: StreamPosition
) -> Iterator[FieldProblem]:
    known = ", ".join(str(partition) for partition in sorted(position.offsets))
    for partition in sorted(wanted.keys() - position.offsets.keys()):
        yield problem_at(
            "offsets",
            str(partition),
            value=wanted[partition],
            message=f"the stream has no partition {partition}; it has {known or 'none'}",
            hint="start the stream once: it reads added partitions from their first record",
        )


def _beyond_bounds(
    moving: Mapping[int, PartitionChange], measured: TopicOffsets | None, *, beyond_end: bool
) -> Iterator[FieldProblem]:
    if measured is None:
        return
    for partition, change in moving.items():
        first, end = measured.beginning.get(partition), measured.end.get(partition)
        if first is not None and change.after < first:
            yield problem_at(
                "offsets",
                str(partition),
                value=change.after,
                message=f"Kafka has deleted the records before offset {first}",
                hint=f"set {first} to read all that is left",
            )
        if end is not None and change.after > end and not beyond_end:
            yield problem_at(
                "offsets",
                str(partition),
                value=change.after,
                message=f"partition {partition} ended at offset {end} when it was last measured",
                hint="set an offset up to there, or `beyond_end: true` if the topic has grown since",
            )


def _repetitions(
    moving: Mapping[int, PartitionChange], table: TableSpec, stream: StreamSpec
) -> Iterator[FieldProblem]:
    functions = column_functions(table)
    reasons = {
        column: why_repetition_matters(functions[column])
        for column in stream.column_names
        if column in functions
    }
    counted = {column: reason for column, reason in reasons.items() if reason is not None}
    if not counted:
        return
    reason = next(iter(counted.values()))
    for partition, change in moving.items():
        if change.read_again:
            yield problem_at(
                "offsets",
                str(partition),
                value=change.after,
                message=f"{change.read_again} offsets would be read again, and {reason}: "
                f"{quoted_list(counted)}",
                hint="set an offset from which nothing was read yet; to count anew, register the stream "
                "for a new table",
            )


def _earlier_generations(
    moving: Mapping[int, PartitionChange],
    stream: StreamSpec,
    position: StreamPosition,
    orders: Mapping[str, GroupOrder],
) -> Iterator[FieldProblem]:
    order = orders.get(stream.sequence_group or WHOLE_ROWS)
    back = {partition: c for partition, c in moving.items() if c.after < c.before}
    if order is None:
        return
    if order.stream != stream.name:
        limits, why = dict(position.offsets), f"`{order.stream}` has written the group since"
    elif order.generation > 0:
        # Arrival also decides between equal values of declared ordering columns.
        limits = dict(position.offsets if order.began is None else order.began)
        why = f"generation {order.generation} of the group began there"
    else:
        return
    for partition, change in back.items():
        limit = limits.get(partition, 0)
        if change.after < limit:
            yield problem_at(
                "offsets",
                str(partition),
                value=change.after,
                message=f"records before offset {limit} would be written as newer than records that "
                f"came after them: {why}",
                hint=f"set {limit} or a later offset",
            )


def _older_rows(
    moving: Mapping[int, PartitionChange],
    table: TableSpec,
    stream: StreamSpec,
    position: StreamPosition,
) -> Iterator[FieldProblem]:
    if not shows_older_rows(table, stream):
        return
    for partition, change in moving.items():
        ahead = offsets_left_older(position, partition, change.after)
        if ahead > 0:
            yield problem_at(
                "offsets",
                str(partition),
                value=change.after,
                message=f"the stream is reading old records again, and this would skip {ahead} offsets that it had "
                "read before, so rows would remain older than they were",
                hint="start the stream, and let it read up to its former position first; if Kafka has "
                "deleted the records in between, delete the stream and register it under another name",
            )
