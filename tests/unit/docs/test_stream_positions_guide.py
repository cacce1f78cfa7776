"""The example of the guide on positions gives the answer that the guide shows."""

import json
import re
from pathlib import Path

from braid.lake import Catalog, ManualClock, MemoryFileIO, StreamBatch
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "stream-positions.md"
SALES = "/v1/tables/shop/orders/streams/sales"


def test_the_example_is_what_the_service_answers() -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    client = HttpClient(
        create_app(ServiceSettings(warehouse="/w"), catalog=catalog, file_io=file_io, clock=clock)
    )
    client.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    client.put(SALES, json={"topic": "orders"}).raise_for_status()
    client.post(f"{SALES}/stop").raise_for_status()
    committer = catalog.table("shop.orders").committer()
    start, end = {0: 0, 1: 0}, {0: 100, 1: 50}
    committer.claim_stream("sales", topic="orders", topic_id="t", initial_offsets=start)
    committer.commit_stream_batch(
        [],
        StreamBatch(
            stream="sales", epoch=1, batch_id=0, topic="orders", topic_id="t", start=start, end=end
        ),
    )

    blocks = re.findall(r"```json\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    request, shown = (json.loads(block) for block in blocks)
    validated = client.post(f"{SALES}/offsets/validate", json=request)
    changed = client.put(f"{SALES}/offsets", json=request)

    assert validated.json() == shown
    assert changed.json()["partitions"] == shown["partitions"]
    assert changed.json()["offsets"] == {"0": 40, "1": 57}
