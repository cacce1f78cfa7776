"""Tables over HTTP."""

from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

TABLE = "/v1/tables/shop/orders"


def test_a_table_is_created_once_and_found_after_that(client: HttpClient) -> None:
    first = client.put(TABLE, json=ORDERS)
    second = client.put(TABLE, json=ORDERS)
    read = client.get(TABLE)

    assert (first.status_code, second.status_code, read.status_code) == (201, 200, 200)
    assert first.json() == second.json() == read.json()
    assert first.headers["etag"] == read.headers["etag"]


def test_a_table_shows_the_columns_that_were_made_for_its_groups(shop: HttpClient) -> None:
    columns = shop.get(TABLE).json()["columns"]

    assert columns[0] == {"name": "id", "type": "BIGINT NOT NULL", "made_for": None}
    assert {"name": "payments__offset", "type": "BIGINT", "made_for": "payments"} in columns


def test_what_was_read_can_be_put_again(shop: HttpClient) -> None:
    spec = shop.get(TABLE).json()["spec"]

    assert shop.put(TABLE, json=spec).status_code == 200


def test_another_declaration_is_told_what_differs(shop: HttpClient) -> None:
    answer = shop.put(TABLE, json=ORDERS | {"buckets": 8})

    assert answer.status_code == 409
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["value"]) == ("/buckets", "8")


def test_preconditions_are_kept(shop: HttpClient) -> None:
    etag = shop.get(TABLE).headers["etag"]

    assert shop.put(TABLE, json=ORDERS, headers={"if-match": etag}).status_code == 200
    assert shop.put(TABLE, json=ORDERS, headers={"if-match": "*"}).status_code == 200
    assert shop.put(TABLE, json=ORDERS, headers={"if-match": '"old"'}).status_code == 412
    assert shop.put(TABLE, json=ORDERS, headers={"if-none-match": "*"}).status_code == 412


def test_validation_says_what_put_would_and_creates_nothing(client: HttpClient) -> None:
    fine = client.post(f"{TABLE}/validate", json=ORDERS)
    bad = client.post(f"{TABLE}/validate", json=ORDERS | {"primary_key": ["nope"]})

    assert (fine.status_code, fine.json()) == (200, {"valid": True, "errors": []})
    assert bad.json()["valid"] is False
    assert bad.json()["errors"][0]["pointer"] == "/primary_key/0"
    assert client.get(TABLE).status_code == 404


def test_tables_are_listed_page_by_page(client: HttpClient) -> None:
    for name in ("c", "a", "b"):
        client.put(f"/v1/tables/shop/{name}", json=ORDERS)

    first = client.get("/v1/tables?page_size=2").json()
    second = client.get(f"/v1/tables?page_size=2&page_token={first['next_page_token']}").json()

    assert [table["name"] for table in first["tables"]] == ["a", "b"]
    assert second == {"tables": [{"database": "shop", "name": "c"}], "next_page_token": None}
