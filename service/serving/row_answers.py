"""Answers to requests for one row, for several rows, for rows of a feature view, and for the status of a row.

A row is read from what is served (`followers`). If that is as new as the request demands and its files are ready, nothing waits, and
the answer is computed on the event loop; otherwise it is computed in a thread. Older states are always read in a thread.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import orjson
from starlette.concurrency import run_in_threadpool

from braid.formats.json_values import json_writer
from braid.formats.key_values import parse_key
from braid.lake import Clock, InvalidRequest, NotCopied, Problem, ReadAt, SnapshotLookup
from braid.registry.layout.physical_table import shown_fields
from braid.schemas import TableDocument
from braid.schemas.api import RowKeys
from braid.service.control.read_at_parameters import READ_AT_PARAMETERS
from braid.service.control.row_lookup import LookedUp, find_row, find_row_status, find_rows
from braid.service.control.row_request import (
    Freshness,
    RowRequest,
    check_freshness,
    row_request,
)
from braid.service.control.view_lookup import find_view_row, find_view_rows
from braid.service.query_parameters import parse_query
from braid.service.serving.followers import Followers
from braid.service.serving.served_table import Served

RequestT = TypeVar("RequestT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAnswer:
    """An answer.

    Attributes:
        body: JSON.
        etag: Weak entity tag of what the answer was read from; None if an equal tag would not mean an equal answer.
    """

    body: bytes
    etag: str | None = None

    def response(self, if_none_match: str | None) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return status, headers and body: 304 without a body if the client has the answer already."""
        tags = [] if self.etag is None else [(b"etag", self.etag.encode())]
        if is_known(self.etag, if_none_match):
            return HTTPStatus.NOT_MODIFIED, tags, b""
        length = (b"content-length", b"%d" % len(self.body))
        return HTTPStatus.OK, [length, (b"content-type", b"application/json"), *tags], self.body


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question(Generic[RequestT]):
    """A kind of request.

    Attributes:
        parse: Returns the request, by the schema of what is served.
        freshness: Returns how new the answer has to be.
        needs_storage: Whether the answer may read storage although all files are ready.
        answer: Computes the answer; unless it may read storage, raises `NotCopied` where it would.
    """

    parse: Callable[[SnapshotLookup], RequestT]
    freshness: Callable[[RequestT], Freshness]
    needs_storage: Callable[[RequestT, Served], bool]
    answer: Callable[[RequestT, Served, bool], RowAnswer]


class RowAnswers:
    """Answers requests for rows."""

    def __init__(self, followers: Followers, clock: Clock) -> None:
        """Answer from what `followers` serve; `clock` tells when older states are read."""
        self._followers = followers
        self._clock = clock

    async def row(self, identifier: str, query: bytes) -> RowAnswer:
        """Return the answer to a request for one row.

        Args:
            identifier: The table.
            query: Query of the address.

        Raises:
            RowNotFound: The row does not exist.
            SnapshotNotReached: The table has no snapshot that is new enough.
            KeyRefused: The parameters are not a key of the table.
            LakeError: The table or the state does not exist, or cannot be read.
        """
        parameters = parse_query(query)

        def answer(request: RowRequest, served: Served, may_read: bool) -> RowAnswer:
            at = self._looked_up(served, request.at, request.columns, may_read=may_read)
            row = find_row(at, request.key, columns=request.columns)
            body = {"row": row, "snapshot": at.snapshot_fields}
            return RowAnswer(body=orjson.dumps(body), etag=_etag(at.lookup))

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: row_request(lookup.schema, parameters),
                freshness=lambda request: request.freshness,
                needs_storage=lambda request, _: not request.at.is_newest,
                answer=answer,
            ),
        )

    async def rows(self, identifier: str, keys: RowKeys) -> RowAnswer:
        """Return the answer to a request for several rows; raises what `row` raises."""
        at, freshness = _state_of(keys)
        check_freshness(at, freshness)

        def answer(_request: None, served: Served, _may_read: bool) -> RowAnswer:
            found = self._looked_up(served, at, keys.columns)
            rows = find_rows(found, keys.keys, columns=keys.columns)
            return RowAnswer(body=orjson.dumps({"rows": rows, "snapshot": found.snapshot_fields}))

        return await self._answer(identifier, _many_rows(freshness, answer))

    async def view_row(self, identifier: str, query: bytes, *, view: str) -> RowAnswer:
        """Return the answer of a feature view to a request for one row.

        Args:
            identifier: The table.
            query: Query of the address.
            view: The name of the view.

        Raises:
            ViewNotFound: The table has no such view.
            LakeError: What `row` raises.
        """
        parameters = parse_query(query)

        def answer(request: RowRequest, served: Served, may_read: bool) -> RowAnswer:
            _check_newest(request.at)
            at = self._looked_up(served, ReadAt(), None, may_read=may_read)
            plan = served.table.view_plan(view, self._document(identifier, served))
            found = find_view_row(at, plan, request.key, columns=request.columns)
            return RowAnswer(body=orjson.dumps({**found, "snapshot": at.snapshot_fields}))

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: row_request(lookup.schema, parameters),
                freshness=lambda request: request.freshness,
                needs_storage=lambda _, served: served.table.document is None,
                answer=answer,
            ),
        )

    async def view_rows(self, identifier: str, keys: RowKeys, *, view: str) -> RowAnswer:
        """Return the answer of a feature view to a request for several rows; raises what `view_row` raises."""
        at, freshness = _state_of(keys)
        _check_newest(at)

        def answer(_request: None, served: Served, _may_read: bool) -> RowAnswer:
            found = self._looked_up(served, at, None)
            plan = served.table.view_plan(view, self._document(identifier, served))
            rows = find_view_rows(found, plan, keys.keys, columns=keys.columns)
            return RowAnswer(body=orjson.dumps({"rows": rows, "snapshot": found.snapshot_fields}))

        return await self._answer(identifier, _many_rows(freshness, answer))

    async def status(self, identifier: str, query: bytes) -> RowAnswer:
        """Return the answer to a request for the status of a row; raises what `row` raises."""
        parameters = parse_query(query)

        def answer(key: dict[str, object], served: Served, may_read: bool) -> RowAnswer:
            document = self._document(identifier, served)
            at = self._looked_up(served, ReadAt(), None, may_read=may_read)
            status = find_row_status(at, document, key)
            return RowAnswer(body=orjson.dumps(status.model_dump(mode="json")))

        return await self._answer(
            identifier,
            _Question(
                parse=lambda lookup: parse_key(lookup.schema, parameters),
                freshness=lambda _: Freshness(),
                needs_storage=lambda _, served: served.table.document is None,
                answer=answer,
            ),
        )

    def _document(self, identifier: str, served: Served) -> TableDocument:
        """Return the declaration of a table; reads storage if it was not registered when it was looked at."""
        return served.table.document or self._followers.document(identifier)

    async def _answer(self, identifier: str, question: _Question[Any]) -> RowAnswer:
        """Compute an answer, on the event loop if it needs no storage."""
        served = self._followers.current(identifier)
        if served is None:
            return await run_in_threadpool(self._answer_newest, identifier, question)
        request = question.parse(served.table.lookup)
        if not self._followers.is_fresh(served, question.freshness(request)):
            return await run_in_threadpool(self._answer_newest, identifier, question)
        if served.table.is_ready and not question.needs_storage(request, served):
            # Unless a copy was removed since it was looked for.
            with suppress(NotCopied):
                return question.answer(request, served, False)
        return await run_in_threadpool(question.answer, request, served, True)

    def _answer_newest(self, identifier: str, question: _Question[Any]) -> RowAnswer:
        served = self._followers.newest(identifier)
        request = question.parse(served.table.lookup)
        bound = question.freshness(request).min_snapshot
        if bound is not None and served.snapshot_id < bound:
            served = self._followers.newest(identifier, bound)
            request = question.parse(served.table.lookup)
        return question.answer(request, served, True)

    def _looked_up(
        self,
        served: Served,
        at: ReadAt,
        columns: tuple[str, ...] | None,
        *,
        may_read: bool = True,
    ) -> LookedUp:
        """Return a state of the table with a function that writes some columns; reads storage unless it is the newest."""
        lookup, verified_ms = served.table.lookup, served.verified_ms
        if at.is_newest and columns is None:
            return LookedUp(
                lookup=lookup,
                verified_ms=verified_ms,
                write_row=served.table.write_row,
                shown=served.table.shown,
                may_read=may_read,
            )
        if not at.is_newest:
            verified_ms = self._clock.now_ms()
            lookup = served.table.table.lookup_at(at)
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
            write_row=json_writer(fields),
            may_read=may_read,
        )


def _state_of(keys: RowKeys) -> tuple[ReadAt, Freshness]:
    """Return the state that a request for several rows names, and how new the newest has to be."""
    at = ReadAt(snapshot_id=keys.snapshot_id, tag=keys.tag, timestamp=keys.timestamp)
    return at, Freshness(min_snapshot=keys.min_snapshot, max_staleness_ms=keys.max_staleness_ms)


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


def is_known(etag: str | None, if_none_match: str | None) -> bool:
    """Return whether a client has an answer already (RFC 9110, 13.1.2: weak comparison).

    >>> [is_known('W/"a"', header) for header in ('"b", W/"a"', '"a"', "*", '"b"', None)]
    [True, True, True, False, False]
    """
    if etag is None or if_none_match is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def _etag(lookup: SnapshotLookup) -> str | None:
    # By the unique id: after a rollback another snapshot has the same number.
    snapshot = lookup.snapshot
    if snapshot is None or snapshot.uuid is None or lookup.expires_rows:
        return None
    return f'W/"{snapshot.uuid}-{lookup.schema.id}"'
