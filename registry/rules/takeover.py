"""Conditions under which a stream takes over what another one has written.

A sequence group outlives its streams. Whoever takes it over reads another topic, or the same one from
another place, so records may be counted twice; and whoever wrote it before may still be at it, held up
somewhere, and must not commit any more.
"""

from collections.abc import Iterator

from lake import Catalog, Table, TableNotFound
from registry.errors import StreamNotStopped
from registry.layout.column_functions import column_functions, why_repetition_matters
from registry.store.leases import LeaseStore
from registry.store.stored_documents import START_ANEW
from schemas import FieldProblem, StreamDefinition, StreamEntry, StreamSpec, TableDocument
from schemas.field_problems import problem_at, quoted_list

COMMIT_USER = "braid-registry"


def former_owners(document: TableDocument, table: Table, stream: StreamSpec) -> tuple[str, ...]:
    """Return the streams that have, or may have, written a new stream's group; usually none.

    Args:
        document: The table's; the stream may be in it.
        table: The table, which knows who has written.
        stream: Complete.
    """
    if stream.sequence_group is None:
        return ()
    committer = table.committer()
    order = committer.group_orders().get(stream.sequence_group)
    if order is not None:
        return () if order.stream == stream.name else (order.stream,)
    # An earlier version kept no orders: it was any of those that are not registered any more.
    known = {*document.streams, stream.name}
    positions = committer.stream_positions()
    return tuple(name for name in sorted(positions.keys() - known) if positions[name].topic)


def check_takeover(
    document: TableDocument,
    stream: StreamSpec,
    definition: StreamDefinition,
    former: tuple[str, ...],
) -> Iterator[FieldProblem]:
    """Yield the columns in which records would count again, unless it is said where to start.

    Args:
        document: The table's.
        stream: Complete.
        definition: The same as requested.
        former: As `former_owners` tells.
    """
    group = document.table.sequence_group(stream.sequence_group or "")
    if not former or group is None or is_start_given(definition):
        return
    functions = column_functions(document.table)
    counted = [
        column
        for column in group.columns
        if column in functions and why_repetition_matters(functions[column]) is not None
    ]
    if counted:
        yield problem_at(
            "starting_offsets",
            message=f"{quoted_list(former)} has written the group `{group.name}`, and what the stream "
            f"reads again would count again in {quoted_list(counted)}",
            hint="say where to start: `latest` counts what comes from now on, `earliest` all that "
            "the topic holds",
        )


def is_start_given(definition: StreamDefinition) -> bool:
    """Return whether a request says where its stream starts."""
    return "starting_offsets" in definition.model_fields_set


def new_entry(table: Table, stream: StreamSpec, definition: StreamDefinition) -> StreamEntry:
    """Return the entry of a stream that is not registered yet.

    A stream of its name may have been, and have left a position. The one that is registered now goes
    on there, unless a start was given and others have written since, or the topic is another one:
    that is known for sure only when the stream is claimed, so the entry says which position is meant.

    Args:
        table: The table, which knows who has written.
        stream: Complete.
        definition: The same as requested.
    """
    position = table.committer().stream_positions().get(stream.name)
    if position is None or not position.topic or not is_start_given(definition):
        return StreamEntry(spec=stream)
    return StreamEntry(spec=stream, former_epoch=position.epoch, features=(START_ANEW,))


def fence_streams(
    catalog: Catalog, leases: LeaseStore, identifier: str, streams: tuple[str, ...]
) -> None:
    """End the epochs of streams, so that nobody commits for them without a new claim.

    Args:
        catalog: Of the warehouse.
        leases: Of the warehouse.
        identifier: `<database>.<table>`.
        streams: Their names.

    Raises:
        StreamNotStopped: A runner still holds one of them.
        LakeError: The table cannot be committed to; the same call again.
    """
    held = {name: leases.holder(identifier, name) for name in streams}
    by_holder = [f"{name} (held by {lease.owner})" for name, lease in held.items() if lease]
    if by_holder:
        message = (
            f"streams of {identifier} are not let go yet: {', '.join(by_holder)}\n"
            "hint: wait until the runner has stopped, or until its lease is over"
        )
        raise StreamNotStopped(message)
    if not streams:
        return
    try:
        table = catalog.table(identifier)
    except TableNotFound:
        return  # nobody can commit to it
    table.committer().fence_streams(commit_user=COMMIT_USER, only=streams)
