"""The requests and the answers of the guide to pushes, and its file of clusters."""

import json
import re
from datetime import UTC, datetime

from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.schemas.record_outcome import RecordOutcome
from braid.service.app import create_app
from braid.service.control.read_after import PushedPlace, ReadAfter, key_digest, to_token
from braid.service.control.record_outcomes import COMPACTED, FOLDED, LETTERS, MICRO_BATCH
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT, doc_examples
from tests.support.fed_table import FedTable, Message
from tests.unit.service.http_client import HttpClient
from tests.unit.service.memory_topic import MemoryTopic

GUIDE = ROOT / "docs" / "guides" / "push-records.md"
TEXT = GUIDE.read_text(encoding="utf-8")
TABLE = "/v1/tables/shop/orders"
DECLARATION = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DOUBLE"},
        {"name": "version", "type": "INT"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [{"name": "sales", "ordering": ["version"], "columns": ["total"]}],
}


def test_the_answer_of_the_page_is_that_of_its_request() -> None:
    file, signed = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    clusters = parse_clusters(file, source="clusters.toml")
    signature = parse_clusters(signed, source="clusters.toml").by_name["shop"].signatures[0]
    assert signature.is_for("shop.payments")
    clock = ManualClock()
    file_io = MemoryFileIO(clock=clock)
    app = create_app(
        ServiceSettings(warehouse="/w", clusters=clusters),
        catalog=Catalog("/w", file_io=file_io, clock=clock),
        file_io=file_io,
        clock=clock,
        producer=MemoryTopic(),
    )
    client = HttpClient(app)
    client.put(TABLE, json=DECLARATION).raise_for_status()
    stream = {"topic": "shop.orders", "kafka": {"cluster": "shop"}}
    client.put(f"{TABLE}/streams/sales", json=stream).raise_for_status()
    [request] = doc_examples(GUIDE, "request")
    [expected] = doc_examples(GUIDE, "answer")
    [path] = re.findall(r"`POST (\S+/records)` answers", TEXT)

    answer = client.post(path, content=request.text.encode())

    assert answer.json() == json.loads(expected.text)


def test_the_outcome_is_that_of_the_page() -> None:
    now = datetime(2026, 2, 2, 10, tzinfo=UTC)
    bed = FedTable(
        declaration=DECLARATION,
        streams={"sales": {"topic": "shop.orders"}},
        clock=ManualClock(start_ms=int(now.timestamp()) * 1_000),
    )
    for version in (2, 1):
        bed.feed("sales", Message(value={"id": 7, "total": 12.5, "version": version}))
    after = ReadAfter(
        table="shop.orders",
        stream="sales",
        topic_id="shop.orders",
        records={PushedPlace(0, 1): key_digest(bed.table.schema, {"id": 7})},
    )
    [expected] = re.findall(r"```json outcome\n(.*?)```", TEXT, re.DOTALL)

    answer = bed.get(f"rows/outcomes?id=7&read_after={to_token(after)}")

    assert answer["records"] == [json.loads(expected)]


def test_the_page_has_all_outcomes_and_reasons_of_its_own() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [a-z]", TEXT, re.MULTILINE)

    assert sorted(listed) == sorted(RecordOutcome)
    assert all(f"`{reason}`" in TEXT for reason in (FOLDED, COMPACTED, LETTERS, MICRO_BATCH))
