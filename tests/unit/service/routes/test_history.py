"""The history of a table over HTTP."""

from braid.lake import Catalog, ManualClock
from tests.unit.service.http_client import HttpClient
from tests.unit.service.routes.test_completeness import counted
from tests.unit.service.routes.test_row_pages import given_orders

HISTORY = "/v1/tables/shop/orders/history"


def test_completeness_is_recorded_when_rows_were_counted_lately(
    client: HttpClient, catalog: Catalog, clock: ManualClock
) -> None:
    given_orders(client, catalog)
    recorder = client.app.state.components.history
    recorder.record()
    counted(client)
    recorder.record()
    clock.advance(ms=60_001)
    recorder.record()

    found = client.get(HISTORY).json()

    assert len(found["times"]) == 3
    assert found["series"] == [
        {"name": "completeness", "stream": None, "unit": "ratio", "values": [None, 0.75, None]}
    ]
    assert len(client.get(f"{HISTORY}?minutes=1").json()["times"]) == 1


def test_a_table_that_is_not_there_has_no_history(client: HttpClient) -> None:
    assert client.get(HISTORY).json()["code"] == "table_not_found"


def test_the_number_of_minutes_is_bounded(shop: HttpClient) -> None:
    answer = shop.get(f"{HISTORY}?minutes=241")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "minutes")
