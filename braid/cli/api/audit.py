"""The audit log over HTTP: entries, page by page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from braid.registry.store.audit_pages import AuditFilter
from braid.schemas import AuditRecord

if TYPE_CHECKING:
    from braid.client import Client


def entries_of_service(client: "Client", conditions: AuditFilter) -> Iterator[AuditRecord]:
    """Yield the entries that match, newest first.

    Raises:
        BraidError: The service refuses, or does not answer.
    """
    from braid.client import pages

    found = pages(
        client.audit,
        table=conditions.table,
        stream=conditions.stream,
        actor=conditions.actor,
        action=conditions.action,
        since=conditions.since_ms,
        until=conditions.until_ms,
    )
    for page in found:
        yield from page.entries
