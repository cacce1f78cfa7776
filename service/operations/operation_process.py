"""Process of an operation, which does not delay the answers of the service, and ends with it.

Whenever it is killed, another process begins the operation once more. So the service does not wait for it at its end.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Final

from braid.lake import Catalog, Clock, FileIO, SystemClock, file_io_for, path_for
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.operations import OperationStore
from braid.service.operations.operation_executor import DescribeError, OperationExecutor
from braid.service.operations.operation_work import OperationWork
from braid.telemetry.logs import LogFormat, form_of_logs, set_up_logs

_SPAWN: Final = multiprocessing.get_context("spawn")
_NICENESS: Final = 5
"""Requests that share the cores are answered first."""
_LOOK_S: Final = 0.2


def new_executor(
    file_io: FileIO, warehouse: str, catalog: Catalog, *, clock: Clock, describe: DescribeError
) -> OperationExecutor:
    """Return an executor for the operations of a warehouse."""
    registrar = Registrar(RegistryStore(file_io, warehouse, clock), catalog, clock)
    work = OperationWork(
        catalog=catalog, registrar=registrar, file_io=file_io, warehouse=warehouse, clock=clock
    )
    operations = OperationStore(file_io, warehouse, clock)
    return OperationExecutor(operations, work, clock=clock, describe=describe)


class ProcessEnded(Exception):
    """The process of an operation was killed, or could not begin."""


def execute_in_process(
    warehouse: str, describe: DescribeError, operation_id: str, is_over: Callable[[], bool]
) -> None:
    """Make one attempt at an operation in a process of its own, and return when it has ended, or is to end.

    Args:
        warehouse: The warehouse's address.
        describe: Returns the problem of an error; can be pickled.
        operation_id: The operation.
        is_over: Asked again and again: the process is to be killed, and the operation stays as far as it is.

    Raises:
        ProcessEnded: The process has ended without an end of the attempt.
    """
    arguments = (warehouse, describe, operation_id, form_of_logs())
    process = _SPAWN.Process(target=_execute, args=arguments, daemon=True)
    process.start()
    is_cut_off = False
    while process.is_alive():
        process.join(_LOOK_S)
        if is_over():
            is_cut_off = True
            process.kill()
    process.join()
    status = process.exitcode
    process.close()
    if status and not is_cut_off:
        message = f"the process of the operation {operation_id} has ended with status {status}"
        raise ProcessEnded(message)


def _execute(warehouse: str, describe: DescribeError, operation_id: str, form: LogFormat) -> None:
    threading.Thread(target=_end_with_service, name="service", daemon=True).start()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # of a terminal, to all: the service ends this process
    os.nice(_NICENESS)
    set_up_logs(form, {})
    clock, file_io, path = SystemClock(), file_io_for(warehouse), path_for(warehouse)
    catalog = Catalog(path, file_io=file_io, clock=clock)
    new_executor(file_io, path, catalog, clock=clock, describe=describe).execute(operation_id)


def _end_with_service() -> None:
    service = multiprocessing.parent_process()
    assert service is not None, "the service has started this process"
    service.join()
    os._exit(1)
