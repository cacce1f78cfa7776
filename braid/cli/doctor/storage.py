"""Checks of a warehouse: whether it can be written, honours exclusive creation, and whose clock it has."""

from collections.abc import Iterator
from typing import Final

from braid.cli.doctor.findings import Finding, Level
from braid.lake import Clock, FileIO, LakeError
from braid.registry.store.storage_clock import StorageClock

_DIFFERENCE_MS_MAX: Final = 5_000
"""The difference of clocks from which times of records, commits and logs are confusing to compare."""


def check_storage(file_io: FileIO, warehouse: str, clock: Clock) -> Iterator[Finding]:
    """Yield whether files can be created exclusively, and the difference of storage's clock from this machine's.

    Args:
        file_io: Storage.
        warehouse: Absolute path or address.
        clock: This machine's clock.
    """
    try:
        file_io.probe_exclusive_create(warehouse)
    except LakeError as error:
        lines = str(error).splitlines()
        yield Finding(
            check="storage",
            level=Level.PROBLEM,
            found=lines[0],
            advice=" ".join(line.removeprefix("hint: ") for line in lines[1:])
            or "check mount, owner, permissions and login of the warehouse",
        )
        return
    found = "files can be created, and are created only once"
    yield Finding(check="storage", level=Level.OK, found=found)
    yield from _clock(file_io, warehouse, clock)


def _clock(file_io: FileIO, warehouse: str, clock: Clock) -> Iterator[Finding]:
    stored_ms = StorageClock(file_io, warehouse, clock).now_ms(max_age_ms=0)
    if stored_ms is None:
        yield Finding(
            check="clock",
            level=Level.INFO,
            found="the storage tells no times, so leases depend on the clocks of all machines",
            advice="keep the clocks of all machines together, by NTP",
        )
        return
    seconds = (clock.now_ms() - stored_ms) / 1_000
    is_far = abs(seconds) * 1_000 > _DIFFERENCE_MS_MAX
    yield Finding(
        check="clock",
        level=Level.WARNING if is_far else Level.OK,
        found=f"this machine's clock is {abs(seconds):.1f} s {'before' if seconds > 0 else 'behind'} the storage's",
        advice="set the clock of this machine, by NTP; leases follow the storage's clock"
        if is_far
        else None,
    )
