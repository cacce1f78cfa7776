"""The trial of sample records in the guide to mapping has the answer that it shows."""

import json
import re
from pathlib import Path

from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.unit.records.given_streams import given_spec
from tests.unit.service.http_client import HttpClient

GUIDE = Path("docs/guides/mapping.md").read_text(encoding="utf-8")
TRIALS = re.findall(r"```json trial\n(.*?)```\n\n```json answer\n(.*?)```", GUIDE, re.DOTALL)


def test_samples_become_what_the_guide_shows() -> None:
    file_io, clock = MemoryFileIO(), ManualClock()
    catalog = Catalog("/w", file_io=file_io, clock=clock)
    settings = ServiceSettings(warehouse="/w")
    client = HttpClient(create_app(settings, catalog=catalog, file_io=file_io, clock=clock))
    table = given_spec({"id": "BIGINT", "at": "TIMESTAMP(3)"}, ordering=None).model_dump(
        mode="json"
    )
    client.put("/v1/tables/shop/prices", json=table).raise_for_status()

    assert len(TRIALS) == GUIDE.count("```json trial") == 1
    for trial, answer in TRIALS:
        body = json.loads(trial) | {"sequence_group": "s"}
        found = client.post("/v1/tables/shop/prices/streams/prices/validate", json=body)
        assert {**found.json(), "plan": []} == {**json.loads(answer), "plan": []}
