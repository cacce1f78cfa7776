"""The requests of the guide to rows over HTTP, and their answers."""

import contextlib
import io
import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT, doc_examples
from tests.unit.service.http_client import HttpClient

GUIDE = ROOT / "docs" / "guides" / "rows-over-http.md"
TABLE = "/v1/tables/shop/orders"
NOW_MS = int(datetime(2026, 2, 2, 12, tzinfo=UTC).timestamp()) * 1_000
ROWS = re.findall(
    r"^\| (\w\w) \| (\d+) \| ([\d.]+) \| ([\d.]*) ?\| ([\d:]+) \|$",
    GUIDE.read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.fixture
def client() -> HttpClient:
    """A service whose table has the rows of the page, a commit for each stream's part."""
    file_io, clock = MemoryFileIO(), ManualClock(start_ms=NOW_MS)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    app = create_app(ServiceSettings(warehouse="/w"), catalog=catalog, file_io=file_io, clock=clock)
    served = HttpClient(app)
    (declaration,) = doc_examples(GUIDE, "table")
    served.put(TABLE, json=json.loads(declaration.text)).raise_for_status()
    served.put(f"{TABLE}/streams/sales", json={"topic": "sales"}).raise_for_status()
    for country, number, total, paid, written in ROWS:
        at = datetime.fromisoformat(f"2026-02-02T{written}").replace(tzinfo=UTC)
        key: dict[str, Any] = {"country": country, "id": int(number)}
        write(catalog, {**key, "total": Decimal(total), **arrival("sales", at)})
        if paid:
            write(catalog, {**key, "paid": Decimal(paid), **arrival("payments", at)})
    return served


def arrival(group: str, at: datetime) -> dict[str, Any]:
    return {
        f"{group}__offset": 1,
        f"{group}__partition": 0,
        f"{group}__at": at,
        f"{group}__op": "upsert",
    }


def write(catalog: Catalog, values: dict[str, Any]) -> None:
    schema = catalog.table("shop.orders").schema.arrow_schema
    fields = [field for field in schema if field.name in values]
    rows = pa.Table.from_pylist([values], schema=pa.schema(fields))
    catalog.table("shop.orders").write_and_commit(rows)


def same(expected: Any, found: Any) -> bool:
    """Return whether an answer is that of the page, where `…` stands for any text."""
    if expected == "…":
        return isinstance(found, str)
    if isinstance(expected, dict):
        return expected.keys() == found.keys() and all(
            same(value, found[name]) for name, value in expected.items()
        )
    return bool(expected == found)


def test_every_request_has_the_answer_of_the_page(client: HttpClient) -> None:
    token = None
    requests = doc_examples(GUIDE, "request")
    for request in requests:
        line, _, text = request.text.partition("\n")
        method, path = line.split()
        body = json.loads(text) if text.strip() else None
        if body is not None and body.get("page_token") == "…":
            body["page_token"] = token

        options = {} if body is None else {"json": body}
        while True:
            answer = client.request(method, path, **options)
            # The page shows the answer after the count has ended.
            if answer.status_code != 202:
                break

        (expected,) = re.findall(r"\A\n```json\n(.*?)```", request.after, re.DOTALL)
        assert same(json.loads(expected), answer.json()), answer.text
        token = answer.json().get("next_page_token")
    assert len(ROWS) == 4
    assert len(requests) == 6


def test_the_arrow_example_prints_the_output_of_the_page(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = doc_examples(GUIDE, "arrow")
    monkeypatch.setattr(httpx, "post", client.post)
    output = io.StringIO()

    with contextlib.redirect_stdout(output):
        exec(compile(example.text, str(GUIDE), "exec"), {"API": ""})  # our own documentation

    assert output.getvalue() == example.printed
