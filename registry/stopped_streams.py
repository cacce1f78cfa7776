"""Check that a table's streams are stopped: a precondition of rollback and drop."""

from braid.lake import Clock, FileIO
from braid.registry.errors import StreamNotStopped
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stream_holders import StreamHolders
from braid.schemas import DesiredState


def check_streams_stopped(
    file_io: FileIO, warehouse: str, identifier: str, *, clock: Clock
) -> None:
    """Check that the desired state of every stream is STOPPED, and that no runner holds one.

    A table that is not registered has no streams.

    Args:
        file_io: Storage.
        warehouse: Absolute path.
        identifier: `database.table`.
        clock: Decides which runners are alive where storage has no clock.

    Raises:
        StreamNotStopped: The message names the streams, with their desired states or holders.
        CorruptData: The table's document cannot be read.
    """
    versioned = RegistryStore(file_io, warehouse, clock).table(identifier)
    if versioned is None:
        return
    entries = versioned.value.streams
    held = StreamHolders(file_io, warehouse, clock).holders(identifier, *entries)
    running: list[str] = []
    for name, entry in sorted(entries.items()):
        if entry.desired_state is not DesiredState.STOPPED:
            running.append(f"{name} (desired state {entry.desired_state.value})")
        elif name in held:
            running.append(f"{name} (still held by {held[name]})")
    if running:
        message = (
            f"streams of {identifier} are not stopped: {', '.join(running)}\n"
            "hint: stop them and wait until their runners have released them"
        )
        raise StreamNotStopped(message)
