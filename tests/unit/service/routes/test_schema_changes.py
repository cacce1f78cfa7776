"""Changes of a table over HTTP."""

from itertools import pairwise
from typing import Any

import httpx
import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.faulty_file_io import FaultyFileIO
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"
CHANGES = f"{TABLE}/schema-changes"
ADD = {"change": "add_column", "column": "iban", "type": "STRING", "sequence_group": "payments"}


@pytest.fixture
def streams(shop: HttpClient) -> HttpClient:
    """The shop with two streams."""
    for name in ("sales", "payments"):
        shop.put(f"{TABLE}/streams/{name}", json={"topic": name}).raise_for_status()
    return shop


def change(client: HttpClient, *changes: dict[str, Any], **options: Any) -> httpx.Response:
    return client.post(CHANGES, json={"changes": changes}, **options)


def test_a_column_is_added_and_read_by_the_owner_of_its_group(
    streams: HttpClient, clock: ManualClock
) -> None:
    clock.advance(ms=60_000)

    answer = change(streams, ADD)

    assert answer.status_code == 200, answer.json()
    table = answer.json()
    assert (table["schema_id"], table["schema_since"]) == (1, "2023-11-14T22:14:20.000Z")
    assert {"name": "iban", "type": "STRING", "made_for": None} in table["columns"]
    read = streams.get(TABLE)
    assert read.json() == table
    assert read.headers["etag"] == answer.headers["etag"]
    stream = streams.get(f"{TABLE}/streams/payments").json()
    assert stream["version"] == 2
    added = stream["spec"]["columns"][-1]
    assert (added["column"], added["path"], added["source"]) == ("iban", None, "value")
    status = streams.get(f"{TABLE}/streams/payments/status").json()
    assert (status["version"], status["followed_version"]) == (2, None)


def test_a_new_version_of_the_stream_can_follow_the_new_column(streams: HttpClient) -> None:
    change(streams, ADD).raise_for_status()
    spec = streams.get(f"{TABLE}/streams/payments").json()["spec"]
    columns = [*spec["columns"][:-1], {"column": "iban", "path": "account.iban"}]

    answer = streams.put(f"{TABLE}/streams/payments", json=spec | {"columns": columns})

    assert answer.status_code == 200
    assert (answer.json()["version"], answer.json()["restart_generation"]) == (3, 0)


def test_the_dry_run_reports_the_problems_of_the_change(streams: HttpClient) -> None:
    drop = {"change": "drop_column", "column": "paid"}

    fine = streams.post(f"{CHANGES}/validate", json={"changes": [ADD]})
    bad = streams.post(f"{CHANGES}/validate", json={"changes": [ADD, drop]})
    made = change(streams, ADD, drop)

    assert fine.json() | {"plan": []} == {"valid": True, "errors": [], "plan": []}
    assert (bad.status_code, bad.json()["valid"]) == (200, False)
    assert made.status_code == 422
    assert made.json()["errors"] == bad.json()["errors"]
    (problem,) = made.json()["errors"]
    assert (problem["pointer"], problem["field"]) == ("/changes/1/column", "changes[1].column")
    assert problem["message"] == "the stream `payments` writes this column"
    assert "stop and delete the stream" in problem["hint"]
    assert streams.get(TABLE).json()["schema_id"] == 0


def test_a_schema_change_of_an_older_revision_is_refused(streams: HttpClient) -> None:
    etag = streams.get(TABLE).headers["etag"]

    assert change(streams, ADD, headers={"if-match": etag}).status_code == 200
    comment = {"change": "update_comment", "comment": "x"}
    assert change(streams, comment, headers={"if-match": etag}).status_code == 412


def test_a_request_with_a_key_is_applied_once(streams: HttpClient) -> None:
    key = {"idempotency-key": "release 7"}

    first, again = change(streams, ADD, headers=key), change(streams, ADD, headers=key)

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert change(streams, ADD).status_code == 422


def test_other_changes_under_a_key_are_refused(streams: HttpClient) -> None:
    key = {"idempotency-key": "release 7"}
    change(streams, ADD, headers=key).raise_for_status()

    other = change(streams, {**ADD, "column": "another"}, headers=key)

    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert other.json()["errors"][0]["field"] == "idempotency-key"
    assert "used by another request" in other.json()["errors"][0]["message"]
    columns = streams.get(TABLE).json()["spec"]["columns"]
    assert "another" not in [column["name"] for column in columns]


def test_the_changed_table_is_what_is_put_again(streams: HttpClient) -> None:
    before = streams.get(TABLE).json()["spec"]
    change(streams, ADD).raise_for_status()

    again = streams.put(TABLE, json=streams.get(TABLE).json()["spec"])
    old = streams.put(TABLE, json=before)

    assert again.status_code == 200
    assert old.status_code == 409
    assert {problem["pointer"] for problem in old.json()["errors"]} == {
        "/columns",
        "/sequence_groups",
    }
    assert all("schema-changes" in problem["hint"] for problem in old.json()["errors"])


def test_rows_are_served_under_their_new_names(streams: HttpClient, catalog: Catalog) -> None:
    row = {"id": [7], "region": ["eu"], "order_version": [1], "currency": ["EUR"]}
    catalog.table("shop.orders").write_and_commit(pa.table(row))
    change(streams, {"change": "rename_column", "column": "currency", "to": "unit"})

    served = streams.get(f"{TABLE}/rows?id=7&region=eu").json()

    assert served["row"]["unit"] == "EUR"
    assert "currency" not in served["row"]


@pytest.mark.parametrize(
    ("sent", "pointer", "message", "hint"),
    [
        ({"change": "nope"}, "/changes/0/change", "no such kind", "known: 'add_column'"),
        ({}, "/changes/0/change", "this field is missing", "add the field that names the kind"),
        (
            {"change": "drop_column"},
            "/changes/0/column",
            "this field is missing",
            "add the field",
        ),
        (
            {"change": "drop_column", "column": "x", "nope": 1},
            "/changes/0/nope",
            "unknown field",
            "known fields: `change`, `column`",
        ),
        (
            {"change": "add_column", "column": [], "type": "INT"},
            "/changes/0/column",
            "at least one entry",
            "",
        ),
    ],
)
def test_an_invalid_change_is_reported_with_its_location(
    shop: HttpClient, sent: dict[str, Any], pointer: str, message: str, hint: str
) -> None:
    answer = change(shop, sent)

    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert problem["pointer"] == pointer
    assert message in problem["message"]
    assert problem["hint"].startswith(hint)


def test_a_table_that_is_not_registered_has_no_changes(shop: HttpClient) -> None:
    answer = shop.post("/v1/tables/shop/nope/schema-changes", json={"changes": [ADD]})

    assert (answer.status_code, answer.json()["code"]) == (404, "table_not_found")


def test_the_history_lists_the_changes_of_each_schema(
    streams: HttpClient, clock: ManualClock
) -> None:
    clock.advance(ms=60_000)
    change(streams, ADD).raise_for_status()
    change(streams, {"change": "rename_column", "column": "iban", "to": "account"})

    newest, middle, first = streams.get(f"{TABLE}/schemas").json()["schemas"]

    assert (first["schema_id"], first["changes"]) == (0, [])
    assert (middle["schema_id"], middle["since"]) == (1, "2023-11-14T22:14:20.000Z")
    added, protected = middle["changes"]
    assert (added["change"], added["column"], added["type"]) == ("add_column", "iban", "STRING")
    assert added["position"] == {"place": "after", "neighbour": "shipped"}
    assert protected == {
        "change": "set_option",
        "key": "fields.payments__offset,payments__partition.sequence-group",
        "value": "paid,method,iban,payments__at,payments__op",
    }
    assert newest["changes"][0] == {"change": "rename_column", "column": "iban", "to": "account"}


def test_the_status_of_a_row_is_answered_whatever_changes_meanwhile(
    streams: HttpClient, file_io: MemoryFileIO, catalog: Catalog, clock: ManualClock
) -> None:
    row = {"id": [7], "region": ["eu"], "order_version": [1], "currency": ["EUR"]}
    catalog.table("shop.orders").write_and_commit(pa.table(row))
    watched = FaultyFileIO(file_io)
    settings = ServiceSettings(warehouse="/w")
    slow = Catalog("/w", file_io=watched, clock=clock)
    client = HttpClient(create_app(settings, catalog=slow, file_io=watched, clock=clock))
    ask = f"{TABLE}/rows/status?id=7&region=eu"
    client.get(ask).raise_for_status()
    first = len(watched.calls)
    client.get(ask).raise_for_status()
    count = len(watched.calls) - first
    names = ["order_version", *(f"version_{number}" for number in range(count))]

    for number, (old, new) in enumerate(pairwise(names)):
        at = len(watched.calls) + number
        rename = {"change": "rename_column", "column": old, "to": new}

        def before(
            call: int, _method: str, _path: str, *, at: int = at, rename: dict[str, Any] = rename
        ) -> None:
            if call == at:
                change(streams, rename).raise_for_status()

        watched.before = before
        answer = client.get(ask)

        assert answer.status_code == 200, (number, answer.json())
        ordering = answer.json()["groups"]["sales"]["ordering"]
        assert list(ordering.values()) == [1]
        assert set(ordering) <= {old, new}
