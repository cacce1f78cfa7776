"""Implementation of `braid table drop --warehouse` (declared in `table_service_cli`)."""

from braid.cli.audit import command_actor
from braid.lake import Catalog, SystemClock, file_io_for
from braid.registry.store.documents import RegistryStore
from braid.registry.table_dropper import TableDropper


def drop(warehouse: str, identifier: str, *, keep_data: bool) -> None:
    """Drop a table.

    Args:
        warehouse: Absolute path or address.
        identifier: `database.table`.
        keep_data: Remove only the registration and the streams; keep the files.

    Raises:
        LakeError: The table does not exist, or storage does not answer.
        StreamNotStopped: A stream may still write.
        RegistryConflict: Every attempt lost a race against concurrent changes of the table.
    """
    file_io, clock = file_io_for(warehouse), SystemClock()
    dropper = TableDropper(
        RegistryStore(file_io, warehouse, clock),
        Catalog(warehouse, file_io=file_io, clock=clock),
        file_io=file_io,
        warehouse=warehouse,
        clock=clock,
        actor=command_actor(),
    )
    dropper.drop(identifier, keep_data=keep_data)
