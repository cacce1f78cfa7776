"""Pushes over HTTP, up to the producer: which are refused, and what is sent."""

import hashlib
import hmac
import json
from decimal import Decimal
from typing import Any

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.pipelines.kafka.record_producer import KafkaRecordProducer
from braid.records.outgoing_records import RecordProducer
from braid.service.app import create_app
from braid.service.control.read_after import parse_token
from braid.service.limits import RequestLimits
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient
from tests.unit.service.memory_topic import MemoryTopic

TABLE = "/v1/tables/shop/orders"
RECORDS = f"{TABLE}/streams/sales/records"
PAID = f"{TABLE}/streams/payments/records"
# Nothing listens at port 1.
CLUSTERS = parse_clusters(
    """
    [clusters.shop]
    bootstrap_servers = "127.0.0.1:1"
    push = ["orders", "paid"]

    [[clusters.shop.signatures]]
    topics = ["paid"]
    header = "x-hub-signature-256"
    prefix = "sha256="
    secret = "${env:PAID_SECRET}"
    """,
    source="clusters.toml",
)
KAFKA = {"kafka": {"cluster": "shop"}, "partitioned_by_key": True}
SALE = {"id": 7, "region": "eu", "total": "12.50", "order_version": 1}


def service(producer: RecordProducer | None) -> HttpClient:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    limits = RequestLimits(snapshot_wait_seconds=0.1)
    settings = ServiceSettings(warehouse="/w", clusters=CLUSTERS, limits=limits)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    app = create_app(settings, catalog=catalog, file_io=file_io, clock=clock, producer=producer)
    client = HttpClient(app)
    client.put(TABLE, json=ORDERS).raise_for_status()
    client.put(f"{TABLE}/streams/sales", json={"topic": "orders", **KAFKA}).raise_for_status()
    client.put(f"{TABLE}/streams/payments", json={"topic": "paid", **KAFKA}).raise_for_status()
    return client


@pytest.fixture
def topic() -> MemoryTopic:
    return MemoryTopic()


@pytest.fixture
def client(topic: MemoryTopic) -> HttpClient:
    return service(topic)


@pytest.mark.parametrize("text", ["12345678901234567.123456789012345678", "0.1", "1e3", "7"])
def test_numbers_keep_their_digits(client: HttpClient, topic: MemoryTopic, text: str) -> None:
    record = json.dumps({**SALE, "total": None})[:-1] + f', "note": {text}}}'

    answer = client.post(RECORDS, content=f'{{"value": {record}}}'.encode())

    assert answer.status_code == 200, answer.text
    assert answer.json()["records"][0]["outcome"] == "accepted", answer.text
    (sent,) = topic.records
    assert sent.value is not None
    found = json.loads(sent.value, parse_float=Decimal, parse_int=Decimal)["note"]
    assert found == Decimal(text)


def test_a_line_that_is_not_json_is_named(client: HttpClient) -> None:
    content = b'{"value": "a"}\n\n{"value": }\n{"value": "b"}\n'

    refused = client.post(
        RECORDS, content=content, headers={"content-type": "application/x-ndjson"}
    )

    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_request")
    assert "line 3, column 11" in refused.json()["detail"]


def test_a_message_that_is_refused_is_an_error(client: HttpClient, topic: MemoryTopic) -> None:
    refused = client.post(f"{RECORDS}?body=message", content=b"zzz")

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "malformed" in refused.json()["errors"][0]["message"]
    assert not topic.records


def test_records_are_sent_and_bad_ones_refused(client: HttpClient, topic: MemoryTopic) -> None:
    bad: list[Any] = [{"value": "no JSON"}, {"value": {"id": 7}}, {}]

    answer = client.post(RECORDS, json=[{"value": SALE}, *bad, {"key": "k", "value": SALE}])

    assert answer.status_code == 200, answer.text
    records = answer.json()["records"]
    assert [one["outcome"] for one in records] == ["accepted", *["refused"] * 3, "accepted"]
    assert [one["offset"] for one in records] == [0, None, None, None, 1]
    assert records[1]["reason"] == "malformed"
    assert records[2]["reason"] == "missing_key"
    assert [one.key for one in topic.records] == [b'{"id":7,"region":"eu"}', b"k"]
    after = parse_token(answer.json()["read_after"])
    assert (after.table, after.stream, after.topic_id) == ("shop.orders", "sales", "T")
    assert after.offsets == {0: 1}


def test_an_answer_without_accepted_records_has_no_token(
    client: HttpClient, topic: MemoryTopic
) -> None:
    answer = client.post(RECORDS, json={"value": "no JSON"})

    assert answer.json()["read_after"] is None
    assert topic.records == []


@pytest.mark.parametrize("body", [b"[]", b"\n\n"])
@pytest.mark.parametrize("headers", [{}, {"idempotency-key": "a"}], ids=["plain", "named"])
def test_a_push_without_records_is_answered_without_records(
    client: HttpClient, topic: MemoryTopic, body: bytes, headers: dict[str, str]
) -> None:
    media_type = "application/json" if body == b"[]" else "application/x-ndjson"
    headers = {**headers, "content-type": media_type}

    answer = client.post(RECORDS, content=body, headers=headers)

    assert (answer.status_code, answer.json()) == (200, {"records": [], "read_after": None})
    assert topic.records == []


def test_a_topic_that_operators_do_not_allow_is_refused(client: HttpClient) -> None:
    client.put(f"{TABLE}/streams/payments", json={"topic": "other", **KAFKA}).raise_for_status()

    refused = client.post(PAID, json={"value": {"id": 7}})

    assert refused.status_code == 422
    [problem] = refused.json()["errors"]
    assert (problem["field"], problem["value"]) == ("topic", "other")
    assert "[clusters.shop]" in problem["hint"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (RECORDS, b"", 400, "malformed_request"),
        (RECORDS, b"{", 400, "malformed_request"),
        (RECORDS, b'{"values": 1}', 422, "invalid_request"),
        (f"{TABLE}/streams/none/records", b'{"value": "a"}', 404, "stream_not_found"),
        ("/v1/tables/shop/none/streams/s/records", b'{"value": "a"}', 404, "table_not_found"),
    ],
)
def test_other_requests_are_problems(
    client: HttpClient, path: str, body: bytes, status: int, code: str
) -> None:
    answer = client.post(path, content=body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_json_lines_are_accepted_and_forms_are_not(client: HttpClient, topic: MemoryTopic) -> None:
    lines = b'{"key": "a", "value": {"id": 7, "region": "eu", "order_version": 1}}\n' * 2

    def sent_as(media_type: str) -> int:
        headers = {"content-type": media_type}
        return client.post(RECORDS, content=lines, headers=headers).status_code

    assert sent_as("application/x-ndjson") == 200
    assert sent_as("text/plain") == 415
    assert len(topic.records) == 2


def test_a_row_is_not_answered_before_its_record_is_taken_in(client: HttpClient) -> None:
    token = client.post(RECORDS, json={"value": SALE}).json()["read_after"]
    key = {"id": "7", "region": "eu", "read_after": token}

    row = client.get(f"{TABLE}/rows", params=key)
    status = client.get(f"{TABLE}/rows/status", params=key)
    many = client.post(
        f"{TABLE}/rows/lookup", json={"keys": [{"id": 7, "region": "eu"}], "read_after": token}
    )
    page = client.post(f"{TABLE}/rows/scan", json={"read_after": token})

    found = [(answer.status_code, answer.json()["code"]) for answer in (row, status, many, page)]
    assert found == [(409, "snapshot_not_reached")] * 4
    assert "sales" in row.json()["detail"]


def test_a_row_is_answered_once_the_stream_has_read_its_record(client: HttpClient) -> None:
    token = client.post(RECORDS, json={"value": SALE}).json()["read_after"]
    key = {"id": "7", "region": "eu", "read_after": token}
    components = client.app.state.components
    table = components.tables.get("shop.orders")
    table.committer().claim_stream("sales", topic="orders", topic_id="T", initial_offsets={0: 1})

    row = client.get(f"{TABLE}/rows", params=key)
    status = client.get(f"{TABLE}/rows/status", params=key)

    # The stream has taken the record in; no row says so here, as after a dead letter.
    assert (row.status_code, row.json()["code"]) == (404, "row_not_found")
    assert status.json()["groups"]["sales"]["state"] == "absent"


def test_other_texts_than_tokens_are_refused(client: HttpClient) -> None:
    key = {"id": "7", "region": "eu", "read_after": "x"}

    for path in (f"{TABLE}/rows", f"{TABLE}/rows/status"):
        refused = client.get(path, params=key)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "read_after"


def test_kafka_that_does_not_answer_is_a_problem_with_a_time_to_retry() -> None:
    client = service(KafkaRecordProducer(CLUSTERS))

    answer = client.post(RECORDS, json={"value": SALE})

    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    assert answer.headers["retry-after"] == "1"


def test_a_service_without_kafka_client_refuses_pushes() -> None:
    assert service(None).post(RECORDS, json={"value": SALE}).status_code == 422


def test_a_request_with_an_idempotency_key_has_its_effect_once(
    client: HttpClient, topic: MemoryTopic
) -> None:
    named = {"idempotency-key": "receipt 1"}

    answers = [client.post(RECORDS, json={"value": SALE}, headers=named) for _ in range(2)]
    other = client.post(RECORDS, json={"value": SALE | {"id": 8}}, headers=named)
    client.post(RECORDS, json={"value": SALE}, headers={"idempotency-key": "receipt 2"})

    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["records"][0]["offset"] == 0
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len(topic.records) == 2


def test_refusals_are_repeated_too(client: HttpClient, topic: MemoryTopic) -> None:
    named = {"idempotency-key": "receipt 3"}

    answers = [client.post(RECORDS, json={"value": "no JSON"}, headers=named) for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["records"][0]["outcome"] == "refused"
    assert answers[0].json()["read_after"] is None
    assert topic.records == []


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_an_idempotency_key_has_a_bounded_length(client: HttpClient, key: str) -> None:
    answer = client.post(RECORDS, json={"value": SALE}, headers={"idempotency-key": key})

    assert answer.status_code == 422


PAYMENT = json.dumps({"id": 7, "region": "eu", "paid": "1.00", "paid_at": 1}).encode()


def signature(body: bytes) -> dict[str, str]:
    digest = hmac.new(b"a secret", body, hashlib.sha256).hexdigest()
    return {"x-hub-signature-256": f"sha256={digest}"}


def test_a_signed_message_of_a_webhook_is_sent_as_it_is(
    client: HttpClient, topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAID_SECRET", "a secret")

    answer = client.post(f"{PAID}?body=message", content=PAYMENT, headers=signature(PAYMENT))

    assert answer.status_code == 200, answer.text
    assert [one.value for one in topic.records] == [PAYMENT]


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-hub-signature-256": "sha256="}, signature(b"other"), {"x-hub-signature-256": "\xff"}],
    ids=["none", "empty", "of another body", "not ascii"],
)
def test_a_push_without_the_right_signature_is_refused(
    client: HttpClient,
    topic: MemoryTopic,
    monkeypatch: pytest.MonkeyPatch,
    headers: dict[str, str],
) -> None:
    monkeypatch.setenv("PAID_SECRET", "a secret")
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}

    answer = client.post(f"{PAID}?body=message", content=PAYMENT, headers=encoded)

    assert (answer.status_code, answer.json()["code"]) == (403, "signature_refused")
    assert "x-hub-signature-256" in answer.json()["detail"]
    assert topic.records == []


def test_a_signed_topic_whose_secret_is_missing_accepts_nothing(
    client: HttpClient, topic: MemoryTopic
) -> None:
    answer = client.post(f"{PAID}?body=message", content=PAYMENT, headers=signature(PAYMENT))

    assert answer.status_code == 422
    assert "PAID_SECRET" in answer.text
    assert topic.records == []
