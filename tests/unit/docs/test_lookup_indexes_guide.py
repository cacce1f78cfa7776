"""The declaration and the answer of the guide to lookup indexes."""

import json
import re
from datetime import UTC, datetime

import pyarrow as pa

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.registry.rules.tables.lookup_index_rules import CHOOSING_FUNCTIONS
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT
from tests.unit.service.http_client import HttpClient

GUIDE = (ROOT / "docs" / "guides" / "lookup-indexes.md").read_text(encoding="utf-8")
DECLARATION, ANSWER = map(json.loads, re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
[REQUEST] = re.findall(r"`GET (/v1/\S+)`", GUIDE)
START_MS = int(datetime(2026, 2, 2, 10, tzinfo=UTC).timestamp()) * 1_000


def test_the_answer_is_that_of_the_page() -> None:
    file_io, clock = MemoryFileIO(), ManualClock(start_ms=START_MS)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    client = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/parcels", json=DECLARATION).raise_for_status()
    table = catalog.table("shop.parcels")
    first = {"id": [1, 2, 3], "order_id": [70, 70, 71], "carrier": ["DHL", "DHL", "UPS"]}
    table.write_and_commit(pa.table(first))
    table.write_and_commit(pa.table({"id": [2], "order_id": [71], "carrier": ["DHL"]}))

    answer = client.get(REQUEST).json()
    answer["rows"].sort(key=lambda row: row["id"])

    assert answer == ANSWER
    older = client.get(REQUEST.replace("71", "70")).json()
    assert [row["id"] for row in older["rows"]] == [1]


def test_the_functions_of_the_page_are_those_that_can_be_indexed() -> None:
    listed = re.search(r"chooses the value of a record: (.*?)\.", GUIDE)
    assert listed is not None

    assert set(re.findall(r"`(\w+)`", listed.group(1))) == CHOOSING_FUNCTIONS
