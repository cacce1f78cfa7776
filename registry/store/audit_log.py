"""The audit log on storage: one immutable file per entry, in one directory per day.

```
<warehouse>/_braid/audit/2026-11-28/1795884180000-7-<id>-shop.orders.json
                                    time, version of the document, id, table
```

An entry is first part of the version of the document that makes the change, so a change and its entry exist both or not
at all. Before a later version supersedes this entry, its writer creates the entry's file here (`documents`). So each entry
is in the newest version of a document, or here, or both; and as the file's name follows from the entry, an entry that two
processes keep at the same time is kept once. A change that is no version of a document, such as that of a
position, creates its entry here before it is made: the entry then says that the change was requested.

Whole days are deleted when they are older than the retention of the service (`retention_ms`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import orjson
from pydantic import ValidationError

from braid.lake import Clock, CorruptData, FileIO
from braid.registry.store import paths
from braid.registry.store.document_changes import bounded_changes
from braid.registry.store.stored_documents import parse_stored
from braid.schemas import Actor, AuditAction, AuditChange, AuditEntry

_SUFFIX: Final = ".json"
_EXPIRY_PAUSE_MS: Final = 60 * 60 * 1_000
_EPOCH: Final = datetime.fromtimestamp(0, tz=UTC)
_LAST_MS: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)

UNKNOWN_ACTOR: Final = Actor(name="unknown")
"""Makes the changes of a process that does not say for whom it acts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditNote:
    """What a writer of a change knows about its entry.

    Attributes:
        actor: Who makes the change.
        action: The kind of change.
        stream: The stream that the change concerns; None: the whole table.
    """

    actor: Actor
    action: AuditAction
    stream: str | None = None

    def entry(
        self,
        table: str | None,
        *,
        time_ms: int,
        changes: tuple[AuditChange, ...],
        version: int | None = None,
    ) -> AuditEntry:
        """Return the entry of the change, with an id of its own.

        Args:
            table: `<database>.<table>`; None: the change concerns no table.
            time_ms: Time of the change, milliseconds since the epoch.
            changes: All changed values; those beyond the bound are left out.
            version: Version of the document that makes the change; None: no document changes.
        """
        kept, left_out = bounded_changes(changes)
        return AuditEntry(
            id=uuid4().hex,
            time_ms=time_ms,
            actor=self.actor,
            action=self.action,
            table=table,
            stream=self.stream,
            version=version,
            changes=kept,
            changes_left_out=left_out,
        )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class EntryName:
    """The place of an entry in the log; names compare as their entries follow each other.

    Attributes:
        time_ms: Time of the change, milliseconds since the epoch.
        table: `<database>.<table>`; empty: the change concerns no table.
        version: Version of the document that made the change; 0: no document was changed.
        id: Id of the entry.
    """

    time_ms: int
    table: str
    version: int
    id: str

    @classmethod
    def of(cls, entry: AuditEntry) -> "EntryName":
        """Return the name of an entry."""
        return cls(
            time_ms=entry.time_ms, table=entry.table or "", version=entry.version or 0, id=entry.id
        )

    @classmethod
    def parse(cls, file_name: str) -> "EntryName | None":
        """Return the name that a file has; None for a file that is no entry."""
        parts = file_name.removesuffix(_SUFFIX).split("-", 3)
        if len(parts) != 4 or not (parts[0].isdecimal() and parts[1].isdecimal()):
            return None
        time_ms, version, id_, table = parts
        return cls(time_ms=int(time_ms), table=table, version=int(version), id=id_)

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return f"{self.time_ms}-{self.version}-{self.id}-{self.table}{_SUFFIX}"

    @property
    def day(self) -> str:
        """The day in UTC, such as `2026-11-28`: the name of the directory."""
        return day_of(self.time_ms)


class AuditLog:
    """The entries of one warehouse that are kept outside of documents."""

    def __init__(
        self, file_io: FileIO, warehouse: str, clock: Clock, *, retention_ms: int | None = None
    ) -> None:
        """Create the object; reads nothing yet.

        Args:
            file_io: Storage.
            warehouse: Absolute path.
            clock: Gives the age of entries.
            retention_ms: Age in milliseconds from which this process deletes entries, a whole day of them at a time;
                None: it deletes none.
        """
        self._file_io = file_io
        self._directory = paths.audit_directory(warehouse)
        self._clock = clock
        self._retention_ms = retention_ms
        self._expired_ms = 0

    @property
    def oldest_ms(self) -> int:
        """Time of the oldest entry that has not expired, milliseconds since the epoch."""
        if self._retention_ms is None:
            return 0
        return max(0, self._clock.now_ms() - self._retention_ms)

    def keep(self, content: Mapping[str, Any]) -> int:
        """Create the file of an entry, durable on return; no effect if there is one, or if the entry has expired.

        Args:
            content: The entry as it is stored, with fields that this version may not know.

        Returns:
            The time of the entry, milliseconds since the epoch.

        Raises:
            CorruptData: The content is no entry.
            StorageUnavailable: The file may or may not have been created.
        """
        name = EntryName.of(_parsed(content, what="the entry that a document holds"))
        if name.time_ms >= self.oldest_ms:
            # False: another process has kept the same entry, whose id no other entry has.
            self._file_io.create_exclusive(self._path(name), orjson.dumps(content))
            self._expire_sometimes()
        return name.time_ms

    def record(
        self, note: AuditNote, table: str | None, *, changes: tuple[AuditChange, ...] = ()
    ) -> None:
        """Keep the entry of a change that is no version of a document; called before the change is made.

        Raises:
            StorageUnavailable: The file may or may not have been created.
        """
        entry = note.entry(table, time_ms=self._clock.now_ms(), changes=changes)
        self.keep(entry.model_dump(mode="json", exclude_none=True))

    def days(self) -> list[str]:
        """Return the days that have entries, oldest first."""
        return [entry.name for entry in self._file_io.list(self._directory) if entry.is_directory]

    def names(self, day: str) -> list[EntryName]:
        """Return the entries of a day, in no order."""
        found = (EntryName.parse(one.name) for one in self._file_io.list(self._day_path(day)))
        return [name for name in found if name is not None]

    def read(self, name: EntryName) -> AuditEntry | None:
        """Return an entry; None when it has expired meanwhile.

        Raises:
            CorruptData: The file is no entry; the message names it.
        """
        path = self._path(name)
        try:
            data = self._file_io.read_bytes(path)
        except FileNotFoundError:
            return None
        return _parsed(data, what=path)

    def expire(self) -> None:
        """Delete the days of which every entry has expired."""
        last = day_of(self.oldest_ms)
        for day in self.days():
            if day < last:
                self._file_io.delete_tree(self._day_path(day))

    def _expire_sometimes(self) -> None:
        now_ms = self._clock.now_ms()
        if self._retention_ms is not None and now_ms >= self._expired_ms + _EXPIRY_PAUSE_MS:
            self._expired_ms = now_ms
            self.expire()

    def _path(self, name: EntryName) -> str:
        return f"{self._day_path(name.day)}/{name.file_name}"

    def _day_path(self, day: str) -> str:
        return f"{self._directory}/{day}"


def day_of(time_ms: int) -> str:
    """Return the day of a time in milliseconds since the epoch, in UTC, such as `2026-11-28`; of years up to 9999."""
    within_ms = min(max(0, time_ms), _LAST_MS)
    return (_EPOCH + timedelta(milliseconds=within_ms)).date().isoformat()


def _parsed(content: bytes | Mapping[str, Any], *, what: str) -> AuditEntry:
    try:
        return parse_stored(AuditEntry, content)
    except ValidationError as error:
        message = f"{what} is no entry of the audit log"
        raise CorruptData(message) from error
