"""Pages of the audit log as the service returns them: filters and page tokens from texts, entries with their times as text."""

from dataclasses import dataclass

import orjson

from braid.lake import InvalidRequest, Problem, ReadAt
from braid.registry.names import is_identifier
from braid.registry.store.audit_log import EntryName
from braid.registry.store.audit_pages import AuditFilter, AuditPages
from braid.schemas import AuditAction, AuditPage, AuditRecord
from braid.service.control.page_token import decode_token, encode_token
from braid.service.times import iso_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """The filters and the page of a request, as texts; None: no condition.

    Attributes:
        stream: Name of a stream.
        actor: Name of the actor.
        action: The kind of change.
        since: The earliest time, as milliseconds or ISO 8601 with a zone.
        until: The time before which the entries are, in the same forms.
        page_size: The most entries.
        page_token: Token of the page; None: the first page.
    """

    stream: str | None
    actor: str | None
    action: AuditAction | None
    since: str | None
    until: str | None
    page_size: int
    page_token: str | None


def audit_page(pages: AuditPages, request: AuditRequest, *, table: str | None) -> AuditPage:
    """Return a page of entries, newest first.

    Args:
        pages: The log.
        request: The filters and the page.
        table: `<database>.<table>`; None: all tables.

    Raises:
        InvalidRequest: A time, the table's name or the token is not valid.
    """
    if table is not None and not is_identifier(table):
        raise _refused(field="table", value=table, message="expected database.table")
    conditions = AuditFilter(
        table=table,
        stream=request.stream,
        actor=request.actor,
        action=request.action,
        since_ms=_time_ms("since", request.since),
        until_ms=_time_ms("until", request.until),
    )
    token = request.page_token
    before = None if token is None else _parse_token(token)
    page = pages.page(conditions, limit=request.page_size, before=before)
    return AuditPage(
        entries=tuple(
            AuditRecord(**dict(entry), time=iso_utc(entry.time_ms)) for entry in page.entries
        ),
        next_page_token=None if page.next is None else _to_token(page.next),
    )


def _time_ms(parameter: str, text: str | None) -> int | None:
    try:
        return ReadAt(timestamp=text).time_ms
    except InvalidRequest as error:
        raise _refused(field=parameter, value=text, message=error.problems[0].message) from error


def _to_token(name: EntryName) -> str:
    return encode_token(orjson.dumps([name.time_ms, name.table, name.version, name.id]))


def _parse_token(token: str) -> EntryName:
    try:
        fields = orjson.loads(decode_token(token))
    except ValueError:  # not base64, or not JSON
        fields = None
    match fields:
        case [int(time_ms), str(table), int(version), str(id_)]:
            return EntryName(time_ms=time_ms, table=table, version=version, id=id_)
        case _:
            pass
    hint = "use `next_page_token` of the page before, or leave it out"
    message = "not a page token of the audit log"
    raise _refused(field="page_token", value=token, message=message, hint=hint)


def _refused(
    *, field: str, value: str | None, message: str, hint: str | None = None
) -> InvalidRequest:
    problem = Problem(field=field, value=value, message=message, hint=hint)
    summary = "the request for the audit log is not valid"
    return InvalidRequest(summary, problems=[problem])
