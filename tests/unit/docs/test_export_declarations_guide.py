"""The requests of the guide on exports and imports give the answers that the guide shows."""

from pathlib import Path

from braid.lake import ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.http_examples import check_http_examples
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "export-declarations.md").read_text()
SALES = "/v1/tables/shop/orders/streams/sales"


def test_the_requests_have_the_answers_that_are_shown() -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    client = HttpClient(create_app(ServiceSettings(warehouse="/w"), file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    client.put(SALES, json={"topic": "orders"}).raise_for_status()
    client.post(f"{SALES}/pause", json={}).raise_for_status()

    check_http_examples(GUIDE, client, {})
