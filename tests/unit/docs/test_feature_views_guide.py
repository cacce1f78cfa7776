"""The table, the records and the answers of the guide to feature views."""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO, stored_offset
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT
from tests.unit.service.http_client import HttpClient

GUIDE = (ROOT / "docs" / "guides" / "feature-views.md").read_text(encoding="utf-8")
DECLARATION, ANSWER, KEYS = map(json.loads, re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
REQUESTS = re.findall(r"`GET (/v1/\S+)`", GUIDE)
(LOOKUP,) = re.findall(r"`POST (/v1/\S+)`", GUIDE)
TABLE = "/v1/tables/shop/orders"
NOW = datetime(2026, 2, 2, 11, 30, tzinfo=UTC)
ORDER = {"total": Decimal("12.50"), "city": "Oslo", "version": 2}


def written(
    catalog: Catalog, stream: str, *, minutes: int, place: tuple[int, int], **row: Any
) -> None:
    """Commit a record that is some minutes old."""
    row |= {
        f"{stream}__partition": place[0],
        f"{stream}__offset": stored_offset(0, place[1]),
        f"{stream}__at": datetime.fromtimestamp(NOW.timestamp() - 60 * minutes, UTC),
        f"{stream}__op": "upsert",
    }
    table = catalog.table("shop.orders")
    fields = [field for field in table.schema.arrow_schema if field.name in row]
    table.write_and_commit(pa.Table.from_pylist([row], schema=pa.schema(fields)))


@pytest.fixture
def client() -> HttpClient:
    file_io, clock = MemoryFileIO(), ManualClock(start_ms=int(NOW.timestamp()) * 1_000)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    served = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    served.put(TABLE, json=DECLARATION).raise_for_status()
    for stream in ("orders", "parcels"):
        topic = {"topic": stream, "partitioned_by_key": True}
        served.put(f"{TABLE}/streams/{stream}", json=topic).raise_for_status()
    written(catalog, "orders", minutes=90, place=(0, 40), id=7, **ORDER)
    written(catalog, "orders", minutes=2, place=(0, 41), id=8, **ORDER)
    written(catalog, "parcels", minutes=1, place=(1, 8), id=7, carrier="ACME")
    return served


def test_the_view_answers_as_the_page_says(client: HttpClient) -> None:
    assert client.get(REQUESTS[0]).json() == ANSWER


def test_an_incomplete_row_is_answered_as_the_page_says(client: HttpClient) -> None:
    answer = client.get(REQUESTS[1]).json()

    said = dict(re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \|$", GUIDE, re.MULTILINE))
    assert {name: json.loads(value) for name, value in said.items()} == {
        "row": answer["row"],
        "complete": answer["complete"],
        "groups.parcels.state": answer["groups"]["parcels"]["state"],
    }


def test_several_rows_are_answered_in_the_order_of_the_keys(client: HttpClient) -> None:
    found = client.post(LOOKUP, json=KEYS).json()["rows"]

    assert found[0].keys() == {"row", "complete", "stale", "groups"}
    assert (found[0]["row"], found[1]) == (None, None)


def test_every_field_of_a_view_is_on_the_page(client: HttpClient) -> None:
    fields = client.get("/v1/openapi.json").json()["components"]["schemas"]["ViewSpec"][
        "properties"
    ]
    (table,) = re.findall(r"^\| field of a view .*?\n\n", GUIDE, re.DOTALL | re.MULTILINE)

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(fields)
