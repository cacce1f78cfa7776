"""The example of the guide on the audit log is what the service answers, and its table has every action."""

import json
import re
from pathlib import Path

from braid.lake import ManualClock, MemoryFileIO
from braid.schemas import AuditAction
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.registry.shop import ORDERS
from tests.unit.service.http_client import HttpClient

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "audit-log.md").read_text()


def test_the_example_is_what_the_service_answers() -> None:
    settings = ServiceSettings(warehouse="/w")
    shop = HttpClient(create_app(settings, file_io=MemoryFileIO(), clock=ManualClock()))
    shop.put("/v1/tables/shop/orders", json=ORDERS).raise_for_status()
    shop.put("/v1/tables/shop/orders/streams/sales", json={"topic": "orders"}).raise_for_status()
    requests = re.findall(r"```\n(GET|POST) (\S+)\n(?:x-request-id: (\S+)\n)?```", GUIDE)
    (posted, read) = requests
    shop.request(posted[0], posted[1], headers={"x-request-id": posted[2]}).raise_for_status()

    (entry,) = shop.request(*read[:2]).json()["entries"]

    (shown,) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
    assert {**entry, "id": shown["id"]} == shown
    assert len(entry["id"]) == len(shown["id"])


def test_every_action_is_explained() -> None:
    table = GUIDE.partition("## Actions")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {*AuditAction}
