"""The audit log on the command line: the actor of commands, the entries of changes of tables, and `braid audit`.

`deployment_cli` declares the command. Commands that change the document of a table give the actor to the registry instead, which
writes the entries.
"""

import getpass
import os
import socket
from collections.abc import Iterable, Iterator
from itertools import islice

from braid.cli.arguments import check_table, read_at, refuse
from braid.cli.output import OutputFormat, print_record
from braid.lake import SystemClock, file_io_for
from braid.registry.storage_changes import Maintenance, maintenance_change
from braid.registry.store.audit_log import AuditLog, AuditNote, EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.documents import RegistryStore
from braid.schemas import Actor, AuditAction, AuditChange, AuditRecord
from braid.schemas.field_problems import display_text
from braid.service.times import iso_utc

_PAGE = 200


def command_actor() -> Actor:
    """Return who runs a command: the user of the operating system, on this machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a user without a name
        user = f"uid {os.getuid()}"
    return Actor(name=user, address=socket.gethostname())


def record(
    warehouse: str,
    identifier: str | None,
    action: AuditAction,
    *changes: AuditChange,
    stream: str | None = None,
) -> None:
    """Create the entry of a change of a table, of a stream of it, or of no table; called before the change is made.

    Raises:
        LakeError: The entry could not be created, so the change must not be made.
    """
    log = AuditLog(file_io_for(warehouse), warehouse, SystemClock())
    note = AuditNote(actor=command_actor(), action=action, stream=stream)
    log.record(note, identifier, changes=changes)


def record_maintenance(warehouse: str, identifier: str, request: Maintenance) -> None:
    """Create the entry of maintenance of a table, as of such a request over HTTP; raises what `record` raises."""
    found = maintenance_change(request)
    if found is not None:
        action, change = found
        record(warehouse, identifier, action, change)


def requested_filter(
    *,
    table: str | None,
    stream: str | None,
    actor: str | None,
    action: str | None,
    since: str | None,
    until: str | None,
) -> AuditFilter:
    """Return the conditions that the options of the command are; exit with one line if one is invalid."""
    if table is not None:
        check_table(table)
    return AuditFilter(
        table=table,
        stream=stream,
        actor=actor,
        action=_action(action),
        since_ms=read_at(snapshot=None, tag=None, timestamp=since).time_ms,
        until_ms=read_at(snapshot=None, tag=None, timestamp=until).time_ms,
    )


def _action(name: str | None) -> AuditAction | None:
    if name is None:
        return None
    try:
        return AuditAction(name)
    except ValueError:
        refuse("--action", name, f"expected one of {', '.join(AuditAction)}")


def entries_of_warehouse(warehouse: str, conditions: AuditFilter) -> Iterator[AuditRecord]:
    """Yield the entries of a warehouse that match, newest first.

    Raises:
        LakeError: The log cannot be read.
    """
    file_io = file_io_for(warehouse)
    pages = AuditPages(RegistryStore(file_io, warehouse, SystemClock()), file_io)
    before: EntryName | None = None
    while True:
        page = pages.page(conditions, limit=_PAGE, before=before)
        for entry in page.entries:
            yield AuditRecord(**dict(entry), time=iso_utc(entry.time_ms))
        before = page.next
        if before is None:
            return


def show(entries: Iterable[AuditRecord], *, limit: int, output: OutputFormat) -> int:
    """Print the first entries, and return the exit status; raises what reading them raises."""
    for entry in islice(entries, limit):
        print_record(entry, output, "\n".join(_lines(entry)))
    return 0


def _lines(entry: AuditRecord) -> list[str]:
    """Return an entry as a line of its parts, and one more line for each changed value."""
    actor = entry.actor
    target = "/".join(part for part in (entry.table, entry.stream) if part is not None)
    origin = [text for text in (actor.address, actor.request_id) if text is not None]
    head = [entry.time, actor.name, entry.action, target or "-", *origin]
    changes = [
        f"  {change.pointer or '/'}: {display_text(change.before)} -> {display_text(change.after)}"
        for change in entry.changes
    ]
    left_out = entry.changes_left_out
    more = [f"  {left_out} more values are too large to be shown"] if left_out else []
    return ["\t".join(head), *changes, *more]
