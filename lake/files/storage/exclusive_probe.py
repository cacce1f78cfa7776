"""Probes of exclusive creation: one call after another, and calls of several threads at once.

`FileIO.probe_exclusive_create` runs the first probe. On an object store it also runs the second
one, once for each bucket of the store.
"""

import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Final, Protocol

from braid.lake.errors import Problem, UnsupportedFeature

_RACERS: Final = 8
_RACES: Final = 3


class ExclusiveCreator(Protocol):
    """The part of `FileIO` that the probes need."""

    def create_exclusive(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    def delete(self, path: str) -> bool:
        """Delete a file."""
        ...


def probe_exclusive_create(storage: ExclusiveCreator, directory: str) -> None:
    """Create a file twice: the second call must be refused and the first content stay.

    A list of known stores would not do, because mounts, gateways and versions differ in what they honour. The
    file of the probe is hidden (`.`) and is removed.

    Raises:
        UnsupportedFeature: The store does not honour exclusive creation.
    """
    path = _probe_path(directory)
    try:
        # The result of the first call does not count: a store that repeats requests may refuse the
        # repetition of its own successful request. The content decides.
        storage.create_exclusive(path, b"first")
        is_refused = not storage.create_exclusive(path, b"second")
        is_kept = storage.read_bytes(path) == b"first"
    finally:
        storage.delete(path)
    if not (is_refused and is_kept):
        raise _refused(directory, "a file that existed could be created again")


def probe_exclusive_race(storage: ExclusiveCreator, directory: str) -> None:
    """Create a file from many threads at once: at most one call may return True.

    A gateway that checks for existence and then writes passes the other probe, but loses commits when two
    writers race. This probe finds such a gateway in nearly every case, but not in all.

    Raises:
        UnsupportedFeature: Two calls returned True, or the file does not have the content of the
            call that returned True.
    """
    with ThreadPoolExecutor(_RACERS) as racers:
        for _ in range(_RACES):
            path, start = _probe_path(directory), Barrier(_RACERS)
            try:
                tries = [
                    racers.submit(_create_at, start, storage, path, str(number).encode())
                    for number in range(_RACERS)
                ]
                winners = [str(number).encode() for number, one in enumerate(tries) if one.result()]
                # If no call returned True, the file is that of a call whose answer was lost.
                is_exclusive = len(winners) < 2 and storage.read_bytes(path) in (winners or _ALL)
            finally:
                storage.delete(path)
            if not is_exclusive:
                raise _refused(
                    directory, "a file could be created by several calls at the same moment"
                )


_ALL: Final = [str(number).encode() for number in range(_RACERS)]


def _create_at(start: Barrier, storage: ExclusiveCreator, path: str, data: bytes) -> bool:
    start.wait()
    return storage.create_exclusive(path, data)


def _probe_path(directory: str) -> str:
    return f"{directory.rstrip('/')}/.probe-{uuid.uuid4()}.tmp"


def _refused(directory: str, found: str) -> UnsupportedFeature:
    message = "storage does not honour exclusive creation, so commits could overwrite each other"
    problem = Problem(
        field="warehouse",
        value=directory,
        message=found,
        hint="use a local or NFS file system with hard links, or an object store with "
        "conditional puts (`If-None-Match: *`)",
    )
    return UnsupportedFeature(message, problems=[problem])
