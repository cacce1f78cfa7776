"""View of the registry: the newest documents of all tables, kept in memory and kept up by the counted changes.

Whoever reads the view reads the registry as it is at that moment. While nothing changes that costs one request to storage
(`change_log`), and a change costs the documents that it names. Every `LISTING_S` seconds the view lists all versions of all
documents with as few requests as storage needs, and reads those that it does not have, so that a change that nobody has counted is
seen by then.

A document with a pending schema change is not settled: which of its two contents is in effect is looked up each time.

For readers. Writers read the document that they change themselves (`DocumentWriter`).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from braid.lake import FileIO, FileStatus, LakeError, StorageUnavailable
from braid.registry.errors import FeaturesMissing
from braid.registry.store import paths
from braid.registry.store.documents import RegisteredTables, RegistryStore
from braid.registry.store.versions import Versioned, version_number
from braid.schemas import TableDocument

LISTING_S: Final = 30.0
CHECKED_S: Final = 1.0
"""Time without a look from which on the next change may have been deleted: no process counts `KEPT_CHANGES` in it."""
_READS_AT_ONCE_MAX: Final = 16


class RegistryView:
    """The registry as it is whenever it is looked at; thread-safe, one per process."""

    def __init__(
        self,
        store: RegistryStore,
        file_io: FileIO,
        warehouse: str,
        *,
        steady_s: Callable[[], float] = time.monotonic,
        listing_s: float = LISTING_S,
    ) -> None:
        """Read nothing yet.

        Args:
            store: The documents. Changes through it are seen at once, also if they could not be counted.
            file_io: Storage.
            warehouse: Absolute path.
            steady_s: A clock that nobody sets, seconds.
            listing_s: Time between two listings of all documents, seconds.
        """
        self._store = store
        self._file_io = file_io
        self._directory = paths.tables_directory(warehouse)
        self._steady_s = steady_s
        self._listing_s = listing_s
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._position = 0
        self._is_outdated = False
        self._unread: dict[str, _File | None] = {}
        self._written: deque[str] = deque()
        self._listed_s: float | None = None
        self._looked_s: float | None = None
        self._followed_s = 0.0  # of the last look that was answered
        self._tables = RegisteredTables(documents=(), unreadable={})
        self._failure: LakeError | None = None
        store.notify(self._written.append)

    def tables(self) -> RegisteredTables:
        """Return all documents, as they are at some moment during the call; the same object as before if nothing has changed.

        Threads that call at once share the requests to storage.

        Raises:
            StorageUnavailable: Storage does not answer.
        """
        called_s = self._steady_s()
        with self._lock:
            # Another thread may have looked after this call began, while this one waited for it.
            if self._looked_s is None or self._looked_s <= called_s:
                self._look()
            if self._failure is not None:
                raise self._failure
            return self._tables

    def _look(self) -> None:
        self._looked_s = looked_s = self._steady_s()
        try:
            self._find_changes(looked_s)
            self._followed_s = looked_s
            self._read_changed()
            self._look_up_pending()
        except LakeError as error:
            # What was found so far is kept, and what could not be read is still in `_unread`.
            self._failure = error
            return
        self._failure = None
        if self._is_outdated:
            self._tables = _registered(self._held)
            self._is_outdated = False

    def _find_changes(self, now_s: float) -> None:
        while self._written:
            self._unread[self._written.popleft()] = None
        if self._listed_s is not None and now_s - self._listed_s < self._listing_s:
            is_late = now_s - self._followed_s > CHECKED_S
            changes = self._store.changes.since(self._position, checks_position=is_late)
            if changes.tables is not None:
                self._position = changes.position
                self._unread.update(dict.fromkeys(changes.tables))
                return
        self._list()
        self._listed_s = now_s

    def _list(self) -> None:
        # The position first: a change that is counted later is read by its number, an earlier one is in the listing.
        position = self._store.changes.newest()
        newest = _newest_versions(self._file_io.list_tree(self._directory))
        for identifier in self._held.keys() | newest.keys():
            held, found = self._held.get(identifier), newest.get(identifier)
            if held is None or held.error is not None or held.file != found:
                self._unread[identifier] = found
        self._position = position

    def _read_changed(self) -> None:
        wanted = list(self._unread.items())
        threads = min(len(wanted), self._file_io.parallel_reads, _READS_AT_ONCE_MAX)
        if threads > 1:
            with ThreadPoolExecutor(threads, thread_name_prefix="registry-view") as pool:
                found = list(pool.map(self._read, *zip(*wanted, strict=True)))
        else:
            found = [self._read(*one) for one in wanted]
        failure = None
        for (identifier, _), held in zip(wanted, found, strict=True):
            if isinstance(held, LakeError):
                failure = held
                continue
            if held is not None:
                self._held[identifier] = held
            else:
                self._held.pop(identifier, None)
            self._is_outdated = True
            del self._unread[identifier]
        if failure is not None:
            raise failure

    def _read(self, identifier: str, found: "_File | None") -> "_Held | LakeError | None":
        """Return the newest document; None: there is none. An error that is returned says nothing about the document.

        Args:
            identifier: `<database>.<table>`.
            found: The newest version as it was just listed; None: it was not listed.
        """
        file = found or _File(version=0, modified_ms=0)
        try:
            newest = self._newest(identifier, found)
            if newest is None:
                return None
            file = _File(version=newest.version, modified_ms=newest.modified_ms)
            return _Held(file=file, document=self._store.parsed(identifier, newest))
        except FileNotFoundError as error:
            message = (
                f"the document of {identifier} is replaced faster than it can be read: {error}"
            )
            return StorageUnavailable(message)
        except FeaturesMissing as error:
            return _Held(file=file, error=error)
        except LakeError as error:
            return error if error.retryable else _Held(file=file, error=error)

    def _newest(self, identifier: str, found: "_File | None") -> Versioned[bytes] | None:
        data = None if found is None else self._store.read_version(identifier, found.version)
        if found is not None and data is not None:
            return Versioned(version=found.version, value=data, modified_ms=found.modified_ms)
        return self._store.newest(identifier)

    def _look_up_pending(self) -> None:
        for identifier, held in self._held.items():
            if held.document is None or held.document.pending is None:
                continue
            try:
                now = replace(held, effective=self._store.effective(held.document), error=None)
            except LakeError as error:
                if error.retryable:
                    raise
                now = replace(held, effective=None, error=error)
            if now.effective != held.effective or str(now.error) != str(held.error):
                self._held[identifier] = now  # of a key that is there: the loop goes on
                self._is_outdated = True


@dataclass(frozen=True, slots=True)
class _File:
    """A version's file: its number, and the time of its write by storage's clock, milliseconds since the epoch.

    The time tells it from the version of the same number of an earlier table of the name.
    """

    version: int
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """The newest version of one table's document.

    Attributes:
        file: Its file.
        document: As stored; None: the table was dropped, or the document cannot be read.
        effective: While a schema change is pending, what is in effect; None: nothing is pending, or it is not known.
        error: Why the document cannot be read; None: it can, or the table was dropped.
    """

    file: _File
    document: TableDocument | None = None
    effective: TableDocument | None = None
    error: LakeError | FeaturesMissing | None = None


def _newest_versions(files: Iterable[FileStatus]) -> dict[str, _File]:
    """Return the newest version of each table's document, of the files below the directory of all tables."""
    newest: dict[str, _File] = {}
    for status in files:
        version, identifier = version_number(status.name), status.path.rsplit("/", 2)[-2]
        if version is not None and (
            identifier not in newest or newest[identifier].version < version
        ):
            newest[identifier] = _File(version=version, modified_ms=status.modified_ms)
    return newest


def _registered(held: Mapping[str, _Held]) -> RegisteredTables:
    ordered = sorted(held.items())
    errors = {name: one.error for name, one in ordered if one.error is not None}
    return RegisteredTables(
        documents=tuple(
            document
            for name, one in ordered
            if name not in errors and (document := one.effective or one.document) is not None
        ),
        unreadable={name: one for name, one in errors.items() if isinstance(one, LakeError)},
        newer={name: one for name, one in errors.items() if isinstance(one, FeaturesMissing)},
        dropped=tuple(name for name, one in ordered if one.document is None and one.error is None),
    )
