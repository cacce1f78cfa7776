"""Export and import of declarations: pages, the order of the steps, the outcome for each, access, and the audit log."""

from typing import Any

import pytest

from braid.lake import MemoryFileIO
from braid.schemas.declaration_transfer import DECLARATIONS_MAX
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

EXPORT = "/v1/declarations"
IMPORT = "/v1/declarations:import"
VALIDATE = "/v1/declarations:validate"
COUNTS: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "n", "type": "BIGINT", "aggregate": {"function": "sum"}},
    ],
    "primary_key": ["id"],
    "merge_engine": "aggregation",
    "sequence_groups": [],
}


@pytest.fixture
def filled(client: HttpClient) -> HttpClient:
    """Two tables with streams in several states and forms."""
    client.put("/v1/tables/shop/orders", json=ORDERS | {"owner": "sales"}).raise_for_status()
    client.put("/v1/tables/lab/orders", json=ORDERS).raise_for_status()
    streams: dict[str, dict[str, Any]] = {
        "sales": {"topic": "orders", "partitioned_by_key": True, "labels": {"team": "a"}},
        "payments": {"topic": "payments", "trigger": {"type": "continuous"}},
        "shipping": {"topic": "parcels", "trigger_ms": 300, "starting_offsets": "latest"},
    }
    for name, definition in streams.items():
        client.put(f"/v1/tables/shop/orders/streams/{name}", json=definition).raise_for_status()
    client.post("/v1/tables/shop/orders/streams/payments/pause", json={}).raise_for_status()
    return client


@pytest.fixture
def empty() -> HttpClient:
    """A service of another, empty warehouse."""
    return HttpClient(create_app(ServiceSettings(warehouse="/v"), file_io=MemoryFileIO()))


def table(name: str = "shop.orders", **changes: Any) -> dict[str, Any]:
    return {"kind": "Table", "name": name, "spec": ORDERS | changes}


def stream(name: str, of: str = "shop.orders", **spec: Any) -> dict[str, Any]:
    return {"kind": "Stream", "table": of, "name": name, "spec": {"topic": name} | spec}


def sent(client: HttpClient, path: str, *declarations: Any, **fields: Any) -> Any:
    answer = client.post(path, json={"declarations": declarations, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def actions(answer: Any) -> dict[str, str]:
    """Action, or the code of the problem, by the name of the table or stream."""
    return {
        one["stream"] or one["table"]: one["problem"]["code"] if one["problem"] else one["action"]
        for one in answer["outcomes"]
    }


def exported(client: HttpClient, **parameters: Any) -> list[Any]:
    page = client.get(EXPORT, params=parameters).raise_for_status().json()
    assert page["unreadable"] == []
    found: list[Any] = page["declarations"]
    if page["next_page_token"] is None:
        return found
    return found + exported(client, **parameters | {"page_token": page["next_page_token"]})


def test_what_is_exported_and_imported_elsewhere_is_exported_there_alike(
    filled: HttpClient, empty: HttpClient
) -> None:
    declarations = exported(filled)

    answer = sent(empty, IMPORT, *declarations)

    assert (answer["failed"], len(answer["outcomes"])) == (0, 5)
    assert exported(empty) == declarations
    assert {one["name"]: one["initial_state"] for one in declarations if "table" in one} == {
        "sales": "RUNNING",
        "payments": "PAUSED",
        "shipping": "RUNNING",
    }
    again = sent(empty, IMPORT, *declarations)
    assert {one["action"] for one in again["outcomes"]} == {"leave"}


@pytest.mark.parametrize("page_size", [1, 2, 500])
def test_pages_have_each_declaration_once_and_tables_before_streams(
    filled: HttpClient, page_size: int
) -> None:
    names = [one["name"] for one in exported(filled, page_size=page_size)]

    assert names == ["lab.orders", "shop.orders", "payments", "sales", "shipping"]


def test_an_export_can_be_limited_to_tables(filled: HttpClient) -> None:
    assert [one["name"] for one in exported(filled, table="lab.*")] == ["lab.orders"]


def test_a_table_that_cannot_be_read_is_named_in_the_export(
    filled: HttpClient, file_io: MemoryFileIO
) -> None:
    file_io.create_exclusive("/w/_braid/tables/shop.orders/00000000000000000099.json", b"{}")

    page = filled.get(EXPORT).json()

    assert [one["name"] for one in page["declarations"]] == ["lab.orders"]
    (unreadable,) = page["unreadable"]
    assert unreadable["table"] == "shop.orders"
    assert "database" in unreadable["error"]


def test_streams_may_come_before_their_table(client: HttpClient) -> None:
    answer = sent(client, IMPORT, stream("sales"), table())

    assert [one["table"] for one in answer["outcomes"]] == ["shop.orders", "shop.orders"]
    assert actions(answer) == {"sales": "create", "shop.orders": "create"}


def test_a_dry_run_tells_the_effects_also_for_streams_of_new_tables(client: HttpClient) -> None:
    body = (
        table(),
        stream("sales"),
        stream("rival", sequence_group="sales"),
        stream("pay", "no.t"),
    )

    answer = sent(client, VALIDATE, *body)

    assert actions(answer) == {
        "shop.orders": "create",
        "sales": "create",
        "rival": "invalid_request",
        "pay": "table_not_found",
    }
    assert answer["failed"] == 2
    by_name = {one["stream"]: one for one in answer["outcomes"]}
    assert by_name[None]["plan"][0].startswith("creates the table `shop.orders`")
    assert by_name["sales"]["plan"][0].startswith("registers the stream `sales`")
    (problem,) = by_name["rival"]["problem"]["errors"]
    assert problem["pointer"] == "/declarations/2/spec/sequence_group"
    assert problem["field"] == "declarations[2].spec.sequence_group"
    assert client.get("/v1/tables").json()["tables"] == []
    # The import refuses the same for the same reasons.
    made = sent(client, IMPORT, *body)
    assert made == answer


def test_what_differs_stays_unless_it_is_to_be_replaced(filled: HttpClient) -> None:
    changed = (table(owner="finance"), stream("sales", topic="orders", labels={}))
    before = exported(filled)

    refused = sent(filled, IMPORT, *changed)

    assert actions(refused) == {"shop.orders": "table_exists", "sales": "stream_exists"}
    (problem,) = refused["outcomes"][0]["problem"]["errors"]
    assert problem["pointer"] == "/declarations/0/spec/owner"
    assert "replace" in problem["hint"]
    assert exported(filled) == before
    replaced = sent(filled, IMPORT, *changed, replace=True)
    assert actions(replaced) == {"shop.orders": "change", "sales": "change"}
    assert replaced["outcomes"][0]["plan"][0] == "sets the owner to `finance`"
    assert filled.get("/v1/tables/shop/orders").json()["spec"]["owner"] == "finance"


def test_what_no_registration_can_change_is_refused_as_there(filled: HttpClient) -> None:
    answer = sent(filled, IMPORT, table(buckets=7), replace=True)

    assert actions(answer) == {"shop.orders": "table_exists"}
    (problem,) = answer["outcomes"][0]["problem"]["errors"]
    assert "rescale" in problem["hint"]


def test_one_refused_declaration_does_not_keep_the_others_from_being_registered(
    client: HttpClient,
) -> None:
    wrong = table("shop.wrong", primary_key=["none"])

    answer = sent(client, IMPORT, wrong, stream("sales", "shop.wrong"), table(), stream("sales"))

    codes = [one["problem"] and one["problem"]["code"] for one in answer["outcomes"]]
    assert codes == ["invalid_request", "table_not_found", None, None]
    assert [one["name"] for one in exported(client)] == ["shop.orders", "sales"]


@pytest.mark.parametrize("address", [IMPORT, VALIDATE])
@pytest.mark.parametrize(
    ("document", "code"),
    [(b"{}", "corrupt_data"), (b'{"features": ["time-travel"]}', "features_missing")],
)
def test_a_table_whose_document_cannot_be_read_is_a_problem_of_its_declarations_alone(
    client: HttpClient, file_io: MemoryFileIO, address: str, document: bytes, code: str
) -> None:
    file_io.create_exclusive("/w/_braid/tables/shop.other/00000000000000000001.json", document)

    answer = sent(client, address, table("shop.other"), stream("sales", "shop.other"), table())

    codes = [one["problem"] and one["problem"]["code"] for one in answer["outcomes"]]
    assert codes == [code, code, None]
    assert [one["action"] for one in answer["outcomes"]] == ["change", "change", "create"]


def test_a_name_that_is_given_twice_is_refused(client: HttpClient) -> None:
    answer = sent(client, IMPORT, table(), table(owner="b"))

    codes = [one["problem"] and one["problem"]["code"] for one in answer["outcomes"]]
    assert codes == [None, "invalid_request"]
    assert client.get("/v1/tables/shop/orders").json()["spec"]["owner"] is None


def test_new_streams_can_be_registered_stopped(filled: HttpClient) -> None:
    declarations = [
        stream("sales", topic="orders", partitioned_by_key=True, labels={"team": "a"}),
        stream("sales", "lab.orders"),
    ]

    answer = sent(filled, IMPORT, *declarations, initial_state="STOPPED")

    assert [one["action"] for one in answer["outcomes"]] == ["leave", "create"]
    states = [
        filled.get(f"/v1/tables/{one}/orders/streams/sales").json()["desired_state"]
        for one in ("shop", "lab")
    ]
    assert states == ["RUNNING", "STOPPED"]


def test_each_registration_is_in_the_audit_log_and_a_dry_run_is_not(client: HttpClient) -> None:
    body = (table(), stream("sales"), table("shop.sums", **COUNTS))

    sent(client, VALIDATE, *body)
    sent(client, IMPORT, *body)
    sent(client, IMPORT, *body)

    entries = client.get("/v1/audit").json()["entries"]
    assert sorted((one["action"], one["table"], one["stream"]) for one in entries) == [
        ("put_stream", "shop.orders", "sales"),
        ("put_table", "shop.orders", None),
        ("put_table", "shop.sums", None),
    ]


def test_a_repeated_request_with_a_key_has_the_first_answer(client: HttpClient) -> None:
    body = {"declarations": [table(), stream("sales")]}
    key = {"idempotency-key": "restore"}

    first = client.post(IMPORT, json=body, headers=key)
    again = client.post(IMPORT, json=body, headers=key)

    assert actions(first.json()) == {"shop.orders": "create", "sales": "create"}
    assert again.content == first.content


def test_an_import_that_was_cut_off_is_completed_when_it_is_sent_again(
    client: HttpClient, file_io: MemoryFileIO
) -> None:
    key = {"idempotency-key": "restore"}
    body = {"declarations": [table(), stream("sales"), stream("payments")]}
    client.post(IMPORT, json={"declarations": body["declarations"][:2]}, headers=key)
    for one in file_io.list(
        "/w/_braid/requests"
    ):  # as if the process had been killed before the answer
        file_io.delete(one.path)

    answer = client.post(IMPORT, json=body, headers=key).json()

    assert actions(answer) == {"shop.orders": "leave", "sales": "leave", "payments": "create"}


def test_more_declarations_than_the_bound_are_refused(client: HttpClient) -> None:
    body = {"declarations": [stream("sales")] * (DECLARATIONS_MAX + 1)}

    answer = client.post(VALIDATE, json=body)

    assert (answer.status_code, answer.json()["code"]) == (413, "limit_exceeded")
    assert answer.json()["errors"][0]["pointer"] == "/declarations"


def test_a_document_of_another_kind_is_refused_with_its_place(client: HttpClient) -> None:
    answer = client.post(IMPORT, json={"declarations": [table(), {"kind": "View", "name": "v"}]})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/declarations/1")
    assert client.get("/v1/tables").json()["tables"] == []
