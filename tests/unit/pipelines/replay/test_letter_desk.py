"""A desk answers for the streams of its runner alone, and ends replays that cannot be carried out."""

from collections.abc import Iterator

import pytest

from braid.formats.clusters.kafka_clusters import KafkaClusters
from braid.lake import (
    Catalog,
    CorruptData,
    InvalidRequest,
    LakeError,
    ManualClock,
    MemoryFileIO,
)
from braid.pipelines.replay.letter_desk import RETRY_MS, LetterDesk
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.letter_questions import LetterQuestions
from braid.schemas import LetterQuery, LetterSelection, ReplayResult
from tests.support.waiting import wait_until
from tests.unit.registry.shop import definition, orders

CLOSED = KafkaClusters().with_default("127.0.0.1:1")  # nobody listens there
KEY = "shop.orders/sales"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class _FileIO(MemoryFileIO):
    """Storage with an error that can be switched on: it meets everybody who reads a snapshot of a table."""

    error: Exception | None = None

    def read_bytes(self, path: str) -> bytes:
        if self.error is not None and "/snapshot/" in path:
            raise self.error
        return super().read_bytes(path)


@pytest.fixture
def file_io() -> _FileIO:
    return _FileIO()


@pytest.fixture
def registrar(file_io: MemoryFileIO, clock: ManualClock) -> Registrar:
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    registrar.put_table("shop", "orders", orders())
    registrar.put_stream("shop.orders", "sales", definition())
    catalog.table("shop.orders").committer().claim_stream(
        "sales", topic="orders", topic_id="t", initial_offsets={0: 0}
    )
    return registrar


@pytest.fixture
def desk(file_io: MemoryFileIO, clock: ManualClock) -> Iterator[LetterDesk]:
    desk = LetterDesk(file_io=file_io, warehouse="/w", clusters=CLOSED, clock=clock)
    desk.start(interval_ms=1)
    yield desk
    desk.close()


def _serve(desk: LetterDesk, registrar: Registrar) -> None:
    document = registrar.document("shop.orders")
    desk.set_streams({KEY: (document, document.streams["sales"])})


def _question(query_id: str, stream: str, clock: ManualClock) -> LetterQuery:
    return LetterQuery(
        id=query_id,
        table="shop.orders",
        stream=stream,
        selection=LetterSelection(),
        limit=5,
        asked_ms=clock.now_ms(),
    )


def test_questions_are_answered_for_served_streams(
    desk: LetterDesk, registrar: Registrar, file_io: MemoryFileIO, clock: ManualClock
) -> None:
    questions = LetterQuestions(file_io, "/w")
    questions.ask(_question("a", "another", clock))
    questions.ask(_question("b", "sales", clock))
    _serve(desk, registrar)

    wait_until(lambda: questions.answer_of("b") is not None)

    page = questions.answer_of("b")
    assert page is not None
    assert "kafka does not answer" in str(page.error)
    assert questions.answer_of("a") is None


def test_a_replay_waits_for_kafka_and_is_tried_again(
    desk: LetterDesk,
    registrar: Registrar,
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    registrar.request_replay("shop.orders", "sales", LetterSelection(), request_id="r")
    _serve(desk, registrar)

    wait_until(lambda: caplog.text.count("tried again stream=shop.orders/sales") == 1)
    clock.advance(ms=RETRY_MS)
    wait_until(lambda: caplog.text.count("tried again stream=shop.orders/sales") == 2)

    replay = registrar.entry("shop.orders", "sales").replay
    assert replay is not None
    assert replay.result is None


def test_a_replay_that_the_file_of_clusters_does_not_allow_ends_with_the_reason(
    file_io: MemoryFileIO, registrar: Registrar, clock: ManualClock
) -> None:
    desk = LetterDesk(file_io=file_io, warehouse="/w", clusters=KafkaClusters(), clock=clock)
    desk.start(interval_ms=1)
    registrar.request_replay("shop.orders", "sales", LetterSelection(), request_id="r")
    _serve(desk, registrar)

    try:
        wait_until(lambda: _result(registrar) is not None)
    finally:
        desk.close()

    result = _result(registrar)
    assert result is not None
    assert "no Kafka cluster is called `default`" in str(result.error)


def test_a_defect_ends_the_replay_and_the_question_that_meet_it(
    desk: LetterDesk, registrar: Registrar, file_io: _FileIO, clock: ManualClock
) -> None:
    registrar.request_replay("shop.orders", "sales", LetterSelection(), request_id="r")
    questions = LetterQuestions(file_io, "/w")
    questions.ask(_question("b", "sales", clock))
    file_io.error = ZeroDivisionError("division by zero")
    _serve(desk, registrar)

    wait_until(lambda: questions.answer_of("b") is not None)
    wait_until(lambda: _result(registrar) is not None)

    page, result = questions.answer_of("b"), _result(registrar)
    assert page is not None
    assert result is not None
    assert page.error == "ZeroDivisionError: division by zero"
    # Clients read the result.
    assert str(result.error).startswith("the runner failed (ZeroDivisionError); the log")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            CorruptData("/w/shop.db/orders/snapshot/snapshot-1 is torn"),
            "stored data cannot be read",
        ),
        (
            InvalidRequest("no place for /w/shop.db/orders"),
            "no place for <warehouse>/shop.db/orders",
        ),
    ],
)
def test_the_result_of_a_failed_replay_tells_no_path_of_the_storage(
    desk: LetterDesk, registrar: Registrar, file_io: _FileIO, error: LakeError, shown: str
) -> None:
    registrar.request_replay("shop.orders", "sales", LetterSelection(), request_id="r")
    file_io.error = error
    _serve(desk, registrar)

    wait_until(lambda: _result(registrar) is not None)

    result = _result(registrar)
    assert result is not None
    assert shown in str(result.error)
    assert "/w/" not in str(result.error)


def _result(registrar: Registrar) -> ReplayResult | None:
    replay = registrar.entry("shop.orders", "sales").replay
    return None if replay is None else replay.result
