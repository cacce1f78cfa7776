"""Documents of operations: long work that one process requests, and any process of the service carries out.

```
_braid/operations/open/<id>/00…01.json    versions: requested, begun, progress, canceled
_braid/operations/finished/<id>.json      its last version, created exclusively; the versions are deleted then
```

A process that carries an operation out has its lease. If it ends, the lease expires, and another process begins the
operation once more (`attempt`). An earlier attempt that is still alive cannot write any more: each write of an attempt
checks that it is the newest one. An operation has ended once the finished document exists, of which there is only one.
An operation of a kind that this version does not know is left to the processes of newer versions; so what an older version
must not ignore in a request needs a new kind.
"""

import re
from collections.abc import Callable
from typing import Final

from pydantic import ValidationError

from braid.lake import Clock, CorruptData, FileIO, FileStatus
from braid.registry.errors import OperationNotFound, RegistryConflict, TooManyOperations
from braid.registry.store import paths
from braid.registry.store.leases import LeaseStore
from braid.registry.store.storage_clock import StorageClock
from braid.registry.store.stored_documents import dump_changed, features_missing, parse_stored
from braid.registry.store.versions import SUFFIX, Versioned, VersionedFile
from braid.schemas import OperationDocument

OPEN_MAX: Final = 100
"""Operations of a warehouse that have not ended."""

KEPT_MS: Final = 7 * 24 * 3_600_000
"""Time for which an operation that has ended is kept."""

FINISHED_MAX: Final = 1_000
"""Operations that have ended and are kept; with more, the oldest are removed."""

_ATTEMPTS: Final = 20
_KEPT_VERSIONS_MS: Final = 60_000
_CLOCK_AGE_MS: Final = 60_000
_ID: Final = re.compile(r"(?P<table>\w{1,80}\.\w{1,80})\.[0-9a-f]{20}", re.ASCII)

Change = Callable[[OperationDocument], OperationDocument]


def table_of(operation_id: str) -> str:
    """Return the table in the id of an operation, `<database>.<table>`.

    Raises:
        OperationNotFound: The text is no such id.
    """
    found = _ID.fullmatch(operation_id)
    if found is None:
        raise _not_found(operation_id)
    return found["table"]


def lease_name(operation_id: str) -> str:
    """Return the name of an operation's lease; no stream has such a name."""
    return f"+operation-{operation_id.rpartition('.')[2]}"


class OperationStore:
    """The operations of a warehouse; keeps nothing in memory."""

    def __init__(self, file_io: FileIO, warehouse: str, clock: Clock) -> None:
        self._file_io = file_io
        self._warehouse = warehouse
        self._clock = clock
        self._storage = StorageClock(file_io, warehouse, clock)
        self._open = f"{paths.operations_directory(warehouse)}/open"
        self._finished = f"{paths.operations_directory(warehouse)}/finished"

    def leases(self) -> LeaseStore:
        """Return the leases of the same warehouse."""
        return LeaseStore(self._file_io, self._warehouse, self._clock)

    def create(
        self, document: OperationDocument, *, announce: Callable[[], None]
    ) -> OperationDocument:
        """Store a requested operation, and return it; return the one of that id if there is one.

        Args:
            document: The operation.
            announce: Called right before a new operation is stored; raises what keeps it from being stored.

        Raises:
            TooManyOperations: `OPEN_MAX` operations have not ended.
        """
        known = self._stored(document.id)
        if (ended := self._ended(document.id)) is not None:
            return ended
        if known is not None:
            return _parsed(document.id, known.value)
        if len(self.open_ids()) >= OPEN_MAX:
            message = (
                f"{OPEN_MAX} operations of the warehouse have not ended\n"
                "hint: wait for some of them, or cancel them"
            )
            raise TooManyOperations(message)
        announce()
        if self._file(document.id).create(1, document.model_dump_json().encode()):
            return document
        return self.get(document.id)

    def get(self, operation_id: str) -> OperationDocument:
        """Return an operation.

        Raises:
            OperationNotFound: There is none of that id, or not any more.
            FeaturesMissing: It is of a kind that only a newer version knows.
        """
        table_of(operation_id)
        # In this order: it ends between the two reads at most in this direction.
        found = self._stored(operation_id)
        ended = self._ended(operation_id)
        if ended is not None:
            return ended
        if found is None:
            raise _not_found(operation_id)
        return _parsed(operation_id, found.value)

    def open_ids(self) -> list[str]:
        """Return the ids of the operations that have not ended, in alphabetical order; one list."""
        return sorted(one.name for one in self._file_io.list(self._open) if one.is_directory)

    def finished_ids(self) -> list[str]:
        """Return the ids of the operations that have ended, the newest first; one list."""
        return [_id_of(one) for one in self._finished_files()]

    def change(self, operation_id: str, change: Change) -> OperationDocument:
        """Apply a change to an operation that has not ended, and return it; return one that has ended as it is.

        Raises:
            OperationNotFound: There is no such operation.
            RegistryConflict: Every attempt lost a race.
        """
        for _ in range(_ATTEMPTS):
            newest = self._stored(operation_id)
            ended = self._ended(operation_id)
            if ended is not None:
                self.forget_open(
                    operation_id
                )  # a process may have ended before it has deleted this
                return ended
            if newest is None:
                raise _not_found(operation_id)
            document = _parsed(operation_id, newest.value)
            changed = change(document)
            data = dump_changed(changed, before=newest.value)
            if changed == document or self._file(operation_id).create(newest.version + 1, data):
                return changed
        message = (
            f"the operation {operation_id} changed {_ATTEMPTS} times while it was being changed"
        )
        raise RegistryConflict(message)

    def finish(self, document: OperationDocument) -> OperationDocument:
        """Store an operation that has ended, and return it as the first process to end it has stored it."""
        assert document.state.is_final, document.state
        path = f"{self._finished}/{document.id}{SUFFIX}"
        newest = self._stored(document.id)
        data = dump_changed(document, before=None if newest is None else newest.value)
        self._file_io.create_exclusive(path, data)
        self.forget_open(document.id)
        return self._ended(document.id) or document

    def delete(self, operation_id: str) -> None:
        """Delete an operation. Requires: it has ended."""
        # A version that was written while it ended may be left, and would be an operation that has not ended.
        self.forget_open(operation_id)
        self._file_io.delete(f"{self._finished}/{operation_id}{SUFFIX}")

    def forget_open(self, operation_id: str) -> None:
        """Delete what an operation that has ended may have left: its versions and its lease."""
        self._file_io.delete_tree(f"{self._open}/{operation_id}")
        lease = paths.lease_directory(
            self._warehouse, table_of(operation_id), lease_name(operation_id)
        )
        self._file_io.delete_tree(lease)

    def remove_old(self) -> None:
        """Remove operations that have ended long ago, and the oldest of too many."""
        now_ms = self._storage.now_ms(max_age_ms=_CLOCK_AGE_MS)
        if now_ms is None:
            return  # the ages of files are not known
        for place, one in enumerate(self._finished_files()):
            if place >= FINISHED_MAX or now_ms - one.modified_ms > KEPT_MS:
                self._file_io.delete(one.path)

    def _finished_files(self) -> list[FileStatus]:
        found = [one for one in self._file_io.list(self._finished) if one.name.endswith(SUFFIX)]
        return sorted(found, key=lambda one: (-one.modified_ms, one.name))

    def _stored(self, operation_id: str) -> Versioned[bytes] | None:
        """Return the newest version of an operation that has not ended."""
        try:
            return self._file(operation_id).latest()
        except FileNotFoundError:  # deleted meanwhile, because it has ended
            return None

    def _ended(self, operation_id: str) -> OperationDocument | None:
        try:
            data = self._file_io.read_bytes(f"{self._finished}/{operation_id}{SUFFIX}")
        except FileNotFoundError:
            return None
        return _parsed(operation_id, data)

    def _file(self, operation_id: str) -> VersionedFile:
        directory = f"{self._open}/{operation_id}"
        return VersionedFile(self._file_io, directory, clock=self._clock, kept_ms=_KEPT_VERSIONS_MS)


def _id_of(status: FileStatus) -> str:
    return status.name.removesuffix(SUFFIX)


def _parsed(operation_id: str, data: bytes) -> OperationDocument:
    try:
        return parse_stored(OperationDocument, data)
    except ValidationError as error:
        if (kind := _unknown_kind(error)) is not None:
            what = f"the operation {operation_id}"
            raise features_missing(what, [f"operation kind {kind}"]) from error
        message = f"the document of the operation {operation_id} cannot be read"
        raise CorruptData(message) from error


def _unknown_kind(error: ValidationError) -> str | None:
    """Return the kind of an operation that this version does not know; None: something else is wrong."""
    for one in error.errors():
        if one["type"] == "union_tag_invalid" and one["loc"] == ("request",):
            return str(one["ctx"]["tag"])
    return None


def _not_found(operation_id: str) -> OperationNotFound:
    message = (
        f"there is no operation {operation_id[:200]}, or not any more\n"
        "hint: `GET /v1/operations` lists them"
    )
    return OperationNotFound(message)
