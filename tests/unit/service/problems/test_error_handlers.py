"""Every error is answered as a problem document, the framework's own ones too."""

from typing import Any

import pytest

from braid.lake import CorruptData, ManualClock, MemoryFileIO, StorageUnavailable
from braid.schemas import ProblemDocument
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"


class BrokenFileIO(MemoryFileIO):
    """Storage that fails when it lists a directory."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.create_exclusive("/w/file", b"")  # the warehouse is there
        self._error = error

    def list(self, path: str) -> Any:
        raise self._error


def broken_client(error: Exception) -> HttpClient:
    return HttpClient(
        create_app(
            ServiceSettings(warehouse="/w"), file_io=BrokenFileIO(error), clock=ManualClock()
        )
    )


def test_a_long_path_is_not_repeated_whole(shop: HttpClient) -> None:
    answer = shop.get("/nowhere/" + "%22" * 5_000)

    assert answer.status_code == 404
    assert len(answer.content) < 3_000


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", "/nowhere", {}, 404, "not_found"),
        ("DELETE", "/v1/tables", {}, 405, "method_not_allowed"),
        ("PUT", TABLE, {"json": {}}, 422, "invalid_request"),
        ("PUT", TABLE, {"json": ORDERS | {"primary_key": ["x"]}}, 422, "invalid_request"),
        ("PUT", TABLE, {"json": ORDERS | {"buckets": 9}}, 409, "table_exists"),
        (
            "PUT",
            TABLE,
            {"json": ORDERS, "headers": {"if-match": '"x"'}},
            412,
            "precondition_failed",
        ),
        (
            "PUT",
            TABLE,
            {"content": "{", "headers": {"content-type": None}},
            415,
            "unsupported_media_type",
        ),
        ("PUT", TABLE, {"content": "{"}, 400, "malformed_request"),
        ("GET", "/v1/tables/shop/returns", {}, 404, "table_not_found"),
        ("GET", "/v1/tables/shop/returns/rows?id=1", {}, 404, "table_not_found"),
        ("GET", f"{TABLE}/streams/sales", {}, 404, "stream_not_found"),
        ("GET", f"{TABLE}/rows?id=1&region=eu", {}, 404, "row_not_found"),
        ("GET", f"{TABLE}/rows?id=one&region=eu", {}, 422, "invalid_request"),
        ("GET", "/v1/tables?page_size=many", {}, 422, "invalid_request"),
        ("GET", "/v1/tables?page_token=%21", {}, 422, "invalid_request"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_error_is_a_problem_of_the_closed_set(
    shop: HttpClient, method: str, path: str, options: dict[str, Any], status: int, code: str
) -> None:
    answer = shop.request(method, path, **options)
    problem = ProblemDocument.model_validate(answer.json())

    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem.status, problem.code) == (status, status, code)
    assert problem.instance == path.partition("?")[0]
    assert problem.type == f"/problems/{code}"


def test_the_request_id_is_returned_and_created_if_missing_or_unusable(
    shop: HttpClient,
) -> None:
    given = shop.get("/nowhere", headers={"x-request-id": "abc-1"})
    unusable = shop.get("/nowhere", headers={"x-request-id": "a b\tc"})
    fine = shop.get("/health")

    assert given.headers["x-request-id"] == given.json()["request_id"] == "abc-1"
    assert unusable.headers["x-request-id"] == unusable.json()["request_id"] != "a b\tc"
    assert fine.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/tables", "GET"),
        (TABLE, "GET, PUT, PATCH, DELETE"),
        (f"{TABLE}/streams/sales", "GET, PUT, PATCH, DELETE"),
        (f"{TABLE}/streams/sales/start", "POST"),
        ("/v1/openapi.json", "GET, HEAD"),
        ("/health", "GET"),
    ],
)
@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "TRACE", "HEAD"])
def test_a_method_that_is_missing_names_all_there_are(
    shop: HttpClient, method: str, path: str, allowed: str
) -> None:
    answer = shop.request(method, path)

    if method in allowed.split(", "):
        assert answer.status_code != 405
        return
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    if method != "HEAD":
        assert answer.json()["errors"][0]["hint"] == f"use {allowed}"


def test_a_body_that_is_not_json_is_reported_with_line_and_column(shop: HttpClient) -> None:
    answer = shop.put(TABLE, content='{"columns": [],\n  "primary_key": [,]}')

    assert "at line 2, column 19" in answer.json()["detail"]


def test_the_problem_of_a_stream_that_is_not_stopped_has_a_hint(shop: HttpClient) -> None:
    shop.put(f"{TABLE}/streams/sales", json={"topic": "s"})

    answer = shop.delete(f"{TABLE}/streams/sales")

    assert answer.json()["code"] == "stream_not_stopped"
    assert "/stop" in answer.json()["errors"][0]["hint"]


def test_of_many_errors_the_first_are_listed_with_their_number(shop: HttpClient) -> None:
    columns = [{"name": f"c{number}", "type": "NONE"} for number in range(300)]

    answer = shop.put(TABLE, json=ORDERS | {"columns": columns}).json()

    assert len(answer["errors"]) == 100
    assert "the first 100 of 609 are listed" in answer["detail"]


def test_storage_that_does_not_answer_is_unavailable() -> None:
    answer = broken_client(StorageUnavailable("s3://inner/w: no route")).get(TABLE)

    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    assert "s3://inner" not in answer.text


@pytest.mark.parametrize(
    ("path", "error", "has_trace"),
    [
        (TABLE, StorageUnavailable("read-only\n  (EROFS)"), False),
        ("/ready", StorageUnavailable("read-only\n  (EROFS)"), False),
        (TABLE, CorruptData("read-only (EROFS)"), True),
    ],
)
def test_storage_that_fails_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture, path: str, error: Exception, has_trace: bool
) -> None:
    answer = broken_client(error).get(path)

    (record,) = [
        record
        for record in caplog.records
        if record.name == "braid.service.problems.error_handlers"
    ]
    assert (record.exc_info is not None) == has_trace
    message = record.getMessage()
    assert f"request_id={answer.headers['x-request-id']} error=" in message
    assert "(EROFS)" in message
    assert "\n" not in message


def test_a_warehouse_that_does_not_answer_is_not_ready_and_yet_alive() -> None:
    client = broken_client(StorageUnavailable("no route to storage"))

    ready = client.get("/ready")

    assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
    assert "no route to storage" not in ready.text
    assert "/w" not in ready.text
    assert client.get("/health").status_code == 200


def test_an_unexpected_error_is_answered_without_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # No hexadecimal digits: the answer names the request by some.
    answer = broken_client(RuntimeError("the secret is xyz")).get(TABLE)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "xyz" not in answer.text
    assert "secret" not in answer.text
    (record,) = [
        record for record in caplog.records if record.name == "braid.service.http.request_context"
    ]
    assert answer.headers["x-request-id"] in record.getMessage()
