"""Raw records of an explanation, with topics in memory."""

import base64
import logging
from typing import Any

import pytest

from braid.formats.clusters.clusters_file import parse_clusters
from braid.lake import StorageUnavailable
from braid.records.topic_records import TopicRecord
from braid.service.control.raw_records import BYTES_MAX, RECORDS_MAX
from tests.support.fed_table import TABLE, FedTable, Message

DECLARATION: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "INT"},
        {"name": "note", "type": "STRING"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total", "note"], "keep": ["note"]},
        {"name": "parcels", "columns": ["carrier"]},
    ],
}
STREAMS: dict[str, dict[str, Any]] = {
    "sales": {"topic": "shop.sales", "sequence_group": "sales"},
    "parcels": {"topic": "parcels", "sequence_group": "parcels", "partitioned_by_key": True},
}
CLUSTERS = """
[clusters.default]
bootstrap_servers = "kafka:9092"
show_records = ["shop.*"]
"""


@pytest.fixture
def bed() -> FedTable:
    clusters = parse_clusters(CLUSTERS, source="clusters.toml")
    found = FedTable(declaration=DECLARATION, streams=STREAMS, clusters=clusters)
    found.feed("sales", sale(2, total=12, note="gift"))
    found.feed("sales", sale(1, total=99))
    found.clock.advance(ms=60_000)
    found.feed("sales", sale(3, total=13))
    return found


def sale(version: int, **values: Any) -> Message:
    return Message(value={"id": 7, "version": version, **values}, partition=1, key=b"k")


def raw(bed: FedTable, state: str = "") -> list[dict[str, Any]]:
    found = bed.get(f"rows/explain?id=7&raw=true{state}")["records"]
    assert isinstance(found, list)
    return found


def states(records: list[dict[str, Any]]) -> dict[int, str]:
    return {one["arrival"]["offset"]: one["state"] for one in records}


def test_the_records_of_a_row_are_shown_as_their_topic_has_them(bed: FedTable) -> None:
    winner, kept, late = raw(bed)
    text = '{"id":7,"version":3,"total":13}'

    assert [one["arrival"]["offset"] for one in (winner, kept, late)] == [2, 0, 1]
    assert winner == {
        "group": "sales",
        "stream": "sales",
        "topic": "shop.sales",
        "arrival": {"generation": 0, "partition": 1, "offset": 2},
        "state": "present",
        "message": None,
        "timestamp": "2023-11-14T22:14:20.000Z",
        "key": {"size_bytes": 1, "text": "k", "base64": None},
        "value": {"size_bytes": len(text), "text": text, "base64": None},
        "headers": [],
        "result": winner["result"],
    }
    assert winner["result"]["outcome"] == "row"
    assert winner["result"]["row"]["total"] == 13
    assert late["result"]["row"]["total"] == 99


def test_records_are_shown_on_request_alone(bed: FedTable) -> None:
    assert bed.get("rows/explain?id=7")["records"] is None
    assert bed.get("rows/explain?id=7&raw=false")["records"] is None
    assert bed.topics.wanted == []


def test_a_row_without_versions_has_no_records(bed: FedTable) -> None:
    assert bed.get("rows/explain?id=8&raw=true")["records"] == []


def test_a_parameter_that_is_no_truth_value_is_refused(bed: FedTable) -> None:
    answer = bed.client.get(f"{TABLE}/rows/explain?id=7&raw=1")

    assert answer.status_code == 422
    [problem] = answer.json()["errors"]
    assert (problem["field"], problem["value"]) == ("raw", "1")
    certificate = bed.client.get(f"{TABLE}/rows/certificate?id=7&raw=true")
    assert certificate.status_code == 422


def test_a_record_that_has_expired_is_unknown(bed: FedTable) -> None:
    del bed.topics.records["shop.sales"][1, 0]

    records = raw(bed)

    assert states(records) == {2: "present", 0: "unknown: expired", 1: "present"}
    assert records[1]["value"] is None
    assert records[1]["message"] == "the topic does not have the record any more"


def test_records_of_topics_are_shown_only_if_operators_allow_it(bed: FedTable) -> None:
    bed.feed("parcels", Message(value={"id": 7, "carrier": "ACME"}))

    found = {one["topic"]: one for one in raw(bed)}

    assert found["shop.sales"]["state"] == "present"
    assert found["parcels"]["state"] == "unknown: not allowed"
    assert "`show_records`" in found["parcels"]["message"]
    [wanted] = bed.topics.wanted
    assert [one.stream.name for one in wanted] == ["sales"]


def test_a_cluster_that_does_not_answer_is_told_and_logged(
    bed: FedTable, caplog: pytest.LogCaptureFixture
) -> None:
    bed.topics.errors["shop.sales"] = StorageUnavailable("kafka kafka:9092: password refused")

    with caplog.at_level(logging.WARNING):
        records = raw(bed)

    assert set(states(records).values()) == {"unknown: unavailable"}
    assert "password" not in str(records)
    assert "password refused" in caplog.text


def test_records_of_a_stream_that_was_deleted_are_in_no_known_topic(bed: FedTable) -> None:
    bed.client.post(f"{TABLE}/streams/sales/stop").raise_for_status()
    bed.client.delete(f"{TABLE}/streams/sales").raise_for_status()

    assert set(states(raw(bed)).values()) == {"unknown: unavailable"}
    assert bed.topics.wanted == []


def test_bytes_that_are_no_text_are_base64_and_long_ones_are_left_out(bed: FedTable) -> None:
    there = bed.topics.records["shop.sales"]
    there[1, 2] = TopicRecord(
        key=b"\xff",
        value=b"x" * (BYTES_MAX + 1),
        headers=(("trace", b"\xfe"), ("trace", None), ("who", "é".encode())),
        timestamp_ms=1,
    )
    there[1, 0] = TopicRecord(key=None, value=None, headers=(), timestamp_ms=1)

    winner, tombstone, _ = raw(bed)

    assert winner["key"] == {
        "size_bytes": 1,
        "text": None,
        "base64": base64.b64encode(b"\xff").decode(),
    }
    assert winner["value"] == {"size_bytes": BYTES_MAX + 1, "text": None, "base64": None}
    assert [(one["name"], one["value"] and one["value"]["text"]) for one in winner["headers"]] == [
        ("trace", None),
        ("trace", None),
        ("who", "é"),
    ]
    assert winner["result"]["outcome"] == "dead_letter"
    assert (tombstone["state"], tombstone["value"]) == ("present", None)


def test_a_bounded_number_of_records_is_read_those_that_give_values_first(bed: FedTable) -> None:
    for _ in range(RECORDS_MAX):
        bed.feed("sales", sale(1, total=1))

    records = raw(bed)

    assert len(records) == RECORDS_MAX
    assert [one["arrival"]["offset"] for one in records[:3]] == [2, 0, RECORDS_MAX + 2]


def test_an_older_state_has_the_records_of_its_versions(bed: FedTable) -> None:
    newest = bed.table.latest_snapshot()
    assert newest is not None

    records = raw(bed, f"&snapshot_id={newest.id - 1}")

    assert states(records) == {0: "present", 1: "present"}
