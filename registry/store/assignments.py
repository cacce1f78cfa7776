"""Versions of the assignment of streams to runners, changed by compare-and-swap."""

from collections.abc import Callable
from typing import Final

from pydantic import ValidationError

from braid.lake import Clock, CorruptData, FileIO
from braid.registry.errors import RegistryConflict
from braid.registry.placement.assignment import Assignment
from braid.registry.store import paths
from braid.registry.store.versions import Versioned, VersionedFile

KEPT_ASSIGNMENT_MS: Final = 60_000
_PROBED_MS: Final = 20_000
"""A version is known to be the newest by its successor's absence only for so long: later that one may be deleted."""

_ATTEMPTS: Final = 20

NONE: Final = Versioned(version=0, value=Assignment())
"""The assignment of a warehouse in which no runner has joined yet."""


class AssignmentStore:
    """Reads and changes the assignment of a warehouse. Use `newer` from one thread only."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Measures how old superseded versions are.
        """
        self._clock = clock
        self._file = VersionedFile(
            file_io,
            paths.assignment_directory(warehouse),
            clock=clock,
            kept_ms=KEPT_ASSIGNMENT_MS,
        )
        self._asked_ms: int | None = None

    def read(self) -> Versioned[Assignment]:
        """Return the newest version; `NONE` if there is none. One list and one read.

        Raises:
            CorruptData: The document cannot be read.
        """
        newest = self._file.latest()
        self._asked_ms = self._clock.now_ms()
        if newest is None:
            return NONE
        try:
            value = Assignment.model_validate_json(newest.value)
        except ValidationError as error:
            message = (
                f"the assignment of streams to runners, version {newest.version}, cannot be read\n"
                "hint: delete the file of this version: runners then continue with the one before"
            )
            raise CorruptData(message) from error
        return Versioned(version=newest.version, value=value, modified_ms=newest.modified_ms)

    def newer(self, known: Versioned[Assignment]) -> Versioned[Assignment]:
        """Return the newest version, which is `known` itself as long as no other follows. One read then.

        Args:
            known: The version that this object returned last.
        """
        asked_ms, now_ms = self._asked_ms, self._clock.now_ms()
        # A negative difference: the clock was set back.
        if asked_ms is None or not 0 <= now_ms - asked_ms < _PROBED_MS:
            return self.read()
        if self._file.read(known.version + 1) is not None:
            return self.read()
        self._asked_ms = now_ms
        return known

    def put(self, known: Versioned[Assignment], value: Assignment) -> Versioned[Assignment] | None:
        """Create the version after a known one; None if another process has created it.

        Args:
            known: The newest version, just read.
            value: Its successor.
        """
        version = known.version + 1
        if not self._file.create(version, value.model_dump_json(exclude_defaults=True).encode()):
            return None
        return Versioned(version=version, value=value)

    def change(self, change: Callable[[Assignment], Assignment]) -> Versioned[Assignment]:
        """Change the newest version, whatever it is, and return the result.

        Args:
            change: Returns the assignment that follows another one; an equal one changes nothing.

        Raises:
            RegistryConflict: Other processes were faster again and again; call again.
        """
        for _ in range(_ATTEMPTS):
            known = self.read()
            value = change(known.value)
            if value == known.value:
                return known
            created = self.put(known, value)
            if created is not None:
                return created
        message = "the assignment of streams to runners is changed too often\nhint: try again"
        raise RegistryConflict(message)
