"""Held lease: one lease of the registry, which each request of its holder takes or renews."""

from braid.lake import Clock
from braid.registry.store.leases import Lease, LeaseStore


class HeldLease:
    """The lease of one stream, or of one table's maintenance. Use it from one thread only."""

    def __init__(
        self,
        leases: LeaseStore,
        *,
        table: str,
        name: str,
        owner: str,
        ttl_ms: int,
        clock: Clock,
    ) -> None:
        """Create the object; holds nothing until `hold`.

        Args:
            leases: The warehouse's leases.
            table: `<database>.<table>`.
            name: The stream's name, or `leases.MAINTENANCE`.
            owner: Unique per process.
            ttl_ms: How long the lease lasts without being renewed.
            clock: Decides when the next renewal is due.
        """
        self._leases = leases
        self._table = table
        self._name = name
        self._owner = owner
        self._ttl_ms = ttl_ms
        self._clock = clock
        self._lease: Lease | None = None
        self._granted_ms = 0
        self._answered_ms: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether the lease was granted and, as far as is known, has not been lost since."""
        return self._lease is not None

    @property
    def answered_ms(self) -> int | None:
        """When the storage last answered about the lease, milliseconds since the epoch; None: never."""
        return self._answered_ms

    def hold(self) -> bool:
        """Acquire or renew the lease if that is due, and return whether it is held.

        Raises:
            LakeError: The storage does not answer; the lease stays as it was.
        """
        now_ms = self._clock.now_ms()
        # Two attempts to renew may fail before the lease expires. A negative difference means that the clock was
        # set back: how old the lease is, is unknown then.
        if self._lease is not None and 0 <= now_ms - self._granted_ms < self._ttl_ms // 3:
            return True
        if self._lease is not None:
            self._lease = self._leases.renew(self._lease)
        else:
            self._lease = self._leases.acquire(self._table, self._name, self._owner, self._ttl_ms)
        self._answered_ms = now_ms
        if self._lease is None:
            return False
        assert self._lease.owner == self._owner, "a lease is granted to the owner that asks for it"
        self._granted_ms = now_ms
        return True

    def verify_next(self) -> None:
        """Make the next `hold` ask the store, however recently it was asked."""
        self._granted_ms = 0

    def release(self) -> None:
        """Give the lease back, so that another owner need not wait for its end.

        Raises:
            LakeError: The storage does not answer; the lease expires by itself.
        """
        if self._lease is not None:
            self._leases.release(self._lease)
            self._lease = None
