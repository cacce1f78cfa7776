"""A client that has an answer already is told so, and gets no second one."""

from collections.abc import Mapping
from functools import partial

import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from braid.service.http.conditional_reads import BYTES_MAX, ConditionalReads
from tests.unit.service.http_client import HttpClient

STREAMS = "/v1/tables/shop/orders/streams"
READS = [
    "/v1/tables",
    "/v1/tables/shop/orders",
    "/v1/tables/shop/orders/schemas",
    "/v1/tables/shop/orders/consumers",
    "/v1/tables/shop/orders/maintenance",
    "/v1/tables/shop/orders/inspect/schemas",
    STREAMS,
    f"{STREAMS}/sales",
    f"{STREAMS}/sales/status",
    f"{STREAMS}/sales/offsets",
    f"{STREAMS}/sales/dead-letters?limit=0",
    "/v1/openapi.json",
]


@pytest.fixture
def sales(shop: HttpClient) -> HttpClient:
    shop.put(f"{STREAMS}/sales", json={"topic": "orders"}).raise_for_status()
    return shop


@pytest.mark.parametrize("path", READS)
def test_an_answer_that_the_client_has_is_not_sent_again(sales: HttpClient, path: str) -> None:
    first = sales.get(path)
    etag = first.headers["etag"]

    again = sales.get(path, headers={"if-none-match": f'"other", {etag}'})
    other = sales.get(path, headers={"if-none-match": '"other"'})

    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert "content-length" not in again.headers
    assert "content-type" not in again.headers
    assert again.headers["x-request-id"]
    assert (other.status_code, other.content, other.headers["etag"]) == (200, first.content, etag)


def test_a_change_is_sent(sales: HttpClient) -> None:
    etags = {path: sales.get(path).headers["etag"] for path in (STREAMS, f"{STREAMS}/sales")}

    sales.post(f"{STREAMS}/sales/pause").raise_for_status()

    for path, etag in etags.items():
        assert sales.get(path, headers={"if-none-match": etag}).status_code == 200


def test_a_problem_has_no_tag(sales: HttpClient) -> None:
    answer = sales.get("/v1/tables/shop/none", headers={"if-none-match": "*"})

    assert (answer.status_code, "etag" in answer.headers) == (404, False)


def test_a_header_that_is_no_list_of_tags_is_ignored(sales: HttpClient) -> None:
    etag = sales.get(STREAMS).headers["etag"]

    for header in (etag.strip('W/"'), f"{etag} x", '"', ""):
        assert sales.get(STREAMS, headers={"if-none-match": header}).status_code == 200


async def _answered(answer: Response, _: Request) -> Response:
    return answer


class _Framework(HttpClient):
    """An app with answers of several forms, inside of the layer alone."""

    def __init__(self, answers: Mapping[str, Response]) -> None:
        app = FastAPI()
        for path, answer in answers.items():
            app.add_route(path, partial(_answered, answer))
        super().__init__(app)
        app.add_middleware(ConditionalReads)


def test_long_answers_and_those_in_parts_have_no_tag_of_their_own() -> None:
    client = _Framework(
        {
            "/long": Response(b"1" * (BYTES_MAX + 1), media_type="application/json"),
            "/parts": StreamingResponse(iter([b"[1", b"]"]), media_type="application/json"),
            "/text": Response(b"x", media_type="text/plain"),
            "/tagged": Response(
                b"1" * (BYTES_MAX + 1), media_type="application/json", headers={"etag": '"a"'}
            ),
        }
    )

    assert [client.get(path).status_code for path in ("/long", "/parts", "/text")] == [200] * 3
    assert all("etag" not in client.get(path).headers for path in ("/long", "/text"))
    assert client.get("/tagged", headers={"if-none-match": 'W/"a"'}).status_code == 304
