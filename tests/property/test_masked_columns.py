"""Clients with masked columns: what they read does not depend on the values of these columns, whatever they ask for.

Two warehouses have the same history, made by the same clock and the same random bytes, and differ in the values of the masked columns
alone. Every request of the table below gets the same answer from both, byte by byte.
"""

import os
import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import httpx
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from braid.registry.store.progress import ProgressStore
from braid.schemas import RunnerProgress, TableProgress
from braid.schemas.access import AccessScope, Grant
from braid.service.access.route_scopes import SCOPES
from tests.support.waiting import wait_until
from tests.unit.service.access.guarded import Guarded, bearer

TABLE = "/v1/tables/{database}/{table}"
STREAM = f"{TABLE}/streams/{{stream}}"
NAMES = {
    "database": "crm",
    "table": "people",
    "stream": "contacts",
    "verb": "stop",
    "consumer": "c",
    "snapshot": "1",
    "tag": "t",
    "view": "card",
    "index": "by_city",
    "name": "snapshots",
}
MASKED = ("email", "score")
ARROW = {"accept": "application/vnd.apache.arrow.stream"}
SPEC: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "city", "type": "STRING"},
        {"name": "email", "type": "STRING"},
        {"name": "plan", "type": "STRING"},
        {"name": "score", "type": "INT"},
    ],
    "primary_key": ["id"],
    "buckets": 1,
    "sequence_groups": [
        {"name": "contacts", "columns": ["city", "email"]},
        {"name": "ratings", "columns": ["plan", "score"]},
    ],
    "lookup_indexes": [
        {"name": "by_city", "columns": ["city"]},
        {"name": "by_email", "columns": ["email"]},
    ],
    "views": [
        {"name": "card", "columns": [{"column": "city"}, {"column": "email", "name": "mail"}]}
    ],
}
READS: Mapping[tuple[str, str], list[tuple[str, Any]]] = {
    ("GET", TABLE): [("", None)],
    ("GET", f"{TABLE}/schemas"): [("", None)],
    ("GET", STREAM): [("", None)],
    ("GET", f"{TABLE}/consumers"): [("", None)],
    ("GET", f"{TABLE}/completeness"): [("", None)],
    ("GET", f"{TABLE}/rows"): [
        ("?id=1", None),
        ("?id=1", ARROW),
        ("?id=99", None),
        ("?id=1&columns=plan,id", None),
        ("?id=1&columns=email", None),
        ("?id=1&snapshot_id=1", None),
        ("?id=1&integers=text", None),
    ],
    ("GET", f"{TABLE}/rows/status"): [("?id=1", None), ("?id=99", None)],
    ("POST", f"{TABLE}/rows/lookup"): [
        ("", {"keys": [{"id": 1}, {"id": 99}, {"id": 2}]}),
        ("", {"keys": [{"id": 1}], "columns": ["score"]}),
        ("", {"keys": [{"id": 2}], "snapshot_id": 1}),
    ],
    ("POST", f"{TABLE}/rows/scan"): [
        ("", {}),
        ("", {"limit": 1}),
        ("", {"columns": ["email"]}),
        ("", {"status": {"groups": {"contacts": ["present"]}}}),
        ("", {"status": {"complete": False}}),
    ],
    ("GET", f"{TABLE}/views/{{view}}/rows"): [
        ("?id=1", None),
        ("?id=1&columns=mail", None),
        ("?id=1&columns=city", None),
    ],
    ("POST", f"{TABLE}/views/{{view}}/lookup"): [("", {"keys": [{"id": 1}, {"id": 99}]})],
    ("GET", f"{TABLE}/indexes/{{index}}/rows"): [
        ("?city=Ulm", None),
        ("?city=Ulm&page_size=1", None),
        ("?city=Ulm&columns=score", None),
    ],
    ("GET", f"{TABLE}/changes"): [
        ("?after_snapshot_id=0", None),
        ("?after_snapshot_id=0&columns=id,email", None),
        ("?after_snapshot_id=0&page_size=1", None),
    ],
}
"""By route the requests that are compared: query, and body or headers. `test_every_route_is_checked` keeps it whole."""

WITHOUT_END = {("GET", f"{TABLE}/rows/events"), ("POST", f"{TABLE}/rows/events")}
"""Answers without end, of which `test_row_events_are_the_same` compares the beginning."""

Row = tuple[str | None, int | None]
Seen = tuple[int, list[tuple[str, str]], bytes]
Asked = tuple[str, list[Seen]]
values = st.lists(
    st.tuples(st.none() | st.text(max_size=5), st.none() | st.integers(-9, 9)),
    min_size=4,
    max_size=4,
)


@contextmanager
def same_randomness() -> Iterator[None]:
    """Make unique ids from fixed seeds, so that two histories have the same ones.

    The thread that writes the rows has a seed of its own: threads of the service take ids whenever they work.
    """
    writer, service = random.Random(1), random.Random(2)
    writing = threading.get_ident()

    def urandom(size: int) -> bytes:
        return (writer if threading.get_ident() == writing else service).randbytes(size)

    with patch.object(os, "urandom", urandom):
        yield


class Crm:
    """A service with a table of two snapshots, and a client with masked columns."""

    def __init__(self, masked: list[Row]) -> None:
        self.guarded = Guarded()
        self.all = self.guarded.token("all", "admin:*")
        mask = Grant(scope=AccessScope.READ, tables=("crm.*",), masked_columns=MASKED)
        self.token = self.guarded.token_with("masked", mask)
        self.send("PUT", TABLE, SPEC)
        self.send("PUT", STREAM, {"topic": "contacts"})
        table = self.guarded.catalog.table("crm.people")
        for first in (0, 2):
            emails, scores = zip(*masked[first : first + 2], strict=True)
            ids = [1, 2] if first else [1, 3]
            columns = {
                "id": pa.array(ids, pa.int64()),
                "city": pa.array(["Ulm", "Ulm"]),
                "email": pa.array(emails, pa.string()),
                "plan": pa.array([f"plan {first}"] * 2),
                "score": pa.array(scores, pa.int32()),
            }
            for group in ("contacts", "ratings"):
                columns[f"{group}__partition"] = pa.array([0, 0], pa.int32())
                columns[f"{group}__offset"] = pa.array([first, first + 1], pa.int64())
            table.write_and_commit(pa.table(columns))
        self.guarded.clock.advance(ms=1_000)

    def send(self, method: str, path: str, body: Any) -> None:
        answer = self.ask(method, path, body, token=self.all)
        assert answer.is_success, answer.text

    def ask(
        self, method: str, path: str, given: Any = None, *, query: str = "", token: str = ""
    ) -> httpx.Response:
        headers = {**bearer(token or self.token), "x-request-id": "one"}
        options: dict[str, Any] = {}
        if method == "GET":
            headers |= given or {}
        else:
            options["json"] = given
        address = path.format(**NAMES) + query
        return self.guarded.client.request(method, address, headers=headers, **options)

    def pages(self, method: str, path: str, given: Any, query: str) -> list[httpx.Response]:
        """Return an answer, and those of its next pages."""
        answers = [self.ask(method, path, given, query=query)]
        while (
            answers[-1].headers["content-type"] == "application/json"
            and (token := answers[-1].json().get("next_page_token")) is not None
        ):
            if method == "GET":
                answers.append(self.ask(method, path, query=f"{query}&page_token={token}"))
            else:
                answers.append(self.ask(method, path, {"page_token": token, "limit": 1}))
            assert len(answers) < 20
        return answers


def warehouse(masked: list[Row]) -> Crm:
    with same_randomness():
        return Crm(masked)


def seen(answer: httpx.Response) -> Seen:
    return answer.status_code, sorted(answer.headers.multi_items()), answer.content


def asked(crm: Crm) -> Iterator[Asked]:
    """Yield every request, and its answers."""
    with same_randomness():
        for (method, path), requests in READS.items():
            for query, given_ in requests:
                if path.endswith("/completeness"):
                    wait_until(lambda: crm.ask("GET", f"{TABLE}/completeness").status_code == 200)
                answers = crm.pages(method, path, given_, query)
                yield f"{method} {path}{query} {given_}", list(map(seen, answers))


@pytest.fixture(scope="module")
def known() -> list[Asked]:
    """Every request with its answers, for one choice of masked values."""
    warehouse([("a@b", 1), ("c@d", 2)] * 2)  # some ids are made once in a process
    return list(asked(warehouse([("a@b", 1), ("c@d", 2)] * 2)))


# Not shrunk: each example is two hundred requests, and the request that differs says what is wrong.
@settings(
    max_examples=5,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(masked=values)
def test_answers_do_not_depend_on_masked_values(known: list[Asked], masked: list[Row]) -> None:
    for (request, expected), (_, found) in zip(known, asked(warehouse(masked)), strict=True):
        assert found == expected, request


def test_the_comparison_finds_a_difference() -> None:
    """A client without a mask has different answers, so those above are not equal by accident."""
    one, other = (warehouse([(text, 1)] * 4) for text in ("a", "b"))
    query = {"query": "?id=1"}

    answers = [crm.ask("GET", f"{TABLE}/rows", token=crm.all, **query) for crm in (one, other)]

    assert seen(answers[0]) != seen(answers[1])
    assert [answer.json()["row"]["email"] for answer in answers] == ["a", "b"]


def test_every_route_is_checked() -> None:
    leaving_out = {
        route
        for route, needed in SCOPES.items()
        if needed is not None and needed.may_be_masked and needed.leaves_out_masked
    }

    assert {*READS} | WITHOUT_END == leaving_out


@pytest.fixture(scope="module")
def crm() -> Crm:
    return Crm([("secret-one", 7_001), ("secret-two", 7_002)] * 2)


OTHERS = sorted(
    route
    for route, needed in SCOPES.items()
    if needed is not None and needed.may_be_masked and not needed.leaves_out_masked
)


@pytest.mark.parametrize(("method", "path"), OTHERS, ids=lambda part: part)
def test_answers_with_all_columns_are_refused(crm: Crm, method: str, path: str) -> None:
    refused = crm.ask(method, path, {} if method == "POST" else None, query="?id=1")
    allowed = crm.ask(method, path, {} if method == "POST" else None, query="?id=1", token=crm.all)

    assert (refused.status_code, refused.json()["code"]) == (403, "column_masked")
    assert allowed.status_code != 403


def test_no_answer_has_a_masked_value(crm: Crm) -> None:
    for request, answers in asked(crm):
        for status, _, body in answers:
            assert b"secret" not in body, request
            assert b"700" not in body, request
            assert status in (200, 403, 404), request


@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", f"{TABLE}/rows", "?id=1&columns=email", None),
        ("POST", f"{TABLE}/rows/lookup", "", {"keys": [{"id": 1}], "columns": ["id", "score"]}),
        ("POST", f"{TABLE}/rows/scan", "", {"columns": ["email"]}),
        ("GET", f"{TABLE}/views/{{view}}/rows", "?id=1&columns=mail", None),
        ("GET", f"{TABLE}/changes", "?after_snapshot_id=0&columns=email", None),
        ("GET", f"{TABLE}/rows/events", "?id=1&columns=email", None),
        ("POST", f"{TABLE}/rows/events", "", {"columns": ["email"]}),
        ("GET", "/v1/tables/crm/people/indexes/by_email/rows", "?email=secret-one", None),
    ],
)
def test_a_masked_column_cannot_be_asked_for(
    crm: Crm, method: str, path: str, query: str, body: Any
) -> None:
    refused = crm.ask(method, path, body, query=query)

    assert (refused.status_code, refused.json()["code"]) == (403, "column_masked")


def test_tokens_and_tags_of_a_client_that_sees_more_are_of_no_use(crm: Crm) -> None:
    scan = crm.ask("POST", f"{TABLE}/rows/scan", {"limit": 1}, token=crm.all).json()
    changes = crm.ask(
        "GET", f"{TABLE}/changes", query="?after_snapshot_id=0&page_size=1", token=crm.all
    ).json()
    row = crm.ask("GET", f"{TABLE}/rows", query="?id=1", token=crm.all)
    tag = {"if-none-match": row.headers["etag"]}

    of_scan = crm.ask("POST", f"{TABLE}/rows/scan", {"page_token": scan["next_page_token"]})
    of_changes = crm.ask(
        "GET", f"{TABLE}/changes", query=f"?page_token={changes['next_page_token']}"
    )

    assert [one.json()["code"] for one in (of_scan, of_changes)] == ["column_masked"] * 2
    assert crm.ask("GET", f"{TABLE}/rows", tag, query="?id=1").status_code == 200
    assert crm.ask("GET", f"{TABLE}/rows", tag, query="?id=1", token=crm.all).status_code == 304


def test_another_grant_for_the_table_shows_the_columns(crm: Crm) -> None:
    mask = Grant(scope=AccessScope.READ, tables=("crm.*",), masked_columns=MASKED)
    half = Grant(scope=AccessScope.READ, tables=("crm.people",), masked_columns=("score",))
    token = crm.guarded.token_with("half", mask, half)

    row = crm.ask("GET", f"{TABLE}/rows", query="?id=1", token=token).json()["row"]

    assert row["email"] == "secret-one"
    assert "score" not in row


def test_a_list_of_streams_has_none_of_tables_with_masked_columns(crm: Crm) -> None:
    seen_by = {
        token: crm.ask("GET", "/v1/streams", query="?expand=status", token=token).json()["streams"]
        for token in (crm.token, crm.all)
    }

    assert [len(streams) for streams in seen_by.values()] == [0, 1]


def test_a_list_of_tables_has_no_failure_of_the_maintenance_of_those_with_masked_columns(
    crm: Crm,
) -> None:
    failing = TableProgress(error="cannot compact secret-one")
    now_ms = crm.guarded.clock.now_ms()
    ProgressStore(crm.guarded.file_io, "/w", crm.guarded.clock).write(
        RunnerProgress(
            runner="r", started_ms=now_ms, updated_ms=now_ms, tables={"crm.people": failing}
        )
    )
    crm.guarded.clock.advance(ms=2_000)  # so that the reports are read again

    masked, all_ = (
        crm.ask("GET", "/v1/tables", query="?expand=status", token=token)
        for token in (crm.token, crm.all)
    )

    assert "secret-one" in all_.text
    assert "secret-one" not in masked.text
    (table,) = masked.json()["tables"]
    assert table["status"]["states"] == {"UNASSIGNED": 1}


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/tables", "/v1/streams", "/v1/runners", "/v1/operations"]
)
def test_masked_columns_of_every_table_leave_what_is_of_no_table(crm: Crm, path: str) -> None:
    everywhere = Grant(scope=AccessScope.READ, tables=("*",), masked_columns=MASKED)
    token = crm.guarded.token_with(f"everywhere{path.replace('/', '_')}", everywhere)

    assert crm.ask("GET", path, token=token).status_code == 200
    assert crm.ask("GET", "/v1/nothing", token=token).json()["code"] == "not_found"
