"""Requests whose clients accept no media type that the answer can have."""

import pytest

from braid.service.guard.acceptable_types import AcceptableTypes
from tests.unit.service.guard.asgi import ask

ARROW = "application/vnd.apache.arrow.stream"
TABLE = "/v1/tables/shop/orders"


@pytest.mark.parametrize(
    ("path", "accept", "is_acceptable"),
    [
        (TABLE, "application/json", True),
        (TABLE, "*/*", True),
        (TABLE, "text/html, application/xhtml+xml, */*;q=0.8", True),
        (TABLE, "application/*;q=0.1", True),
        (TABLE, "APPLICATION/JSON", True),
        (TABLE, "text/html", False),
        (TABLE, ARROW, False),
        (TABLE, "application/json;q=0", False),
        (TABLE, "application/json;q=0, */*", False),
        (TABLE, "*/*;q=0", False),
        (TABLE, "application/json;q=much", False),
        (f"{TABLE}/rows", ARROW, True),
        (f"{TABLE}/rows/scan", f"application/json;q=0, {ARROW}", True),
        (f"{TABLE}/rows/status", ARROW, False),
        (f"{TABLE}/rows/events", "text/event-stream", True),
        (f"{TABLE}/rows/events", "application/json", False),
        ("/console/", "text/html", True),
        ("/metrics", "text/plain", True),
    ],
)
def test_an_answer_has_a_type_that_its_client_accepts(
    path: str, accept: str, is_acceptable: bool
) -> None:
    answer = ask(AcceptableTypes, path=path, headers={"accept": accept})

    assert answer.status_code == (200 if is_acceptable else 406)
    if not is_acceptable:
        problem = answer.json()
        assert (problem["code"], problem["errors"][0]["value"]) == ("not_acceptable", accept)
        assert "leave the header out" in problem["errors"][0]["hint"]


def test_what_has_no_choice_is_not_compared() -> None:
    assert ask(AcceptableTypes, "DELETE", TABLE, headers={"accept": "text/html"}).is_success
    assert ask(AcceptableTypes, path=TABLE, more_headers=[]).is_success
