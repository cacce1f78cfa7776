"""The guide on long work: its request has the result that it shows, and its table has every kind."""

import json
import re
from pathlib import Path
from typing import get_args

import pyarrow as pa

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.schemas import OperationRequest, OperationState
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.service.http_client import HttpClient

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "long-work.md").read_text()
SPEC = {
    "columns": [{"name": "id", "type": "BIGINT"}, {"name": "value", "type": "STRING"}],
    "primary_key": ["id"],
    "merge_engine": "deduplicate",
    "buckets": 1,
}


def test_the_request_has_the_result_that_is_shown() -> None:
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    client = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    client.put("/v1/tables/shop/orders", json=SPEC).raise_for_status()
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "value": ["a", "b"]})
    for _ in range(3):
        catalog.table("shop.orders").write_and_commit(rows)
    (request,) = re.findall(r"```\nPOST (\S+)\nidempotency-key: (.*)\n\n(\{.*\})\n```", GUIDE)
    path, key, body = request

    accepted = client.post(path, json=json.loads(body), headers={"idempotency-key": key})
    client.app.state.components.operation_pool.run_due()
    ended = client.get(accepted.headers["location"]).json()

    (shown,) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
    assert accepted.status_code == 202
    assert {name: ended[name] for name in shown} == shown
    assert re.search(r"GET /v1/operations/shop\.orders\.[0-9a-f]{20}\n", GUIDE)


def test_every_kind_and_every_state_is_named() -> None:
    kinds = get_args(get_args(OperationRequest)[0])
    table = GUIDE.partition("## Kinds")[2].partition("\n## ")[0]

    assert len(re.findall(r"^\| `(?:POST|DELETE) ", table, re.MULTILINE)) == len(kinds) == 6
    for kind in kinds:
        for field in set(kind.model_fields) - {"kind", "tag"}:
            assert f"`{field}`" in table, (kind, field)
    assert all(f"`{state.value}`" in GUIDE for state in OperationState)
