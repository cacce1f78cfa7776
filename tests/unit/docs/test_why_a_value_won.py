"""The records, requests and answers of the guide to explanations."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import ManualClock, Reason
from braid.schemas.explanation import KEPT
from tests.support.doc_examples import ROOT
from tests.support.fed_table import FedTable, Message
from tests.support.program import run_braid

_GUIDES = ROOT / "docs" / "guides"
GUIDE = (_GUIDES / "why-a-value-won.md").read_text(encoding="utf-8")
[DECLARATION] = re.findall(
    r"```json\n(\{\n  \"columns\".*?)```",
    (_GUIDES / "why-this-value.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
[CLUSTERS] = (
    text.replace("clusters.shop", "clusters.default").replace("shop.*", "*")
    for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
)
RECORDS = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| `(.*)` \|$", GUIDE, re.MULTILINE)


def blocks(name: str) -> list[Any]:
    return [json.loads(text) for text in re.findall(rf"```json {name}\n(.*?)```", GUIDE, re.DOTALL)]


@pytest.fixture
def bed() -> FedTable:
    """A table with the records of the page, a commit for each."""
    now = datetime(2026, 2, 2, 10, tzinfo=UTC)
    fed = FedTable(
        declaration=json.loads(DECLARATION),
        streams={
            "orders": {"topic": "orders"},
            "parcels": {"topic": "parcels", "partitioned_by_key": True},
        },
        clock=ManualClock(start_ms=int(now.timestamp()) * 1_000),
        clusters=parse_clusters(CLUSTERS, source="clusters.toml"),
    )
    for stream, partition, offset, record in RECORDS:
        message = Message(value=json.loads(record), partition=int(partition))
        assert fed.feed(stream, message) == [int(offset)]
    return fed


def test_the_explanation_is_that_of_the_page(bed: FedTable) -> None:
    [expected] = blocks("column")

    assert len(RECORDS) == 4
    assert bed.get("rows/explain?id=7")["columns"]["total"] == expected


def test_the_record_is_shown_as_on_the_page(bed: FedTable) -> None:
    [expected] = blocks("record")

    record = bed.get("rows/explain?id=7&raw=true")["records"][0]

    result = record.pop("result")
    assert record == expected
    assert (result["outcome"], result["row"]["total"]) == ("row", "13.00")


def test_the_page_has_all_reasons() -> None:
    listed = re.findall(r"^\| `([\w: -]+)` \|", GUIDE, re.MULTILINE)

    assert sorted(listed) == sorted([*Reason, KEPT])


@pytest.mark.parametrize(("request_name", "number"), [("what-if", 0), ("without", 1)])
def test_the_changes_are_those_of_the_page(bed: FedTable, request_name: str, number: int) -> None:
    [body] = blocks(request_name)

    changed = bed.suppose(**body)["changed"]

    assert {name: change for name, change in changed.items() if "__" not in name} == (
        blocks("changed")[number]
    )


def test_the_certificate_is_verified_as_on_the_page(bed: FedTable, tmp_path: Path) -> None:
    equal, different = re.findall(r"```text \w+\n(.*?)```", GUIDE, re.DOTALL)
    certificate = bed.get("rows/certificate?id=7")
    path = tmp_path / "row.json"

    path.write_text(json.dumps(certificate))
    assert run_braid("explain", "verify", str(path)).stdout == equal

    certificate["row"]["total"] = "99.00"
    path.write_text(json.dumps(certificate))
    done = run_braid("explain", "verify", str(path))
    assert (done.stdout, done.returncode) == (different, 1)
