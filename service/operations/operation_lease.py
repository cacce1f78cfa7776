"""The lease of an operation, which decides which of many processes carries it out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from braid.lake import LakeError
from braid.registry.store.leases import Lease, LeaseStore
from braid.registry.store.operations import lease_name, table_of

LEASE_MS: Final = 15_000
"""Time that others wait for a process that has ended."""


@contextmanager
def claimed(leases: LeaseStore, operation_id: str, owner: str) -> Iterator[threading.Event | None]:
    """Hold the lease of an operation as long as the block lasts.

    If the block raises, its work has been cut off, and the lease is left to expire: so another attempt follows after a pause.

    Args:
        leases: The leases of the warehouse.
        operation_id: The operation.
        owner: Unique per process.

    Yields:
        An event that is set once the lease is lost; None: another process has the lease.

    Raises:
        LakeError: Storage does not answer.
    """
    lease = leases.acquire(table_of(operation_id), lease_name(operation_id), owner, LEASE_MS)
    if lease is None:
        yield None
        return
    with _renewed(leases, lease) as (held, is_lost):
        yield is_lost
    with suppress(LakeError):  # it expires by itself
        leases.release(held[0])


@contextmanager
def _renewed(leases: LeaseStore, lease: Lease) -> Iterator[tuple[list[Lease], threading.Event]]:
    """Renew a lease in a thread as long as the block lasts; yield the newest grant, and the event of its loss."""
    is_ended, is_lost = threading.Event(), threading.Event()
    held = [lease]

    def renew() -> None:
        while not is_ended.wait(lease.ttl_ms / 3_000):
            # Storage that does not answer is asked again, before the lease expires.
            with suppress(LakeError):
                renewed = leases.renew(held[0])
                if renewed is None:
                    is_lost.set()
                    return
                held[0] = renewed

    thread = threading.Thread(target=renew, name="operation lease", daemon=True)
    thread.start()
    try:
        yield held, is_lost
    finally:
        is_ended.set()
        thread.join()
