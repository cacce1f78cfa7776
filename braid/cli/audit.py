"""The audit log on the command line: the actor of commands, the entries of changes of tables, and `braid audit`.

`main` declares the command. Commands that change the document of a table give the actor to the registry instead, which
writes the entries.
"""

import getpass
import os
import socket
from typing import Any

from braid.cli.arguments import read_at, refuse
from braid.cli.output import OutputFormat, print_record
from braid.lake import SystemClock, file_io_for
from braid.registry.store.audit_log import AuditLog, AuditNote, EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.registry.store.documents import RegistryStore
from braid.schemas import Actor, AuditAction, AuditChange, AuditEntry
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


def requested_action(name: str | None) -> AuditAction | None:
    """Return the action of `--action`; exit with one line if there is none of the name."""
    if name is None:
        return None
    try:
        return AuditAction(name)
    except ValueError:
        refuse("--action", name, f"expected one of {', '.join(AuditAction)}")


def show(
    warehouse: str,
    *,
    table: str | None,
    stream: str | None,
    actor: str | None,
    action: AuditAction | None,
    since: str | None,
    until: str | None,
    limit: int,
    output: OutputFormat,
) -> int:
    """Print the newest entries that match, newest first, and return the exit status.

    Raises:
        LakeError: The log cannot be read.
    """
    file_io = file_io_for(warehouse)
    pages = AuditPages(RegistryStore(file_io, warehouse, SystemClock()), file_io)
    conditions = AuditFilter(
        table=table,
        stream=stream,
        actor=actor,
        action=action,
        since_ms=read_at(snapshot=None, tag=None, timestamp=since).time_ms,
        until_ms=read_at(snapshot=None, tag=None, timestamp=until).time_ms,
    )
    before: EntryName | None = None
    left = limit
    while left > 0:
        page = pages.page(conditions, limit=min(left, _PAGE), before=before)
        for entry in page.entries:
            print_record(_document(entry), output, "\n".join(_lines(entry)))
        left -= len(page.entries)
        before = page.next
        if before is None:
            break
    return 0


def _document(entry: AuditEntry) -> dict[str, Any]:
    return {"time": iso_utc(entry.time_ms), **entry.model_dump(mode="json")}


def _lines(entry: AuditEntry) -> list[str]:
    """Return an entry as a line of its parts, and one more line for each changed value."""
    actor = entry.actor
    target = "/".join(part for part in (entry.table, entry.stream) if part is not None)
    origin = [text for text in (actor.address, actor.request_id) if text is not None]
    head = [iso_utc(entry.time_ms), actor.name, entry.action, target or "-", *origin]
    changes = [
        f"  {change.pointer or '/'}: {display_text(change.before)} -> {display_text(change.after)}"
        for change in entry.changes
    ]
    left_out = entry.changes_left_out
    more = [f"  {left_out} more values are too large to be shown"] if left_out else []
    return ["\t".join(head), *changes, *more]
