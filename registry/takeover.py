"""Takeover of columns by another stream: the conditions, the new stream's entry, and the fencing of former owners.

Columns outlive their streams, in a sequence group or without one. The stream that takes them over reads
another topic, or the same topic from another offset, so records may be counted twice. A runner of a former owner, or
a process of one of its backfills, may still be working, delayed somewhere, and must not commit any more.

A stream takes columns over only when it is registered; a change of a registered stream that would do so is refused.
Until the stream is started, each of its changes has to fulfil the conditions again, because the change may set another
start.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from braid.lake import (
    Catalog,
    StreamPosition,
    Table,
    TableNotFound,
    is_same_topic,
    split_backfill_name,
)
from braid.registry.errors import StreamNotStopped
from braid.registry.layout.column_functions import column_functions, why_repetition_matters
from braid.registry.store.stored_documents import START_ANEW, features_of
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import (
    DesiredState,
    FieldProblem,
    StreamDefinition,
    StreamEntry,
    StreamSpec,
    TableDocument,
)
from braid.schemas.field_problems import problem_at, quoted_list

COMMIT_USER: Final = "braid-registry"
_ANEW_HINT: Final = "stop and delete this stream, which has read nothing yet, and register it again with this definition"


def former_owners(
    document: TableDocument, table: Table | None, stream: StreamSpec
) -> tuple[str, ...]:
    """Return the streams that have, or may have, written a new stream's columns; usually none.

    The order of a sequence group says who wrote it. Nothing says so of columns outside of groups: any
    stream that has a position and is not registered any more may have written them. That matters for
    columns in which repetition counts, and to a stream whose name has no position to continue at.

    Args:
        document: The table's; may contain the stream, if it was not started yet.
        table: The table, whose newest snapshot holds the orders of groups and the positions of streams; None: it does not exist yet.
        stream: The completed stream.
    """
    if table is None:
        return ()
    committer = table.committer()
    positions = committer.stream_positions()
    deleted = _deleted_streams(document, positions, stream)
    former: set[str] = set()
    if _counted(document, _columns_outside_groups(document, stream)) and not _has_read(
        positions.get(stream.name)
    ):
        former |= deleted
    if stream.sequence_group is not None:
        order = committer.group_orders().get(stream.sequence_group)
        # A table of an earlier version has no orders of groups.
        former |= deleted if order is None else {order.stream} - {stream.name}
    return tuple(sorted(former))


def has_started(entry: StreamEntry | None, position: StreamPosition | None) -> bool:
    """Return whether a registered stream continues at the position of its name in the table.

    A former stream of the name may have left that position. The registered stream continues there, too, unless its
    registration set a start.

    Args:
        entry: The stream as registered; None: it is not registered.
        position: The position of its name.
    """
    if entry is None or position is None or not _has_read(position):
        return False
    return entry.former_epoch is None or position.epoch > entry.former_epoch


def check_takeover(
    document: TableDocument, table: Table | None, stream: StreamSpec, definition: StreamDefinition
) -> Iterator[FieldProblem]:
    """Yield a problem if a stream may not take over the columns of former owners.

    Args:
        document: The table's; contains the stream as registered, if it is.
        table: The table; None: it does not exist yet.
        stream: The completed stream.
        definition: The stream as requested.
    """
    known = document.streams.get(stream.name)
    positions = positions_in(table)
    if known is not None and has_started(known, positions.get(stream.name)):
        yield from _check_added(document, known.spec, stream, positions)
        return
    former = former_owners(document, table, stream)
    if not former:
        return
    group = document.table.sequence_group(stream.sequence_group or "")
    columns = _columns_outside_groups(document, stream)
    counted = _counted(document, columns if group is None else [*group.columns, *columns])
    if known is not None:
        added = _counted_and_added(document, known.spec, stream)
        is_moved = stream.sequence_group not in (None, known.spec.sequence_group)
        if is_moved or added:
            taken = f"the group `{stream.sequence_group}`" if is_moved else quoted_list(added)
            yield problem_at(
                "sequence_group" if is_moved else "columns",
                message=f"{quoted_list(former)} may have written {taken}, and a registered stream cannot take "
                "columns over by a change",
                hint=_ANEW_HINT,
            )
            return
    if counted and not is_start_given(definition):
        written = (
            "may have written the same columns"
            if group is None
            else f"has written the group `{group.name}`"
        )
        yield problem_at(
            "starting_offsets",
            message=f"{quoted_list(former)} {written}, and records that are read again would count again in "
            f"{quoted_list(counted)}",
            hint="set `starting_offsets`: `latest` counts records from now on, `earliest` all that the topic holds",
        )


def _check_added(
    document: TableDocument,
    known: StreamSpec,
    stream: StreamSpec,
    positions: Mapping[str, StreamPosition],
) -> Iterator[FieldProblem]:
    """Yield a problem if a started stream would count records in added columns that a former owner has counted.

    The group of a started stream cannot change, so only columns outside of groups can be added.
    """
    added = _counted_and_added(document, known, stream)
    ahead = sorted(
        name
        for name in _deleted_streams(document, positions, stream)
        if _has_read_beyond(positions[name], positions[stream.name])
    )
    if added and ahead:
        yield problem_at(
            "columns",
            message=f"records that this stream has not read yet were read by {quoted_list(ahead)} before, and may "
            f"be counted in {quoted_list(added)} already",
            hint="add the columns when this stream has read as far, or register another stream for them, "
            "with `starting_offsets`",
        )


def _deleted_streams(
    document: TableDocument, positions: Mapping[str, StreamPosition], stream: StreamSpec
) -> set[str]:
    """Return the streams that have read records and are not registered any more, besides the stream."""
    return {
        name
        for name in positions.keys() - {*document.streams, stream.name}
        if _has_read(positions[name]) and split_backfill_name(name) is None
    }


def _has_read(position: StreamPosition | None) -> bool:
    """Return whether a stream was ever claimed; a fence before that leaves a position without a topic."""
    return position is not None and bool(position.topic)


def _has_read_beyond(other: StreamPosition, position: StreamPosition) -> bool:
    """Return whether another stream has read records of the same topic that a stream has not read yet."""
    return is_same_topic(other, topic=position.topic, topic_id=position.topic_id) and any(
        offset > position.offsets.get(partition, 0) for partition, offset in other.offsets.items()
    )


def _counted_and_added(document: TableDocument, known: StreamSpec, stream: StreamSpec) -> list[str]:
    """Return the columns outside of groups that a changed stream adds and in which repetition counts."""
    columns = _columns_outside_groups(document, stream)
    return _counted(document, [name for name in columns if name not in known.column_names])


def _columns_outside_groups(document: TableDocument, stream: StreamSpec) -> list[str]:
    grouped = {name for group in document.table.sequence_groups for name in group.columns}
    return [name for name in stream.column_names if name not in grouped]


def _counted(document: TableDocument, columns: Iterable[str]) -> list[str]:
    """Return those of the columns whose function counts a repeated record again."""
    functions = column_functions(document.table)
    return [
        name
        for name in columns
        if name in functions and why_repetition_matters(functions[name]) is not None
    ]


def is_start_given(definition: StreamDefinition) -> bool:
    """Return whether a request sets where its stream starts; the default does not count."""
    return "starting_offsets" in definition.model_fields_set


def positions_in(table: Table | None) -> Mapping[str, StreamPosition]:
    """Return the positions of streams in a table; a table that does not exist yet has none."""
    return {} if table is None else table.committer().stream_positions()


def new_entry(
    table: Table | None,
    stream: StreamSpec,
    definition: StreamDefinition,
    desired_state: DesiredState = DesiredState.RUNNING,
) -> StreamEntry:
    """Return the entry of a stream that is not registered yet.

    A former stream of its name may have left a position. The new one continues there, unless the
    request sets a start and either another stream has written the group since or the topic is another
    one. Whether this holds is certain only when the stream is claimed, so the entry holds the epoch that the
    former position had at registration.

    Args:
        table: The table, whose newest snapshot holds the positions of streams; None: it does not exist yet.
        stream: The completed stream.
        definition: The stream as requested.
        desired_state: The desired state from the start.
    """
    position = positions_in(table).get(stream.name)
    entry = StreamEntry(spec=stream, desired_state=desired_state, features=features_of(stream))
    if position is None or not position.topic or not is_start_given(definition):
        return entry
    features = features_of(stream, besides=[START_ANEW])
    return entry.model_copy(update={"former_epoch": position.epoch, "features": features})


def fence_streams(
    catalog: Catalog, holders: StreamHolders, identifier: str, streams: tuple[str, ...]
) -> None:
    """End the epochs of streams and of their backfills, so that no process commits for them without a new claim.

    Args:
        catalog: The warehouse's tables.
        holders: The holders of the warehouse's streams.
        identifier: `<database>.<table>`.
        streams: Their names.

    Raises:
        StreamNotStopped: A runner still holds one of them.
        LakeError: The end cannot be committed; call again.
    """
    # The holder only gives a better answer than an error in a working runner; the data is protected by
    # the commit below alone, which makes every later commit of the former epochs fail.
    check_released(holders, identifier, streams)
    if not streams:
        return
    try:
        table = catalog.table(identifier)
    except TableNotFound:
        return  # no process can commit to it
    table.committer().fence_streams(commit_user=COMMIT_USER, only=streams)


def check_released(holders: StreamHolders, identifier: str, streams: tuple[str, ...]) -> None:
    """Check that no runner holds one of the streams.

    Raises:
        StreamNotStopped: A runner does.
    """
    held = holders.holders(identifier, *streams)
    by_holder = [f"{name} (held by {runner})" for name, runner in held.items()]
    if by_holder:
        message = (
            f"streams of {identifier} are not released yet: {', '.join(by_holder)}\n"
            "hint: wait until the runner has stopped them; if it has died, for 15 seconds"
        )
        raise StreamNotStopped(message)
