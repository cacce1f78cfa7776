"""The records and responses of the guide to the origin of a value, written and requested."""

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

GUIDE = (ROOT / "docs" / "guides" / "why-this-value.md").read_text(encoding="utf-8")
DECLARATION, ROW, STATUS = map(json.loads, re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
RECORDS = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| ([\d:]+) \| `(.*)` \|$", GUIDE, re.MULTILINE)
REQUESTS = re.findall(r"`GET (/v1/\S+)`", GUIDE)
TABLE = "/v1/tables/shop/orders"


def moment(time: str) -> datetime:
    return datetime.fromisoformat(f"2026-02-02T{time}").replace(tzinfo=UTC)


@pytest.fixture
def client() -> HttpClient:
    """A service whose table has the records of the page, a commit for each."""
    file_io = MemoryFileIO()
    clock = ManualClock(start_ms=int(moment("10:00:10").timestamp()) * 1_000)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    served = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    served.put(TABLE, json=DECLARATION).raise_for_status()
    for stream in ("orders", "parcels"):
        topic = {"topic": stream, "partitioned_by_key": True}
        served.put(f"{TABLE}/streams/{stream}", json=topic).raise_for_status()
    for stream, partition, offset, time, record in RECORDS:
        values: dict[str, Any] = json.loads(record)
        if "total" in values:
            values["total"] = Decimal(values["total"])
        values |= {
            f"{stream}__offset": stored_offset(0, int(offset)),
            f"{stream}__partition": int(partition),
            f"{stream}__at": moment(time),
            f"{stream}__op": "upsert",
        }
        schema = catalog.table("shop.orders").schema.arrow_schema
        fields = [field for field in schema if field.name in values]
        rows = pa.Table.from_pylist([values], schema=pa.schema(fields))
        catalog.table("shop.orders").write_and_commit(rows)
    return served


def test_the_row_is_that_of_the_page(client: HttpClient) -> None:
    row = client.get(REQUESTS[0]).json()["row"]

    assert len(RECORDS) == 3
    assert {name: row[name] for name in ROW} == ROW
    assert [name for name in row if "__" not in name] == list(ROW)


def test_the_status_is_that_of_the_page(client: HttpClient) -> None:
    assert client.get(REQUESTS[1]).json() == STATUS


def test_an_earlier_state_has_the_record_of_then(client: HttpClient) -> None:
    row = client.get(REQUESTS[2]).json()["row"]

    assert (row["orders__offset"], row["parcels__offset"]) == (40, None)
