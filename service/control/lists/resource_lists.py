"""Lists of the tables and streams of the warehouse, and of their declarations.

The documents of tables are in memory (`RegistryView`), so that a list takes one request to storage while nothing changes, and the
reports of runners are read once a second at most. By name, a page examines only as many tables as it needs, `EXAMINED_MAX` at
most; in another order all tables that `table` matches are examined, `TABLES_MAX` at most.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from braid.lake import Clock, LimitExceeded
from braid.registry.store.documents import RegisteredTables
from braid.registry.store.registry_view import RegistryView
from braid.schemas import TableDocument
from braid.schemas.declaration_document import TableDeclaration
from braid.schemas.declaration_transfer import DeclarationPage, ExportedStream, UnreadableTable
from braid.schemas.resource_lists import (
    ListOrder,
    StreamSummary,
    StreamSummaryList,
    TableList,
    TableSummary,
)
from braid.service.control.lists.list_pages import Page, Place, page_of, place_after, token_of
from braid.service.control.lists.list_query import ListQuery
from braid.service.control.lists.recent_reports import RecentReports
from braid.service.control.lists.summaries import (
    listed_streams,
    severity,
    table_status,
    table_summary,
    worst_freshness,
)

EXAMINED_MAX: Final = 500
TABLES_MAX: Final = 2_000
_BETWEEN: Final = (
    "/"  # comes before every character of a name, so that the streams of a table stand together
)


_LAST: Final = "~"  # comes after every character of a name

EntryT = TypeVar("EntryT")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A table whose document was read, or cannot be read."""

    identifier: str
    document: TableDocument | None = None
    error: str | None = None


class ResourceLists:
    """Lists tables, streams and their declarations; thread-safe."""

    def __init__(
        self,
        registry: RegistryView,
        reports: RecentReports,
        clock: Clock,
        *,
        runner_timeout_ms: int,
    ) -> None:
        """Create the lists.

        Args:
            registry: The documents.
            reports: The reports of runners.
            clock: The clock.
            runner_timeout_ms: Age of a runner's last report from which it counts as gone, milliseconds.
        """
        self._registry = registry
        self._reports = reports
        self._clock = clock
        self._runner_timeout_ms = runner_timeout_ms

    def tables(self, query: ListQuery) -> TableList:
        """Return a page of tables.

        Raises:
            InvalidRequest: The page token does not belong to the request.
            LimitExceeded: Too many tables would have to be examined for this order.
            StorageUnavailable: Storage does not answer.
        """
        meant = {
            name: read
            for name, read in self._meant(query).items()
            if query.admits_name(name.partition(".")[2])
        }
        if not query.needs_documents:
            page = _page(query, ((_place(query, name, name), _named(name)) for name in meant))
        elif query.order.by == ListOrder.NAME:
            page = self._by_name(query, meant, self._table_entries)
        else:
            page = _page(query, self._table_entries(query, _all(meant)))
        return TableList(tables=page.entries, next_page_token=page.next_page_token)

    def streams(self, query: ListQuery) -> StreamSummaryList:
        """Return a page of the streams of all tables; raises what `tables` raises."""
        meant = self._meant(query)
        if query.order.by == ListOrder.NAME:
            page = self._by_name(query, meant, self._stream_entries)
        else:
            page = _page(query, self._stream_entries(query, _all(meant)))
        return StreamSummaryList(streams=page.entries, next_page_token=page.next_page_token)

    def declarations(self, query: ListQuery) -> DeclarationPage:
        """Return a page of declarations, each table before its streams; raises what `tables` raises.

        The declarations of a table are those of one moment, unless they are on two pages.
        """
        page = self._by_name(query, self._meant(query), _declarations)
        return DeclarationPage(
            declarations=tuple(one for one in page.entries if not isinstance(one, UnreadableTable)),
            unreadable=tuple(one for one in page.entries if isinstance(one, UnreadableTable)),
            next_page_token=page.next_page_token,
        )

    def _by_name(
        self,
        query: ListQuery,
        meant: Mapping[str, _Read | None],
        entries_of: Callable[[ListQuery, Sequence[_Read]], Iterable[tuple[Place, EntryT]]],
    ) -> Page[EntryT]:
        """Return a page in the order of names, for which tables are examined until the page is full."""
        after, is_descending = _after(query), query.order.is_descending
        ordered = sorted(meant, reverse=is_descending)
        if after is not None:
            first = after.name.partition(_BETWEEN)[0]
            ordered = [
                name for name in ordered if (name <= first if is_descending else name >= first)
            ]
        examined = ordered[:EXAMINED_MAX]
        found: list[tuple[Place, EntryT]] = []
        for name in examined:
            read = meant[name]
            if read is None:
                continue
            found += [one for one in entries_of(query, [read]) if after is None or one[0] > after]
            if len(found) > query.page_size:
                break
        page = page_of(found, after=None, page_size=query.page_size, digest=query.digest)
        if page.next_page_token is None and len(examined) < len(ordered):
            # A short page: the next one begins after the last table that was examined.
            last = examined[-1] if is_descending else f"{examined[-1]}{_BETWEEN}{_LAST}"
            token = token_of(_place(query, last, last), query.digest)
            return Page(entries=page.entries, next_page_token=token)
        return page

    def _meant(self, query: ListQuery) -> Mapping[str, _Read | None]:
        """Return the tables that `query.table` matches and the client may read; None for one that was dropped."""
        found = _by_identifier(self._registry.tables())
        return {name: read for name, read in found.items() if query.admits_table(name)}

    def _table_entries(
        self, query: ListQuery, read: Sequence[_Read]
    ) -> Iterator[tuple[Place, TableSummary]]:
        reports, now_ms = self._reports.get(), self._clock.now_ms()
        alive_since_ms = now_ms - self._runner_timeout_ms
        for one in read:
            if one.document is None:
                if not (query.labels or query.owner or query.states):
                    named = _named(one.identifier, error=one.error)
                    yield _place(query, one.identifier, None), named
                continue
            table = one.document.table
            if not query.admits_people(table.labels, table.owner):
                continue
            streams = list(
                listed_streams(one.document, reports, now_ms=now_ms, alive_since_ms=alive_since_ms)
            )
            if query.states and not any(each.status.state in query.states for each in streams):
                continue
            status = table_status(one.document, streams, reports, alive_since_ms=alive_since_ms)
            if not query.sees_all(one.identifier):
                # The failure of a compaction may quote values.
                status = status.model_copy(update={"maintenance_error": None})
            value: float | None
            match query.order.by:
                case ListOrder.LAG:
                    value = status.lag_records
                case ListOrder.FRESHNESS:
                    value = worst_freshness(streams)
                case _:
                    value = min((severity(each.status.state) for each in streams), default=None)
            summary = table_summary(one.document, status=status if query.shows_status else None)
            yield _place(query, one.identifier, value), summary

    def _stream_entries(
        self, query: ListQuery, read: Sequence[_Read]
    ) -> Iterator[tuple[Place, StreamSummary]]:
        reports, now_ms = self._reports.get(), self._clock.now_ms()
        alive_since_ms = now_ms - self._runner_timeout_ms
        for document in (one.document for one in read if one.document is not None):
            for each in listed_streams(
                document, reports, now_ms=now_ms, alive_since_ms=alive_since_ms
            ):
                spec, state = each.entry.spec, each.status.state
                if not (
                    query.admits_name(spec.name)
                    and query.admits_people(spec.labels, spec.owner)
                    and (not query.states or state in query.states)
                ):
                    continue
                value: float | None
                match query.order.by:
                    case ListOrder.LAG:
                        value = each.status.lag_records
                    case ListOrder.FRESHNESS:
                        value = each.freshness_seconds
                    case _:
                        value = severity(state)
                name = f"{document.identifier}{_BETWEEN}{spec.name}"
                yield _place(query, name, value), each.summary(shows_status=query.shows_status)


def _by_identifier(tables: RegisteredTables) -> Mapping[str, _Read | None]:
    errors = {**tables.unreadable, **tables.newer}
    return {
        **{
            one.identifier: _Read(identifier=one.identifier, document=one)
            for one in tables.documents
        },
        **{name: _Read(identifier=name, error=str(error)) for name, error in errors.items()},
        **dict.fromkeys(tables.dropped),
    }


def _all(meant: Mapping[str, _Read | None]) -> Sequence[_Read]:
    if len(meant) > TABLES_MAX:
        message = (
            f"{len(meant)} tables would have to be examined for a list in this order; the limit is {TABLES_MAX}\n"
            "hint: choose tables by `table=shop.*`, or order the list by name"
        )
        raise LimitExceeded(message)
    return [one for one in meant.values() if one is not None]


def _declarations(
    query: ListQuery, read: Sequence[_Read]
) -> Iterator[tuple[Place, TableDeclaration | ExportedStream | UnreadableTable]]:
    for one in read:
        table, document = one.identifier, one.document
        if document is None:
            unreadable = UnreadableTable(table=table, error=one.error or "")
            yield _place(query, table, None), unreadable
            continue
        yield (
            _place(query, table, None),
            TableDeclaration(kind="Table", name=table, spec=document.table),
        )
        for name, entry in document.streams.items():
            declaration = ExportedStream(
                kind="Stream",
                table=table,
                name=name,
                spec=entry.spec,
                initial_state=entry.desired_state,
            )
            yield _place(query, f"{table}{_BETWEEN}{name}", None), declaration


def _page(query: ListQuery, entries: Iterable[tuple[Place, EntryT]]) -> Page[EntryT]:
    return page_of(entries, after=_after(query), page_size=query.page_size, digest=query.digest)


def _after(query: ListQuery) -> Place | None:
    if query.page_token is None:
        return None
    return place_after(
        query.page_token,
        query.digest,
        is_by_name=query.order.by == ListOrder.NAME,
        is_descending=query.order.is_descending,
    )


def _place(query: ListQuery, name: str, value: float | str | None) -> Place:
    """Return the place of an entry; in the order of names the name is the value."""
    is_by_name = query.order.by == ListOrder.NAME
    return Place(name if is_by_name else value, name, query.order.is_descending)


def _named(identifier: str, *, error: str | None = None) -> TableSummary:
    database, _, name = identifier.partition(".")
    return TableSummary(database=database, name=name, error=error)
