"""A service over a warehouse in memory, with what a console shows: tables, streams, rows, failures, dead letters.

The streams of `shop.orders` have committed micro-batches by the code of running streams. A stand-in for the runner reports their
states again and again, and answers questions for dead letters.
"""

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pyarrow as pa
import uvicorn

from braid.demo.ports import free_port
from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import ManualClock
from braid.registry.store.access_tokens import AccessTokens, random_text, token_of
from braid.registry.store.letter_questions import LetterQuestions
from braid.registry.store.progress import ProgressStore
from braid.schemas import (
    FieldProblem,
    HistoryName,
    LetterPage,
    ListedLetter,
    RunnerProgress,
    StreamFailure,
    StreamProgress,
    StreamState,
    TableProgress,
)
from braid.schemas.access import Grant
from braid.service.app import create_app
from braid.service.braid_app import BraidApp
from braid.service.control.table_history import SeriesKey
from braid.service.serving.history import History
from braid.service.settings import AccessSettings
from tests.support.fed_table import TABLE, FedTable, Message
from tests.support.waiting import PATIENCE_S, wait_until
from tests.unit.service.access.guarded import grant_of

ORDERS: dict[str, Any] = {
    "comment": "One row for each order, from three systems",
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)", "description": "What the customer pays"},
        {"name": "currency", "type": "STRING"},
        {"name": "version", "type": "INT"},
        {"name": "paid", "type": "DECIMAL(10, 2)"},
        {"name": "method", "type": "STRING"},
        {"name": "carrier", "type": "STRING"},
        {"name": "city", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total", "currency"]},
        {"name": "payments", "columns": ["paid", "method"]},
        {"name": "shipping", "columns": ["carrier", "city"]},
    ],
    "completeness": {"groups": ["sales", "payments"]},
}
CUSTOMERS: dict[str, Any] = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "name", "type": "STRING"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
}
STREAMS: dict[str, dict[str, Any]] = {
    "sales": {"topic": "orders"},
    "payments": {"topic": "payments", "partitioned_by_key": True},
    "shipping": {"topic": "parcels", "partitioned_by_key": True},
}
EXACT_ID = 9_007_199_254_740_993
"""A key that a number of JavaScript cannot hold."""
LETTER = ListedLetter(
    partition=1,
    offset=3,
    reason="wrong_type",
    message='column `version`: expected INT, found the text "two"',
    generation=0,
    topic_id="orders",
    timestamp_ms=1_780_000_000_000,
    sent_ms=1_780_000_000_500,
    key="17",
    value='{"id": 17, "total": "5.00", "version": "two"}',
    value_bytes=45,
    standing="open",
)
_PAUSE_S = 0.2
_CLUSTERS = '[clusters.default]\nbootstrap_servers = "kafka:9092"\nshow_records = ["*"]\n'


def _orders() -> FedTable:
    return FedTable(
        declaration=ORDERS,
        streams=STREAMS,
        clock=ManualClock(start_ms=int(datetime.now(UTC).timestamp()) * 1_000 - 300_000),
        clusters=parse_clusters(_CLUSTERS, source="clusters.toml"),
        follow_ms=50,
    )


def _guarded(fed: FedTable, access: AccessSettings) -> BraidApp:
    """Return another app on the same warehouse, which needs tokens."""
    settings = replace(fed.client.app.state.components.settings, access=access)
    return create_app(
        settings,
        catalog=fed.catalog,
        file_io=fed.file_io,
        clock=fed.clock,
        topic_records=fed.topics,
    )


@dataclass(kw_only=True)
class ConsoleBed:
    """A served warehouse.

    Attributes:
        fed: The table `shop.orders` with its streams.
        address: The address of the service.
        http: A client of the service.
    """

    fed: FedTable
    address: str
    http: httpx.Client
    _reported: dict[str, StreamProgress] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def served(cls, *, access: AccessSettings | None = None) -> Iterator["ConsoleBed"]:
        """Serve a new warehouse with tables, until the context ends.

        Args:
            access: Who may use the service; None: every client may do everything.
        """
        with ThreadPoolExecutor(1) as threads:
            # Its client needs an event loop, and this thread has that of the browser's driver.
            fed = threads.submit(_orders).result()
        app = fed.client.app if access is None else _guarded(fed, access)
        port = free_port()
        config = uvicorn.Config(app, port=port, log_level="error", ws="none")
        server = uvicorn.Server(config)
        serving = threading.Thread(target=server.run)
        address = f"http://127.0.0.1:{port}"
        http = httpx.Client(base_url=address, timeout=PATIENCE_S)
        bed = cls(fed=fed, address=address, http=http)
        token = bed.token("bed", "admin:*")
        http.headers.update(
            {"content-type": "application/json", "authorization": f"Bearer {token}"}
        )
        bed._sample(app.state.components.history.history)  # before the service's own samples
        ended = threading.Event()
        running = threading.Thread(target=bed._run, args=[ended])
        serving.start()
        try:
            wait_until(bed._is_served)
            bed._fill()
            running.start()
            yield bed
        finally:
            ended.set()
            server.should_exit = True
            serving.join()
            if running.is_alive():
                running.join()
            http.close()

    def token(self, name: str, *grants: str) -> str:
        """Make a token with grants such as `read:shop.*`, and return its text."""
        return self.token_with(name, *map(grant_of, grants))

    def token_with(self, name: str, *granted: Grant) -> str:
        """Make a token of grants, and return its text."""
        clock = self.fed.clock
        text = random_text()
        token = token_of(text, name, granted, now_ms=clock.now_ms(), expires_ms=None)
        AccessTokens(self.fed.file_io, "/w", clock).add(token)
        return text

    def put(self, path: str, body: dict[str, Any]) -> None:
        """Register a table or a stream."""
        self.http.put(path, json=body).raise_for_status()

    def get(self, path: str) -> Any:
        """Return the answer to a request below the address of `shop.orders`."""
        return self.http.get(f"{TABLE}/{path}").raise_for_status().json()

    def report(self, **states: StreamProgress) -> None:
        """Report the streams of `shop.orders` from now on, as a runner does."""
        self._reported = states
        self._progress.write(
            RunnerProgress(
                runner="runner-1",
                started_ms=self.fed.clock.now_ms(),
                updated_ms=self.fed.clock.now_ms(),
                streams={f"shop.orders/{name}": state for name, state in states.items()},
                tables={"shop.orders": TableProgress(looks=9, buckets=4, compactions=2)},
            )
        )

    @property
    def _progress(self) -> ProgressStore:
        return ProgressStore(self.fed.file_io, "/w", self.fed.clock)

    def _is_served(self) -> bool:
        try:
            return self.http.get("/health").is_success
        except httpx.TransportError:
            return False

    def _fill(self) -> None:
        fed = self.fed
        clock = fed.clock
        orders = [
            {"id": i, "total": f"{i}.50", "currency": "EUR", "version": 1} for i in range(1, 41)
        ]
        fed.feed("sales", *(Message(value=order) for order in orders))
        for stream, *messages in self._story():
            clock.advance(ms=20_000)
            fed.feed(stream, *messages)
        paid = [{"id": i, "paid": f"{i}.50", "method": "card"} for i in range(1, 31) if i != 7]
        fed.feed("payments", *(Message(value=one) for one in paid))
        unreadable = {"id": 17, "total": "5.00", "version": "two"}
        fed.feed(
            "sales", Message(value=unreadable), Message(value={"total": "1.00"}), dead_letters=2
        )
        self.put("/v1/tables/shop/customers", CUSTOMERS)
        self.put("/v1/tables/shop/returns", ORDERS)
        names = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["Ada", "Grace"]})
        fed.catalog.table("shop.customers").write_and_commit(names)
        clock.advance(ms=30_000)
        self.report(**self.states())

    def _sample(self, history: History) -> None:
        """Add the samples of an hour to the history of `shop.orders`; one minute is not known."""
        for minute in range(60):
            wave = 1 + math.sin(minute / 6)
            values = {
                (HistoryName.LAG_SECONDS, "sales"): wave,
                (HistoryName.LAG_SECONDS, "payments"): 1.5 * minute,
                (HistoryName.RATE, "sales"): 900 + 400 * wave,
                (HistoryName.RATE, "payments"): 100 * wave,
                (HistoryName.BATCH_SECONDS, "sales"): 0.3 + wave / 10,
                (HistoryName.COMPLETENESS, ""): 0.5 + minute / 255,
                (HistoryName.LAG_RECORDS, "payments"): 40 * minute,
                (HistoryName.SORTED_RUNS, ""): 1 + minute % 6,
            }
            keys = {SeriesKey("shop.orders", *key): value for key, value in values.items()}
            at_ms = self.fed.clock.now_ms() - (60 - minute) * 60_000
            history.add(at_ms, {} if minute == 20 else keys)

    @staticmethod
    def _story() -> list[tuple[Any, ...]]:
        """Return the records of the order 7, and one of an order with a large key, each in a micro-batch."""
        return [
            ("sales", Message(value={"id": 7, "total": "12.50", "currency": "EUR", "version": 3})),
            ("sales", Message(value={"id": 7, "total": "99.00", "currency": "USD", "version": 2})),
            ("payments", Message(value={"id": 7, "paid": "12.50", "method": "card"})),
            ("sales", Message(value={"id": 7, "total": "13.00", "currency": "EUR", "version": 4})),
            ("sales", Message(value={"id": EXACT_ID, "total": "1.00", "version": 1})),
        ]

    def states(self) -> dict[str, StreamProgress]:
        """Return the first report of each stream."""
        now_ms = self.fed.clock.now_ms()
        failure = StreamFailure(
            cause="the topic `parcels` was deleted and created again",
            errors=(
                FieldProblem(
                    pointer=None,
                    field="topic",
                    value="parcels",
                    message="its id is another one than that of the position",
                    hint="stop and delete the stream, and register it again",
                ),
            ),
            since_ms=now_ms - 90_000,
            attempts=1,
        )
        return {
            "sales": StreamProgress(
                state=StreamState.RUNNING,
                lag_records=12,
                lag_seconds=0.8,
                end_offsets={0: 58, 1: 0},
                records_since_start=46,
                broker_reached_ms=now_ms,
                storage_reached_ms=now_ms,
            ),
            "payments": StreamProgress(
                state=StreamState.RUNNING, lag_records=2_400, lag_seconds=95.0
            ),
            "shipping": StreamProgress(
                state=StreamState.FAILED,
                failure=failure,
                trace="TopicChanged: the topic `parcels` was deleted and created again",
            ),
        }

    def _run(self, ended: threading.Event) -> None:
        questions = LetterQuestions(self.fed.file_io, "/w")
        while not ended.wait(_PAUSE_S):
            self.fed.clock.advance(ms=int(_PAUSE_S * 1_000))
            self.report(**self._reported)
            for query in questions.open_questions(now_ms=self.fed.clock.now_ms()):
                questions.answer(query.id, LetterPage(letters=(LETTER,)))
