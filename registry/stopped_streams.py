"""Whether anybody may still write for a table's streams: what some changes have to know first."""

from lake import Clock, FileIO
from registry.errors import StreamNotStopped
from registry.store.documents import RegistryStore
from registry.store.leases import LeaseStore
from schemas import DesiredState


def check_streams_stopped(
    file_io: FileIO, warehouse: str, identifier: str, *, clock: Clock
) -> None:
    """Check that no stream of a table is wanted to run, and that no runner still works on one.

    A table that is not registered has no streams.

    Args:
        file_io: Storage.
        warehouse: Absolute path.
        identifier: `database.table`.
        clock: Says which leases are over.

    Raises:
        StreamNotStopped: The message names the streams, and who works on them.
        CorruptData: The table's document cannot be read.
    """
    versioned = RegistryStore(file_io, warehouse, clock).table(identifier)
    if versioned is None:
        return
    leases = LeaseStore(file_io, warehouse, clock)
    running: list[str] = []
    for name, entry in sorted(versioned.value.streams.items()):
        lease = leases.holder(identifier, name)
        if entry.desired_state is not DesiredState.STOPPED:
            running.append(f"{name} (wanted {entry.desired_state.value})")
        elif lease is not None:
            running.append(f"{name} (still held by {lease.owner})")
    if running:
        message = (
            f"streams of {identifier} are not stopped: {', '.join(running)}\n"
            "hint: stop them and wait until their runners have let them go"
        )
        raise StreamNotStopped(message)
