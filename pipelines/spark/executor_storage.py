"""Check that executors reach the warehouse: each writes a file there, reads it and deletes it, as its tasks will.

Addresses of storage travel with tasks, and credentials do not. Executors that have none would else be found by the
tasks of each stream, after four attempts of each task.
"""

import platform
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from braid.lake import FileIO, LakeError, StorageUnavailable

_TASKS_PER_EXECUTOR: Final = 4
"""Spark spreads tasks over the executors that are free, so that several tasks for each reach all of them."""
_CONTENT: Final = b"probe"
_HINT: Final = (
    "credentials do not travel with tasks: give executors the file that BRAID_STORE_CREDENTIALS of the driver names, "
    "under the same path, or variables or a role of their own, or pass the driver's variables by --executor-env NAME"
)


def check_storage(
    session: SparkSession, file_io: FileIO, *, warehouse: str, executors: int
) -> None:
    """Check that executors can use the warehouse.

    Args:
        session: A session whose executors have the driver's code.
        file_io: Storage; executors get its addresses and options, and have credentials of their own.
        warehouse: Absolute path or address of the warehouse.
        executors: How many there are, from 1.

    Raises:
        StorageUnavailable: An executor cannot write, read or delete a file there.
    """
    tasks = executors * _TASKS_PER_EXECUTOR
    numbers = session.sparkContext.parallelize(range(tasks), tasks)
    found = numbers.mapPartitions(partial(try_storage, file_io, warehouse)).collect()
    if any(found):
        raise StorageUnavailable(refusal(found))


def try_storage(
    file_io: FileIO, warehouse: str, _: Iterable[int]
) -> Iterator[Mapping[str, str] | None]:
    """Yield why this process cannot use the warehouse, or None; called by `mapPartitions`.

    Args:
        file_io: Storage, with the credentials of this process.
        warehouse: Absolute path or address of the warehouse.
    """
    path = f"{warehouse.rstrip('/')}/.probe-{uuid.uuid4()}.tmp"
    try:
        try:
            file_io.create_exclusive(path, _CONTENT)
            is_there = file_io.read_bytes(path) == _CONTENT
        finally:
            file_io.delete(path)
    except (LakeError, OSError) as error:
        yield {"host": platform.node(), "error": str(error).partition("\n")[0]}
        return
    yield None if is_there else {"host": platform.node(), "error": f"{path} has another content"}


def refusal(found: Sequence[Mapping[str, str] | None]) -> str:
    """Return what to tell about executors that cannot use the warehouse: each host once.

    Args:
        found: What `try_storage` has yielded, one answer at least with an error.

    >>> print(
    ...     refusal([None, {"host": "a", "error": "refused"}, {"host": "a", "error": "refused"}])
    ... )  # doctest: +ELLIPSIS
    executors cannot use the warehouse; a: refused
    hint: credentials do not travel with tasks: ...
    """
    errors = {one["host"]: one["error"] for one in found if one is not None}
    shown = "; ".join(f"{host}: {error}" for host, error in sorted(errors.items()))
    return f"executors cannot use the warehouse; {shown}\nhint: {_HINT}"
