"""Desk of a runner for dead letters: answers questions for pages of them, and carries out requested replays.

Pages and replays have a thread each, so a long replay does not delay a page. A replay that fails with a temporary error is
tried again later, and the letters that it has committed stay replayed. Any other error ends the replay. If a client can correct
the cause, the result of the replay has the error, without paths of the storage. For damaged data, and for a defect of the
runner, the result has only the kind of the error, and refers to the runner's log.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import (
    Catalog,
    Clock,
    CorruptData,
    FileIO,
    InvalidRequest,
    LakeError,
    LimitExceeded,
)
from braid.pipelines.replay.letter_pages import LETTERS_MAX, read_page
from braid.pipelines.replay.registered_replay import RegisteredStreams
from braid.pipelines.replay.replay_run import ReplayWithdrawn
from braid.registry.errors import DefinitionRefused, FeaturesMissing, RegistryError
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.letter_questions import LetterQuestions
from braid.registry.store.paths import without_warehouse
from braid.registry.store.progress import stream_key
from braid.schemas import (
    LetterPage,
    LetterQuery,
    ReplayResult,
    RequestedReplay,
    StreamEntry,
    TableDocument,
)

_LOG = logging.getLogger(__name__)

RETRY_MS: Final = 10_000
_STOP_SECONDS_MAX: Final = 30
_ERROR_CHARACTERS_MAX: Final = 1_000
_FINAL: Final = (InvalidRequest, LimitExceeded, DefinitionRefused, FeaturesMissing)
"""Failures that the next attempt would meet again, and that the client can mend; `CorruptData` needs an operator."""
_DEFECTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
"""Failures that nothing foresees: the next attempt would meet them, too, and other streams wait behind it."""

_UNDISCLOSED: Final = "the log of the runner has the reason, under the id of the replay"

Served = Mapping[str, tuple[TableDocument, StreamEntry]]
"""Streams by `<database>.<table>/<stream>`."""


class LetterDesk:
    """Serves the streams of one runner."""

    def __init__(
        self, *, file_io: FileIO, warehouse: str, clusters: KafkaClusters, clock: Clock
    ) -> None:
        """Make a desk that serves no stream yet.

        Args:
            file_io: The warehouse's storage.
            warehouse: Its address.
            clusters: The Kafka clusters and schema registries of the operators' file.
            clock: The clock.
        """
        self._file_io = file_io
        self._warehouse = warehouse
        self._clusters = clusters
        self._clock = clock
        self._questions = LetterQuestions(file_io, warehouse)
        self._hide = without_warehouse(warehouse)
        self._served: Served = {}
        # Of these, those with a replay to carry out, by its id: chosen once, not at each look.
        self._requested: Mapping[str, tuple[str, TableDocument, StreamEntry]] = {}
        # By request: when a replay is tried again, and results that are not recorded yet.
        self._retry_ms: dict[str, int] = {}
        self._unrecorded: dict[str, ReplayResult] = {}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, *, interval_ms: int) -> None:
        """Begin to serve.

        Args:
            interval_ms: Interval between two looks for work, milliseconds.
        """
        for name, work in (
            ("letter-pages", self._answer_all),
            ("letter-replays", self._replay_all),
        ):
            thread = threading.Thread(
                target=self._repeat, args=(name, work, interval_ms), name=name, daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def set_streams(self, served: Served) -> None:
        """Set the streams that are served from now on; for any thread."""
        self._served = served
        self._requested = {
            entry.replay.id: (key, document, entry)
            for key, (document, entry) in served.items()
            if entry.replay is not None and entry.replay.result is None
        }

    def ask_to_stop(self) -> None:
        """Ask the threads to end; a replay ends after the commit under way."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_STOP_SECONDS_MAX)

    def _repeat(self, name: str, work: Callable[[], None], interval_ms: int) -> None:
        cause: str | None = None
        while not self._stop.wait(interval_ms / 1_000):
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the queries of the runner go on
                if cause != type(error).__name__:
                    _LOG.warning("%s failed error=%s", name, error)
                cause = type(error).__name__
            else:
                cause = None

    def _streams(self) -> tuple[RegisteredStreams, Registrar]:
        # Opened anew: tables and documents are cached, and not shared between threads.
        catalog = Catalog(self._warehouse, file_io=self._file_io, clock=self._clock)
        registry = RegistryStore(self._file_io, self._warehouse, self._clock)
        streams = RegisteredStreams(registry=registry, catalog=catalog, clusters=self._clusters)
        return streams, Registrar(registry, catalog, self._clock)

    def _answer_all(self) -> None:
        for query in self._questions.open_questions(now_ms=self._clock.now_ms()):
            found = self._served.get(stream_key(query.table, query.stream))
            if found is not None and not self._stop.is_set():
                self._questions.answer(query.id, self._page(query, *found))

    def _page(self, query: LetterQuery, document: TableDocument, entry: StreamEntry) -> LetterPage:
        streams, _ = self._streams()
        try:
            return read_page(
                streams.letters(entry),
                streams.judge(document, query.stream),
                query.selection,
                limit=max(1, min(query.limit, LETTERS_MAX)),
                start=query.start,
                monotonic_s=time.monotonic,
            )
        except (LakeError, RegistryError, OSError, *_DEFECTS) as error:
            return LetterPage(error=_one_line(error))

    def _replay_all(self) -> None:
        requested = self._requested
        self._retry_ms = {one: at for one, at in self._retry_ms.items() if one in requested}
        self._unrecorded = {one: got for one, got in self._unrecorded.items() if one in requested}
        for request, (key, document, entry) in requested.items():
            now_ms = self._clock.now_ms()
            if now_ms >= self._retry_ms.get(request, now_ms) and not self._stop.is_set():
                self._replay(key, document, entry)

    def _replay(self, key: str, document: TableDocument, entry: StreamEntry) -> None:
        replay, name = entry.replay, entry.spec.name
        assert replay is not None, "only requested replays are carried out"
        try:
            streams, registrar = self._streams()
            newest = registrar.entry(document.identifier, name).replay
            if newest is None or newest.id != replay.id or newest.result is not None:
                return  # ended or withdrawn since the registry was read
            if replay.id not in self._unrecorded:
                _LOG.info("replay begins stream=%s id=%s", key, replay.id)
                # Kept until it is recorded: another run would find the letters replayed, and count none.
                self._unrecorded[replay.id] = self._carry_out(streams, document, name, replay)
            result = self._unrecorded[replay.id]
            registrar.end_replay(document.identifier, name, request_id=replay.id, result=result)
        except ReplayWithdrawn:
            return
        except (LakeError, RegistryError, OSError) as error:
            _LOG.warning(
                "replay failed and will be tried again stream=%s error=%s", key, _one_line(error)
            )
            self._retry_ms[replay.id] = self._clock.now_ms() + RETRY_MS
            return
        _LOG.info("replay ends stream=%s id=%s result=%s", key, replay.id, result)

    def _carry_out(
        self,
        streams: RegisteredStreams,
        document: TableDocument,
        name: str,
        replay: RequestedReplay,
    ) -> ReplayResult:
        """Replay; return the result, also of a failure that the next attempt would meet again."""
        try:
            run = streams.replay(
                document,
                name,
                replay.selection,
                request_id=replay.id,
                on_commit=lambda _: self._check_stop(),
            )
            return run.run(finished_ms=self._clock.now_ms)
        except _FINAL as error:
            return self._failed(self._hide(_one_line(error)))
        except CorruptData as error:
            _LOG.error(
                "replay ended with an error stream=%s id=%s error=%s",
                name,
                replay.id,
                _one_line(error),
            )
            return self._failed(f"stored data cannot be read; {_UNDISCLOSED}")
        except _DEFECTS as error:
            _LOG.exception("replay ended with an unexpected error stream=%s id=%s", name, replay.id)
            return self._failed(f"the runner failed ({type(error).__name__}); {_UNDISCLOSED}")

    def _failed(self, error: str) -> ReplayResult:
        return ReplayResult(finished_ms=self._clock.now_ms(), error=error)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise ReplayWithdrawn


def _one_line(error: BaseException) -> str:
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    kind = type(error).__name__
    shown = f"{kind}: {text}" if isinstance(error, _DEFECTS) else text
    return (shown or kind)[:_ERROR_CHARACTERS_MAX]
