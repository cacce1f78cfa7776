"""Operations may name partitions, which have values of columns: clients with masked columns do not see those of the table."""

import pytest

from braid.registry.store.operations import OperationStore
from braid.schemas import CompactionRequest, OperationDocument
from braid.schemas.access import AccessScope, Grant
from tests.unit.registry.shop import ORDERS
from tests.unit.service.access.guarded import Guarded, grant_of

OF_ORDERS = "shop.orders.0123456789abcdef0123"
OF_RETURNS = "shop.returns.0123456789abcdef0123"


@pytest.fixture(scope="module")
def guarded() -> Guarded:
    """A service with an operation of each of two tables."""
    guarded = Guarded()
    admin = guarded.token("admin", "admin:*")
    store = OperationStore(guarded.file_io, "/w", guarded.clock)
    for operation in (OF_ORDERS, OF_RETURNS):
        database, table, _ = operation.split(".")
        path = f"/v1/tables/{database}/{table}"
        guarded.request("PUT", path, admin, json=ORDERS).raise_for_status()
        document = OperationDocument(
            id=operation,
            database=database,
            table=table,
            request=CompactionRequest(partitions=("region=eu",)),
            created_ms=guarded.clock.now_ms(),
        )
        store.create(document, announce=lambda: None)
    return guarded


@pytest.fixture(scope="module")
def masked(guarded: Guarded) -> str:
    """The token of a client that may do what it likes, but for one column of one table."""
    masked = Grant(scope=AccessScope.READ, tables=("shop.orders",), masked_columns=("total",))
    return guarded.token_with("masked", masked, grant_of("operate:shop.returns"))


def test_the_list_leaves_out_operations_of_tables_with_masked_columns(
    guarded: Guarded, masked: str
) -> None:
    everything = guarded.token("reader", "read:*")

    shown = guarded.request("GET", "/v1/operations", masked).json()["operations"]
    of_table = guarded.request("GET", "/v1/operations?table=shop.orders", masked).json()
    all_of_them = guarded.request("GET", "/v1/operations", everything).json()["operations"]

    assert [one["id"] for one in shown] == [OF_RETURNS]
    assert of_table["operations"] == []
    assert {one["id"] for one in all_of_them} == {OF_ORDERS, OF_RETURNS}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/operations/{id}"),
        ("POST", "/v1/operations/{id}:cancel"),
        ("DELETE", "/v1/operations/{id}"),
    ],
)
def test_such_an_operation_is_not_there_for_the_client(
    guarded: Guarded, masked: str, method: str, path: str
) -> None:
    answer = guarded.request(method, path.format(id=OF_ORDERS), masked)

    assert (answer.status_code, answer.json()["code"]) == (404, "operation_not_found")
    assert "region" not in answer.text
    assert guarded.request("GET", f"/v1/operations/{OF_RETURNS}", masked).status_code == 200


def test_streams_of_such_a_table_are_in_no_selection(guarded: Guarded) -> None:
    admin = guarded.token("other-admin", "admin:*")
    stream = "/v1/tables/shop/orders/streams/sales"
    guarded.request("PUT", stream, admin, json={"topic": "sales"}).raise_for_status()
    hidden = guarded.token_with(
        "both",
        Grant(scope=AccessScope.READ, tables=("shop.orders",), masked_columns=("total",)),
        grant_of("operate:crm.*"),
    )

    answer = guarded.request("POST", "/v1/streams:stop", hidden, json={"tables": ["*"]})

    assert answer.json()["streams"] == []
    assert guarded.request("GET", stream, admin).json()["desired_state"] == "RUNNING"
