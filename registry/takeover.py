"""Takeover of columns by another stream: the conditions, the new stream's entry, and the fencing of former owners.

Columns outlive their streams, in a sequence group or without one. The stream that takes them over reads
another topic, or the same topic from another offset, so records may be counted twice. A runner of a former owner, or
a process of one of its backfills, may still be working, delayed somewhere, and must not commit any more.
"""

from collections.abc import Iterable, Iterator

from braid.lake import Catalog, Table, TableNotFound, split_backfill_name
from braid.registry.errors import StreamNotStopped
from braid.registry.layout.column_functions import column_functions, why_repetition_matters
from braid.registry.store.leases import LeaseStore
from braid.registry.store.stored_documents import START_ANEW, features_of
from braid.schemas import FieldProblem, StreamDefinition, StreamEntry, StreamSpec, TableDocument
from braid.schemas.field_problems import problem_at, quoted_list

COMMIT_USER = "braid-registry"


def former_owners(document: TableDocument, table: Table, stream: StreamSpec) -> tuple[str, ...]:
    """Return the streams that have, or may have, written a new stream's columns; usually none.

    The order of a sequence group says who wrote it. Nothing says so of columns outside of groups: any
    stream that has a position and is not registered any more may have written them. That matters for
    columns in which repetition counts, and to a stream whose name has no position to continue at.

    Args:
        document: The table's; may contain the stream.
        table: The table, whose newest snapshot holds the orders of groups and the positions of streams.
        stream: The completed stream.
    """
    committer = table.committer()
    positions = committer.stream_positions()
    known = {*document.streams, stream.name}
    deleted = {
        name
        for name in positions.keys() - known
        if positions[name].topic and split_backfill_name(name) is None
    }
    former: set[str] = set()
    if (
        _counted(document, _columns_outside_groups(document, stream))
        and stream.name not in positions
    ):
        former |= deleted
    if stream.sequence_group is not None:
        order = committer.group_orders().get(stream.sequence_group)
        # A table of an earlier version has no orders of groups.
        former |= deleted if order is None else {order.stream} - {stream.name}
    return tuple(sorted(former))


def check_takeover(
    document: TableDocument,
    stream: StreamSpec,
    definition: StreamDefinition,
    former: tuple[str, ...],
) -> Iterator[FieldProblem]:
    """Yield a problem if columns would count records again and the request sets no start.

    Args:
        document: The table's.
        stream: The completed stream.
        definition: The stream as requested.
        former: The streams that `former_owners` returned.
    """
    group = document.table.sequence_group(stream.sequence_group or "")
    columns = _columns_outside_groups(document, stream)
    counted = _counted(document, columns if group is None else [*group.columns, *columns])
    if former and counted and not is_start_given(definition):
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


def new_entry(table: Table, stream: StreamSpec, definition: StreamDefinition) -> StreamEntry:
    """Return the entry of a stream that is not registered yet.

    A former stream of its name may have left a position. The new one continues there, unless the
    request sets a start and either another stream has written the group since or the topic is another
    one. Whether this holds is certain only when the stream is claimed, so the entry holds the epoch that the
    former position had at registration.

    Args:
        table: The table, whose newest snapshot holds the positions of streams.
        stream: The completed stream.
        definition: The stream as requested.
    """
    position = table.committer().stream_positions().get(stream.name)
    if position is None or not position.topic or not is_start_given(definition):
        return StreamEntry(spec=stream, features=features_of(stream))
    features = features_of(stream, besides=[START_ANEW])
    return StreamEntry(spec=stream, former_epoch=position.epoch, features=features)


def fence_streams(
    catalog: Catalog, leases: LeaseStore, identifier: str, streams: tuple[str, ...]
) -> None:
    """End the epochs of streams and of their backfills, so that no process commits for them without a new claim.

    Args:
        catalog: The warehouse's tables.
        leases: The warehouse's leases.
        identifier: `<database>.<table>`.
        streams: Their names.

    Raises:
        StreamNotStopped: A runner still holds one of them.
        LakeError: The end cannot be committed; call again.
    """
    # The lease only gives a better answer than an error in a working runner; the data is protected by
    # the commit below alone, which makes every later commit of the former epochs fail.
    held = {name: leases.holder(identifier, name) for name in streams}
    by_holder = [f"{name} (held by {lease.owner})" for name, lease in held.items() if lease]
    if by_holder:
        message = (
            f"streams of {identifier} are not released yet: {', '.join(by_holder)}\n"
            "hint: wait until the runner has stopped, or until its lease has expired"
        )
        raise StreamNotStopped(message)
    if not streams:
        return
    try:
        table = catalog.table(identifier)
    except TableNotFound:
        return  # no process can commit to it
    table.committer().fence_streams(commit_user=COMMIT_USER, only=streams)
