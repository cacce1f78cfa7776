"""Operations as they are answered, and pages of them: those that have not ended, then the others, the newest first."""

from collections.abc import Callable

import orjson

from braid.lake import CorruptData
from braid.registry.errors import FeaturesMissing, OperationNotFound
from braid.registry.store.operations import OperationStore, table_of
from braid.schemas import OperationDocument, OperationList, OperationState, OperationView
from braid.service.control.page_token import decode_token, encode_token, not_a_token
from braid.service.times import iso_utc


def operation_view(document: OperationDocument) -> OperationView:
    """Return an operation as it is answered."""
    return OperationView(
        id=document.id,
        kind=document.request.kind,
        database=document.database,
        table=document.table,
        state=document.state,
        request=document.request,
        created_at=iso_utc(document.created_ms),
        requested_by=document.requested_by,
        started_at=_time(document.started_ms),
        finished_at=_time(document.finished_ms),
        attempts=document.attempt,
        cancel_requested=document.cancel_requested,
        progress=document.progress,
        result=document.result,
        problem=document.problem,
    )


def list_operations(
    operations: OperationStore,
    *,
    table: str | None,
    state: OperationState | None,
    page_size: int,
    page_token: str | None,
    may_see: Callable[[str], bool],
) -> OperationList:
    """Return a page of operations; those whose documents cannot be read are left out.

    Args:
        operations: The operations.
        table: `<database>.<table>`; None: of all tables.
        state: Only those in this state; None: in any.
        page_size: The largest number of operations.
        page_token: `next_page_token` of the page before; None: the first page.
        may_see: Whether the client may see the operations of a table.

    Raises:
        InvalidRequest: The token is not one of this list.
    """
    ids = [] if state is not None and state.is_final else operations.open_ids()
    if state is None or state.is_final:
        ids += operations.finished_ids()
    ids = [one for one in dict.fromkeys(ids) if _is_meant(one, table, may_see)]
    if page_token is not None:
        ids = _after(ids, page_token)
    page: list[OperationView] = []
    for place, operation_id in enumerate(ids):
        if len(page) == page_size:
            left = orjson.dumps({"next": ids[place]})
            return OperationList(operations=tuple(page), next_page_token=encode_token(left))
        try:
            document = operations.get(operation_id)
        except (OperationNotFound, FeaturesMissing, CorruptData):
            continue  # removed a moment ago; or of a newer version, whose processes list it; or damaged
        if state in (None, document.state):
            page.append(operation_view(document))
    return OperationList(operations=tuple(page))


def _is_meant(operation_id: str, table: str | None, may_see: Callable[[str], bool]) -> bool:
    try:
        found = table_of(operation_id)
    except OperationNotFound:  # another file
        return False
    return table in (None, found) and may_see(found)


def _after(ids: list[str], token: str) -> list[str]:
    """Return the ids of the pages that follow; none if the next one was removed meanwhile."""
    try:
        first = orjson.loads(decode_token(token))["next"]
    except (ValueError, KeyError, TypeError):
        raise not_a_token(token) from None
    return ids[ids.index(first) :] if first in ids else []


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else iso_utc(time_ms)
