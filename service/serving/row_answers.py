"""Answers to requests for one row, for several rows, for rows of a feature view, and for the status of a row.

A row is read from what is served (`followers`). If that is as new as the request demands and its files have copies of the columns, nothing
waits, and the answer is computed on the event loop; otherwise it is computed in a thread. Older states are always read in a thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Generic, Self, TypeVar

import orjson
import pyarrow as pa
from starlette.concurrency import run_in_threadpool

from braid.formats.json_values import json_writer
from braid.formats.key_values import parse_key
from braid.lake import (
    Clock,
    InvalidRequest,
    NotCopied,
    Problem,
    ReadAt,
    SnapshotLookup,
    python_rows,
)
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import TableDocument
from braid.schemas.api import Integers, RowKeys, RowScan
from braid.service.arrow_stream import ARROW, accepts_arrow, arrow_stream
from braid.service.column_mask import ColumnMask
from braid.service.control.read_at_parameters import READ_AT_PARAMETERS
from braid.service.control.row_lookup import (
    LookedUp,
    find_row,
    find_row_as_arrow,
    find_row_status,
    find_rows,
    find_rows_as_arrow,
)
from braid.service.control.row_pages import RowsOfPage, read_first_page, read_next_page
from braid.service.control.row_request import (
    Freshness,
    RowRequest,
    row_request,
    state_of,
)
from braid.service.control.row_status import StatusRules
from braid.service.control.view_lookup import find_view_row, find_view_rows
from braid.service.entity_tags import is_known
from braid.service.metrics import ServiceMetrics
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served
from braid.service.serving.snapshot_waits import SnapshotWaits
from braid.telemetry.tracing import span

RequestT = TypeVar("RequestT")


class RowState(StrEnum):
    """State of the row that a request is about, for metrics."""

    FOUND = "found"
    ABSENT = "absent"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"

    @classmethod
    def of(cls, *, complete: bool) -> Self:
        """Return the state of a row whose completeness is known."""
        return cls("complete" if complete else "incomplete")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAnswer:
    """An answer.

    Attributes:
        body: The body.
        etag: Weak entity tag of what the answer was read from; None if an equal tag would not mean an equal answer.
        media_type: The body's media type.
        varies: Whether the request's `Accept` has chosen the media type.
        row: State of the row; None: the answer is about several.
    """

    body: bytes
    etag: str | None = None
    media_type: str = "application/json"
    varies: bool = False
    row: RowState | None = None

    def response(self, if_none_match: str | None) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return status, headers and body: 304 without a body if the client has the answer already."""
        tags = [] if self.etag is None else [(b"etag", self.etag.encode())]
        if self.varies:
            tags.append((b"vary", b"accept"))
        if is_known(self.etag, if_none_match):
            return HTTPStatus.NOT_MODIFIED, tags, b""
        length = (b"content-length", b"%d" % len(self.body))
        media_type = (b"content-type", self.media_type.encode())
        return HTTPStatus.OK, [length, media_type, *tags], self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question(Generic[RequestT]):
    """A kind of request.

    Attributes:
        parse: Returns the request, by the schema of what is served.
        freshness: Returns how new the answer has to be.
        needs_storage: Whether the answer may read storage, or take long, although the files have copies.
        answer: Computes the answer; unless it may read storage, raises `NotCopied` where it would.
    """

    parse: Callable[[SnapshotLookup], RequestT]
    freshness: Callable[[RequestT], Freshness]
    needs_storage: Callable[[RequestT, Served], bool]
    answer: Callable[[RequestT, Served, bool], RowAnswer]


class RowAnswers:
    """Answers requests for rows."""

    def __init__(
        self, followers: Followers, waits: SnapshotWaits, clock: Clock, metrics: ServiceMetrics
    ) -> None:
        """Answer from what `followers` serve, or what `waits` for; `clock` tells when older states are read."""
        self._metrics = metrics
        self._followers = followers
        self._waits = waits
        self._clock = clock

    async def row(
        self, identifier: str, query: bytes, accept: str | None = None, *, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer to a request for one row.

        Args:
            identifier: The table.
            query: Query of the address.
            accept: The header of that name.
            mask: The columns that the client may not see.

        Raises:
            RowNotFound: The row does not exist.
            SnapshotNotReached: The table has no snapshot that is new enough.
            KeyRefused: The parameters are not a key of the table.
            ColumnMasked: The client may not see what the request asks for.
            LakeError: The table or the state does not exist, or cannot be read.
        """
        parameters = parse_query(query)
        is_arrow = accepts_arrow(accept)

        def answer(request: RowRequest, served: Served, may_read: bool) -> RowAnswer:
            at = self._looked_up(served, request, mask, may_read=may_read)
            etag = _etag(at.lookup, is_arrow=is_arrow, mask=mask)
            if is_arrow:
                table = find_row_as_arrow(at, request.key, columns=request.columns)
                answered = _arrow_answer(table, etag=etag, snapshot=at.snapshot_fields)
                return replace(answered, row=RowState.FOUND)
            row = find_row(at, request.key, columns=request.columns)
            body = {"row": row, "snapshot": at.snapshot_fields}
            return RowAnswer(body=orjson.dumps(body), etag=etag, varies=True, row=RowState.FOUND)

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: row_request(lookup.schema, parameters),
                freshness=lambda request: request.freshness,
                needs_storage=lambda request, served: is_arrow or not served.is_asked_for(request),
                answer=answer,
            ),
        )

    async def rows(
        self, identifier: str, keys: RowKeys, accept: str | None = None, *, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer to a request for several rows; raises what `row` raises."""
        request = _request_of(keys)

        def answer(_request: None, served: Served, _may_read: bool) -> RowAnswer:
            found = self._looked_up(served, request, mask)
            if accepts_arrow(accept):
                table = find_rows_as_arrow(found, keys.keys, columns=keys.columns)
                return _arrow_answer(table, snapshot=found.snapshot_fields)
            rows = find_rows(found, keys.keys, columns=keys.columns)
            body = {"rows": rows, "snapshot": found.snapshot_fields}
            return RowAnswer(body=orjson.dumps(body), varies=True)

        return await self._answer(identifier, _many_rows(request.freshness, answer))

    async def view_row(
        self, identifier: str, query: bytes, *, view: str, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer of a feature view to a request for one row.

        Args:
            identifier: The table.
            query: Query of the address.
            view: The name of the view.
            mask: The columns of the table that the client may not see.

        Raises:
            ViewNotFound: The table has no such view.
            LakeError: What `row` raises.
        """
        parameters = parse_query(query)

        def answer(request: RowRequest, served: Served, may_read: bool) -> RowAnswer:
            _check_newest(request.at)
            of_view = replace(request, columns=None)
            at = self._looked_up(served, of_view, mask, may_read=may_read)
            plan = served.table.view_plan(view, self._document(identifier, served))
            is_text = request.integers is Integers.TEXT
            found = find_view_row(
                at, plan, request.key, columns=request.columns, integers_as_text=is_text, mask=mask
            )
            state = RowState.of(complete=found["complete"])
            body = orjson.dumps({**found, "snapshot": at.snapshot_fields})
            return RowAnswer(body=body, row=state)

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: row_request(lookup.schema, parameters),
                freshness=lambda request: request.freshness,
                needs_storage=lambda request, served: (
                    served.table.document is None or not served.is_asked_for(request)
                ),
                answer=answer,
            ),
        )

    async def view_rows(
        self, identifier: str, keys: RowKeys, *, view: str, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer of a feature view to a request for several rows; raises what `view_row` raises."""
        request = _request_of(keys)
        _check_newest(request.at)

        def answer(_request: None, served: Served, _may_read: bool) -> RowAnswer:
            found = self._looked_up(served, replace(request, columns=None), mask)
            plan = served.table.view_plan(view, self._document(identifier, served))
            is_text = keys.integers is Integers.TEXT
            rows = find_view_rows(
                found, plan, keys.keys, columns=keys.columns, integers_as_text=is_text, mask=mask
            )
            return RowAnswer(body=orjson.dumps({"rows": rows, "snapshot": found.snapshot_fields}))

        return await self._answer(identifier, _many_rows(request.freshness, answer))

    async def page(
        self, identifier: str, scan: RowScan, accept: str | None = None, *, mask: ColumnMask
    ) -> RowAnswer:
        """Return the answer to a request for a page of rows.

        Raises:
            InvalidRequest: The request does not fit the table, or there is no such state.
            PagesExpired: The page token's snapshot is not kept any more.
            LakeError: What `row` raises.
        """
        if scan.page_token is not None:
            return await run_in_threadpool(self._next_page, identifier, scan, accept, mask)
        request = _request_of(scan)
        served, _ = await self._waits.state(
            identifier, lambda _: request, lambda request: request.freshness
        )
        return await run_in_threadpool(self._first_page, served, request, scan, accept, mask)

    def _first_page(
        self,
        served: Served,
        request: RowRequest,
        scan: RowScan,
        accept: str | None,
        mask: ColumnMask,
    ) -> RowAnswer:
        table, document = served.table.table, served.table.document
        page = read_first_page(
            table,
            document,
            scan.model_copy(update={"visibility": request.visibility}),
            verified_ms=served.verified_ms,
            mask=mask,
        )
        return _page_answer(page, scan, accept)

    def _next_page(
        self, identifier: str, scan: RowScan, accept: str | None, mask: ColumnMask
    ) -> RowAnswer:
        served = self._followers.newest(identifier)
        page = read_next_page(served.table.table, served.table.document, scan, mask=mask)
        return _page_answer(page, scan, accept)

    async def status(self, identifier: str, query: bytes, *, mask: ColumnMask) -> RowAnswer:
        """Return the answer to a request for the status of a row; raises what `row` raises."""
        parameters = parse_query(query)

        def answer(request: RowRequest, served: Served, may_read: bool) -> RowAnswer:
            document = self._document(identifier, served)
            at = self._looked_up(served, request, mask, may_read=may_read)
            mask.check_status(document, at.lookup.schema)
            key = parse_key(at.lookup.schema, request.key)
            is_text = request.integers is Integers.TEXT
            rules = (
                served.table.status_rules(document)
                if served.is_asked_for(request)
                else StatusRules(document, at.lookup.schema)
            )
            status = find_row_status(at, rules, key, integers_as_text=is_text)
            state = RowState.of(complete=status.complete)
            return RowAnswer(body=status.model_dump_json().encode(), row=state)

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: row_request(lookup.schema, parameters, takes_columns=False),
                freshness=lambda request: request.freshness,
                needs_storage=lambda request, served: (
                    served.table.document is None or not served.is_asked_for(request)
                ),
                answer=answer,
            ),
        )

    def _document(self, identifier: str, served: Served) -> TableDocument:
        """Return the declaration of a table; reads storage if it was not registered when it was looked at."""
        return served.table.document or self._followers.document(identifier)

    async def _answer(self, identifier: str, question: _Question[Any]) -> RowAnswer:
        """Compute an answer, on the event loop if it needs no storage."""
        served, request = await self._waits.state(
            identifier, lambda served: question.parse(served.table.lookup), question.freshness
        )
        if not question.needs_storage(request, served):
            try:
                with span("lookup"):
                    return question.answer(request, served, False)
            except NotCopied:
                self._metrics.not_copied.inc()
        with span("lookup in a thread"):
            return await run_in_threadpool(question.answer, request, served, True)

    def _looked_up(
        self, served: Served, request: RowRequest, mask: ColumnMask, *, may_read: bool = True
    ) -> LookedUp:
        """Return a state of the table with a function that writes the columns; reads storage if it is not what is served."""
        lookup, verified_ms = served.state_for(request, self._clock)
        columns = mask.visible(lookup.schema, request.columns)
        is_text = request.integers is Integers.TEXT
        if served.is_asked_for(request) and columns is None and not is_text:
            return LookedUp(
                lookup=lookup,
                verified_ms=verified_ms,
                write_row=served.table.write_row,
                shown=served.table.shown,
                may_read=may_read,
            )
        known = lookup.schema.fields_by_name
        # An unknown name is refused by the lookup, with its problem.
        fields = (
            shown_fields(lookup.schema)
            if columns is None
            else tuple(known[name] for name in columns if name in known)
        )
        return LookedUp(
            lookup=lookup,
            verified_ms=verified_ms,
            write_row=json_writer(fields, integers_as_text=is_text),
            shown=columns,
            may_read=may_read,
            is_newest=request.at.is_newest,
        )


def _page_answer(page: RowsOfPage, scan: RowScan, accept: str | None) -> RowAnswer:
    """Return a page in the form that a request accepts."""
    following = page.next_page_token
    if accepts_arrow(accept):
        body = arrow_stream(page.rows, snapshot=page.snapshot, next_page_token=following)
        return RowAnswer(body=body, media_type=ARROW, varies=True)
    is_text = scan.integers is Integers.TEXT
    fields = [page.schema.field(name) for name in page.rows.column_names]
    write = json_writer(fields, integers_as_text=is_text)
    rows = [write(row) for batch in page.rows.to_batches() for row in python_rows(batch)]
    answer = {
        "rows": rows,
        "rows_examined": page.examined,
        "snapshot": page.snapshot,
        "next_page_token": following,
    }
    return RowAnswer(body=orjson.dumps(answer), varies=True)


def _request_of(body: RowKeys | RowScan) -> RowRequest:
    """Return a request for several rows without their keys.

    Raises:
        InvalidRequest: The body names a state and a bound that only the newest state has.
    """
    at, freshness, visibility = state_of(body)
    return RowRequest(
        key=(),
        columns=body.columns,
        at=at,
        freshness=freshness,
        visibility=visibility,
        integers=body.integers,
    )


def _many_rows(
    freshness: Freshness, answer: Callable[[None, Served, bool], RowAnswer]
) -> _Question[None]:
    return _Question(
        parse=lambda _: None,
        freshness=lambda _: freshness,
        # Many rows at once would delay the other requests of the event loop.
        needs_storage=lambda *_: True,
        answer=answer,
    )


def _check_newest(at: ReadAt) -> None:
    """Refuse an older state: the ages in the answer of a feature view are those of now.

    Raises:
        InvalidRequest: An older state is requested.
    """
    if not at.is_newest:
        name = next(name for name in READ_AT_PARAMETERS if getattr(at, name) is not None)
        message = "a feature view answers from the newest snapshot only"
        hint = "leave this out, or request the row at `…/rows`"
        problem = Problem(field=name, value=str(getattr(at, name)), message=message, hint=hint)
        summary = "the parameters of the row are not valid"
        raise InvalidRequest(summary, problems=[problem])


def _arrow_answer(
    rows: pa.Table, *, snapshot: dict[str, Any], etag: str | None = None
) -> RowAnswer:
    body = arrow_stream(rows, snapshot=snapshot)
    return RowAnswer(body=body, etag=etag, media_type=ARROW, varies=True)


def _etag(lookup: SnapshotLookup, *, is_arrow: bool, mask: ColumnMask) -> str | None:
    # By the unique id: after a rollback another snapshot has the same number.
    snapshot = lookup.snapshot
    if snapshot is None or snapshot.uuid is None or lookup.expires_rows:
        return None
    visibility = "-merged" if lookup.source.merged else ""
    representation = "-arrow" if is_arrow else ""
    return f'W/"{snapshot.uuid}-{lookup.schema.id}{visibility}{representation}{mask.tag}"'
