"""Pages of the audit log, newest entry first.

The entries are those of the log and those that only the newest versions of documents hold (`audit_log`). A page reads
at most `READS_MAX` entries: if few of them match the filters, it is short, and the next page continues behind them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from braid.lake import CorruptData, FileIO
from braid.registry.store.audit_log import EntryName, day_of
from braid.registry.store.documents import RegistryStore
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import AuditEntry

READS_MAX: Final = 2_000
_CHUNK: Final = 100

ArgumentT = TypeVar("ArgumentT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Conditions that an entry has to fulfil; None: no condition.

    Attributes:
        table: `<database>.<table>`.
        stream: Name of a stream.
        actor: Name of the actor.
        action: The kind of change.
        since_ms: The time of the change or later, milliseconds since the epoch.
        until_ms: Before this time, milliseconds since the epoch.
    """

    table: str | None = None
    stream: str | None = None
    actor: str | None = None
    action: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def allows_name(self, name: EntryName) -> bool:
        """Return whether the entry of a name may match."""
        return (
            (self.table is None or name.table == self.table)
            and (self.since_ms is None or name.time_ms >= self.since_ms)
            and (self.until_ms is None or name.time_ms < self.until_ms)
        )

    def matches(self, entry: AuditEntry) -> bool:
        """Return whether an entry, whose name is allowed, fulfils the other conditions."""
        return (
            (self.stream is None or entry.stream == self.stream)
            and (self.actor is None or entry.actor.name == self.actor)
            and (self.action is None or entry.action == self.action)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesPage:
    """A page of entries.

    Attributes:
        entries: Newest first; fewer than the limit, even none, if few of many entries match.
        next: The next page has the entries before this one; None: there are none.
    """

    entries: tuple[AuditEntry, ...]
    next: EntryName | None


class AuditPages:
    """Reads pages of the audit log of a warehouse."""

    def __init__(self, store: RegistryStore, file_io: FileIO) -> None:
        """Create a reader.

        Args:
            store: The documents and the log.
            file_io: Storage, which says how many reads are worth running at once.
        """
        self._store = store
        self._parallel = file_io.parallel_reads

    def page(
        self, conditions: AuditFilter, *, limit: int, before: EntryName | None = None
    ) -> EntriesPage:
        """Return the newest entries that fulfil the conditions. One list and one read per table, unless one table is named.

        Args:
            conditions: What the entries have to fulfil.
            limit: The most entries, at least 1.
            before: Only entries before this one, the last of the page before; None: the first page.

        Raises:
            CorruptData: A file of the log is no entry.
            StorageUnavailable: Storage does not answer.
        """
        assert limit >= 1
        held = self._held(conditions.table)
        names = self._names(conditions, held, before)
        found: list[AuditEntry] = []
        last: EntryName | None = None
        reads = 0
        for chunk in _chunks(names, _CHUNK):
            for name, entry in zip(chunk, self._entries(chunk, held), strict=True):
                if len(found) == limit:
                    return EntriesPage(entries=tuple(found), next=last)
                last = name
                if entry is not None and conditions.matches(entry):
                    found.append(entry)
            reads += len(chunk)
            if reads >= READS_MAX:
                return EntriesPage(entries=tuple(found), next=last)
        return EntriesPage(entries=tuple(found), next=None)

    def _held(self, table: str | None) -> Mapping[EntryName, AuditEntry]:
        """Return the entries that the newest versions of documents hold, whether or not the log has them."""
        tables = self._store.identifiers() if table is None else [table]
        entries = [*self._at_once(self._held_entry, tables)]
        if table is None:
            entries.append(self._tokens_entry())
        return {EntryName.of(entry): entry for entry in entries if entry is not None}

    def _held_entry(self, identifier: str) -> AuditEntry | None:
        newest = self._store.newest(identifier)
        return None if newest is None else _parsed(self._store.held_entry(identifier, newest))

    def _tokens_entry(self) -> AuditEntry | None:
        try:
            return _parsed(self._store.access_tokens().held_entry())
        except CorruptData:
            return None

    def _names(
        self,
        conditions: AuditFilter,
        held: Mapping[EntryName, AuditEntry],
        before: EntryName | None,
    ) -> Iterator[EntryName]:
        """Yield the names of the entries that may match, newest first."""
        log = self._store.audit
        oldest_ms = log.oldest_ms
        days = {*log.days(), *(name.day for name in held)}
        for day in sorted(days, reverse=True):
            if not _may_match(day, conditions, before):
                continue
            of_day = {*log.names(day), *(name for name in held if name.day == day)}
            for name in sorted(of_day, reverse=True):
                is_left = before is None or name < before
                if is_left and name.time_ms >= oldest_ms and conditions.allows_name(name):
                    yield name

    def _entries(
        self, names: Sequence[EntryName], held: Mapping[EntryName, AuditEntry]
    ) -> list[AuditEntry | None]:
        return self._at_once(lambda name: held.get(name) or self._store.audit.read(name), names)

    def _at_once(
        self, function: Callable[[ArgumentT], ResultT], arguments: Sequence[ArgumentT]
    ) -> list[ResultT]:
        """Return the results of a function that reads from storage, several at once where that is worth it."""
        at_once = min(len(arguments), self._parallel)
        if at_once < 2:
            return list(map(function, arguments))
        with ThreadPoolExecutor(at_once) as readers:
            return list(readers.map(function, arguments))


def _parsed(held: Mapping[str, Any] | None) -> AuditEntry | None:
    """Return an entry; None for one that cannot be read: it does not hide those of other documents."""
    try:
        return None if held is None else parse_stored(AuditEntry, held)
    except ValidationError:
        return None


def _may_match(day: str, conditions: AuditFilter, before: EntryName | None) -> bool:
    """Return whether a day has moments that the conditions allow; days are compared as texts."""
    since = None if conditions.since_ms is None else day_of(conditions.since_ms)
    until = None if conditions.until_ms is None else day_of(conditions.until_ms)
    return (
        (since is None or day >= since)
        and (until is None or day <= until)
        and (before is None or day <= before.day)
    )


def _chunks(names: Iterator[EntryName], size: int) -> Iterator[list[EntryName]]:
    while chunk := list(islice(names, size)):
        yield chunk
