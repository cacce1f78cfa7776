"""The clients of a service, synchronous and asynchronous, and their tables and streams."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, overload

import httpx
import pyarrow as pa

from braid.client.explanation_operations import ExplanationOperations
from braid.client.keys import Keys, keys_of
from braid.client.maintenance_operations import MaintenanceOperations
from braid.client.many_rows import (
    FrameKind,
    as_frame,
    joined,
    joined_tables,
    parts_of,
    state_of_others,
)
from braid.client.operation import AsyncResource, SyncResource
from braid.client.retries import Retries
from braid.client.row_operations import RowOperations
from braid.client.sending import AsyncSender, Sender
from braid.client.service_operations import ServiceOperations
from braid.client.stream_operations import StreamOperations
from braid.client.table_operations import TableOperations
from braid.client.view_operations import ViewOperations
from braid.schemas.api import WideRows

if TYPE_CHECKING:
    import polars as pl

PARALLEL: Final = 4
"""Requests of one call for many rows that run at once: the service answers six of their class at once."""

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of a client.

    Attributes:
        timeout_seconds: The longest wait for a part of an answer. Above the two seconds that a request may wait for a snapshot, and
            the ten that it may wait for its turn.
        connect_seconds: The longest wait for a connection.
        connections: Connections that are open at once; further requests wait for one.
        retries: When requests are repeated.
        headers: Headers of every request.
        token: The access token of every request; None: none is sent.
        chance: The source of the pauses' jitter.
    """

    timeout_seconds: float = 30.0
    connect_seconds: float = 5.0
    connections: int = 20
    retries: Retries = field(default_factory=Retries)
    headers: Mapping[str, str] = field(default_factory=dict)
    token: str | None = field(default=None, repr=False)
    chance: random.Random = field(default_factory=random.Random)

    def of_httpx(self, address: str) -> dict[str, Any]:
        """Return the arguments of httpx's clients for a service at an address."""
        credentials = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        return {
            "base_url": address,
            "headers": {**self.headers, **credentials},
            "timeout": httpx.Timeout(self.timeout_seconds, connect=self.connect_seconds),
            "limits": httpx.Limits(
                max_connections=self.connections, max_keepalive_connections=self.connections
            ),
        }


class Stream(StreamOperations, SyncResource):
    """A stream of a table."""


class AsyncStream(StreamOperations, AsyncResource):
    """A stream of a table, for coroutines."""


class View(ViewOperations, SyncResource):
    """A feature view of a table."""


class AsyncView(ViewOperations, AsyncResource):
    """A feature view of a table, for coroutines."""


class Table(
    RowOperations, ExplanationOperations, TableOperations, MaintenanceOperations, SyncResource
):
    """A table."""

    def stream(self, name: str) -> Stream:
        """Return a stream of the table; nothing is requested."""
        return Stream(self._sender, {**self.names, "stream": name})

    def view(self, name: str) -> View:
        """Return a feature view of the table; nothing is requested."""
        return View(self._sender, {**self.names, "view": name})

    @overload
    def rows(
        self, keys: Keys, *, as_: None = None, parallel: int = ..., **state: Any
    ) -> WideRows: ...
    @overload
    def rows(
        self, keys: Keys, *, as_: Literal["arrow"], parallel: int = ..., **state: Any
    ) -> pa.Table: ...
    @overload
    def rows(
        self, keys: Keys, *, as_: Literal["polars"], parallel: int = ..., **state: Any
    ) -> "pl.DataFrame": ...
    @overload
    def rows(
        self, keys: Keys, *, as_: Literal["pandas"], parallel: int = ..., **state: Any
    ) -> Any: ...
    def rows(
        self,
        keys: Keys,
        *,
        as_: FrameKind | None = None,
        parallel: int = PARALLEL,
        **state: Any,
    ) -> Any:
        """Return the rows of any number of keys, all of one snapshot, read by several requests at once.

        Args:
            keys: The keys, as mappings or as a table of Arrow, pandas or polars.
            as_: `arrow`, `pandas` or `polars`: the rows that exist, in the order of the keys, as a table that has the columns of the
                key. None: a row or None for each key.
            parallel: Requests that run at once.
            state: The other arguments of `lookup`.
        """
        wanted = keys_of(keys)
        if as_ is None:
            return joined(self._parts(self.lookup, wanted, parallel, state), count=len(wanted))
        return as_frame(joined_tables(self._parts(self.lookup_arrow, wanted, parallel, state)), as_)

    def _parts(
        self,
        look_up: Callable[..., AnswerT],
        keys: Sequence[Mapping[str, Any]],
        parallel: int,
        state: Mapping[str, Any],
    ) -> list[AnswerT]:
        first, *others = parts_of(keys)
        answer: Any = look_up(first, **state)
        if not others or answer.snapshot.id is None:
            return [answer]
        same = state_of_others(state, answer.snapshot)
        with ThreadPoolExecutor(parallel, thread_name_prefix="braid rows") as threads:
            return [answer, *threads.map(lambda part: look_up(part, **same), others)]


class AsyncTable(
    RowOperations, ExplanationOperations, TableOperations, MaintenanceOperations, AsyncResource
):
    """A table, for coroutines."""

    def stream(self, name: str) -> AsyncStream:
        """Return a stream of the table; nothing is requested."""
        return AsyncStream(self._sender, {**self.names, "stream": name})

    def view(self, name: str) -> AsyncView:
        """Return a feature view of the table; nothing is requested."""
        return AsyncView(self._sender, {**self.names, "view": name})

    @overload
    async def rows(
        self, keys: Keys, *, as_: None = None, parallel: int = ..., **state: Any
    ) -> WideRows: ...
    @overload
    async def rows(
        self, keys: Keys, *, as_: Literal["arrow"], parallel: int = ..., **state: Any
    ) -> pa.Table: ...
    @overload
    async def rows(
        self, keys: Keys, *, as_: Literal["polars"], parallel: int = ..., **state: Any
    ) -> "pl.DataFrame": ...
    @overload
    async def rows(
        self, keys: Keys, *, as_: Literal["pandas"], parallel: int = ..., **state: Any
    ) -> Any: ...
    async def rows(
        self,
        keys: Keys,
        *,
        as_: FrameKind | None = None,
        parallel: int = PARALLEL,
        **state: Any,
    ) -> Any:
        """Return the rows of any number of keys; see `Table.rows`."""
        wanted = keys_of(keys)
        if as_ is None:
            answers = await self._parts(self.lookup, wanted, parallel, state)
            return joined(answers, count=len(wanted))
        tables = await self._parts(self.lookup_arrow, wanted, parallel, state)
        return as_frame(joined_tables(tables), as_)

    async def _parts(
        self,
        look_up: Callable[..., Awaitable[AnswerT]],
        keys: Sequence[Mapping[str, Any]],
        parallel: int,
        state: Mapping[str, Any],
    ) -> list[AnswerT]:
        first, *others = parts_of(keys)
        answer: Any = await look_up(first, **state)
        if not others or answer.snapshot.id is None:
            return [answer]
        same = state_of_others(state, answer.snapshot)
        slots = asyncio.Semaphore(parallel)

        async def look_up_part(part: Sequence[Mapping[str, Any]]) -> AnswerT:
            async with slots:
                return await look_up(part, **same)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(look_up_part(part)) for part in others]
        return [answer, *(task.result() for task in tasks)]


class Client(ServiceOperations, SyncResource):
    """A client of a service; safe between threads. Close it at the end, or use it as a context."""

    def __init__(
        self,
        address: str,
        *,
        settings: ClientSettings | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Create a client; nothing is requested.

        Args:
            address: The service's address, such as `http://localhost:8080`.
            settings: Settings; None: the default ones.
            transport: httpx's transport, for proxies or certificates of one's own; None: httpx's own.
            sleep: Waits for some seconds.
        """
        settings = settings or ClientSettings()
        self._http = httpx.Client(**settings.of_httpx(address), transport=transport)
        sender = Sender(self._http, retries=settings.retries, chance=settings.chance, sleep=sleep)
        super().__init__(sender, {})

    def table(self, identifier: str) -> Table:
        """Return a table, named `database.table`; nothing is requested."""
        return Table(self._sender, _names(identifier))

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(ServiceOperations, AsyncResource):
    """A client of a service for coroutines of one event loop. Close it at the end, or use it as a context."""

    def __init__(
        self,
        address: str,
        *,
        settings: ClientSettings | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Create a client; nothing is requested. The arguments are those of `Client`."""
        settings = settings or ClientSettings()
        self._http = httpx.AsyncClient(**settings.of_httpx(address), transport=transport)
        super().__init__(
            AsyncSender(self._http, retries=settings.retries, chance=settings.chance, sleep=sleep),
            {},
        )

    def table(self, identifier: str) -> AsyncTable:
        """Return a table, named `database.table`; nothing is requested."""
        return AsyncTable(self._sender, _names(identifier))

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _names(identifier: str) -> dict[str, str]:
    database, _, table = identifier.partition(".")
    if not database or not table:
        message = f"expected the name of a table as `database.table`, found `{identifier}`"
        raise ValueError(message)
    return {"database": database, "table": table}
