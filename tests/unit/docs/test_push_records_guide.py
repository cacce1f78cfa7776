"""The request and the answer of the guide to pushes, and its file of clusters."""

import json
import re

from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import Catalog, ManualClock, MemoryFileIO
from braid.service.app import create_app
from braid.service.settings import ServiceSettings
from tests.support.doc_examples import ROOT, doc_examples
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
    assert f"read_after={answer.json()['read_after']}" in TEXT
