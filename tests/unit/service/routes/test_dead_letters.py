"""Dead letters over HTTP: numbers from the table, pages from a runner, and one replay at a time."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from braid.lake import BatchAccount, Catalog, ManualClock, MemoryFileIO, StreamBatch
from braid.registry.registrar import Registrar
from braid.registry.store.documents import RegistryStore
from braid.registry.store.letter_questions import LetterQuestions
from braid.schemas import LetterPage, LetterQuery, ListedLetter, ReplayResult
from tests.support.waiting import wait_until
from tests.unit.service.http_client import HttpClient

SALES = "/v1/tables/shop/orders/streams/sales"
LETTERS = f"{SALES}/dead-letters"
LETTER = ListedLetter(
    partition=0,
    offset=3,
    reason="malformed",
    message="not JSON",
    generation=0,
    topic_id="t",
    timestamp_ms=1,
    sent_ms=2,
    key=None,
    value="{",
    value_bytes=1,
    standing="open",
)


@pytest.fixture
def sales(shop: HttpClient, catalog: Catalog) -> HttpClient:
    """The stream `sales`, which has five dead letters."""
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()
    committer = catalog.table("shop.orders").committer()
    committer.claim_stream("sales", topic="orders", topic_id="t", initial_offsets={0: 0})
    committer.commit_stream_batch(
        [],
        StreamBatch(
            stream="sales",
            epoch=1,
            batch_id=0,
            topic="orders",
            topic_id="t",
            start={0: 0},
            end={0: 9},
            account=BatchAccount(ignored=4, dead_lettered=5),
            dead_letters={"malformed": 3, "tombstone": 2},
        ),
    )
    return shop


@pytest.fixture
def questions(file_io: MemoryFileIO) -> LetterQuestions:
    return LetterQuestions(file_io, "/w")


def _answered(
    questions: LetterQuestions,
    send: Callable[[], httpx.Response],
    answer: Callable[[LetterQuery], LetterPage],
) -> httpx.Response:
    """Send a request in a thread, and answer its question as a runner does."""
    with ThreadPoolExecutor(1) as threads:
        sent = threads.submit(send)
        wait_until(lambda: bool(questions.open_questions(now_ms=0)))
        (query,) = questions.open_questions(now_ms=0)
        questions.answer(query.id, answer(query))
        return sent.result()


def test_the_numbers_need_no_runner(sales: HttpClient) -> None:
    found = sales.get(LETTERS, params={"limit": 0}).json()

    assert found["counts"] == {
        "total": 5,
        "replayed": 0,
        "open": 5,
        "by_reason": {"malformed": 3, "tombstone": 2},
        "replayed_by_reason": {},
    }
    assert (found["dead_letter_topic"], found["replay"]) == ("orders.dead-letters", None)
    assert found["letters"] == []


def test_pages_continue_with_their_tokens(
    sales: HttpClient, questions: LetterQuestions, file_io: MemoryFileIO
) -> None:
    asked: list[LetterQuery] = []

    def answer(query: LetterQuery) -> LetterPage:
        asked.append(query)
        return LetterPage(letters=(LETTER,), next={0: 4, 1: 7} if len(asked) == 1 else None)

    chosen = {"reason": ["malformed", "poison"], "partition": 0, "offset_end": 9, "limit": 1}
    first = _answered(questions, lambda: sales.get(LETTERS, params=chosen), answer).json()
    token = first["next_page_token"]
    again = {**chosen, "page_token": token}
    second = _answered(questions, lambda: sales.get(LETTERS, params=again), answer).json()

    assert first["letters"] == second["letters"] == [LETTER.model_dump(mode="json")]
    assert second["next_page_token"] is None
    assert [query.start for query in asked] == [None, {0: 4, 1: 7}]
    assert asked[0].selection.reasons == ("malformed", "poison")
    assert {p: (s.start, s.end) for p, s in asked[0].selection.offsets.items()} == {"0": (0, 9)}
    assert not file_io.list("/w/_braid/letter-questions")


def test_why_a_runner_cannot_read_is_in_the_log(
    sales: HttpClient, questions: LetterQuestions, caplog: pytest.LogCaptureFixture
) -> None:
    answer = _answered(
        questions, lambda: sales.get(LETTERS), lambda _: LetterPage(error="kafka does not answer")
    )

    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    # What a runner cannot reach has an address, which is for operators alone.
    assert "kafka" not in answer.text
    assert "kafka does not answer" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"page_token": "x"},
        {"page_token": "W10"},  # []
        {"offset_start": 4},
        {"partition": 0, "offset_start": 4, "offset_end": 4},
        {"limit": 1_001},
        {"partition": -1},
    ],
)
def test_wrong_parameters_are_refused_before_anybody_is_asked(
    sales: HttpClient, file_io: MemoryFileIO, wrong: Mapping[str, str]
) -> None:
    answer = sales.get(LETTERS, params=wrong)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert not file_io.list("/w/_braid/letter-questions")


def test_a_stream_that_was_never_started_has_no_letters(
    shop: HttpClient, file_io: MemoryFileIO
) -> None:
    shop.put(SALES, json={"topic": "orders"}).raise_for_status()

    answer = shop.get(LETTERS)

    assert (answer.status_code, answer.json()["letters"]) == (200, [])
    assert not file_io.list("/w/_braid/letter-questions")


def test_a_stream_that_is_not_registered_has_no_letters(shop: HttpClient) -> None:
    assert shop.get(LETTERS).json()["code"] == "stream_not_found"


def test_a_replay_is_requested_shown_and_withdrawn(
    sales: HttpClient, file_io: MemoryFileIO, clock: ManualClock, catalog: Catalog
) -> None:
    body = {"reasons": ["malformed"], "offsets": {"0": {"start": 1, "end": 4}}}
    requested = sales.post(f"{LETTERS}/replay", json=body)
    other = sales.post(f"{LETTERS}/replay", json={})
    registrar = Registrar(RegistryStore(file_io, "/w", clock), catalog, clock)
    shown = sales.get(LETTERS, params={"limit": 0}).json()["replay"]
    withdrawn = sales.delete(f"{LETTERS}/replay")
    second = sales.post(f"{LETTERS}/replay", json={}).json()
    registrar.end_replay(
        "shop.orders",
        "sales",
        request_id=second["id"],
        result=ReplayResult(finished_ms=5, accepted=2, failed_again={"malformed": 1}),
    )
    result = sales.get(LETTERS, params={"limit": 0}).json()["replay"]["result"]

    assert requested.status_code == 202
    assert requested.json() == shown
    assert (shown["selection"], shown["result"]) == (body, None)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert withdrawn.status_code == 204
    assert (result["accepted"], result["failed_again"]) == (2, {"malformed": 1})


@pytest.mark.parametrize(
    "body",
    [
        {"reasons": ["no_such_reason"]},
        {"offsets": {"0": {"start": 4, "end": 4}}},
        {"offsets": {"-1": {"start": 0, "end": 4}}},
        {"offset": {}},
    ],
)
def test_a_wrong_selection_is_refused(sales: HttpClient, body: dict[str, object]) -> None:
    answer = sales.post(f"{LETTERS}/replay", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
