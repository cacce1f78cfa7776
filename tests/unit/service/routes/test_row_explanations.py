"""Explanations of rows over HTTP, and rows as they would be."""

from typing import Any

import pytest

from tests.support.fed_table import TABLE, FedTable, Message

DECLARATION: dict[str, Any] = {
    "columns": [
        {"name": "id", "type": "BIGINT"},
        {"name": "total", "type": "DECIMAL(10, 2)"},
        {"name": "note", "type": "STRING"},
        {"name": "version", "type": "INT"},
        {"name": "carrier", "type": "STRING"},
        {"name": "visits", "type": "BIGINT", "aggregate": {"function": "sum"}},
        {"name": "seen", "type": "INT"},
    ],
    "primary_key": ["id"],
    "sequence_groups": [
        {"name": "sales", "ordering": ["version"], "columns": ["total", "note"], "keep": ["note"]},
        {"name": "parcels", "columns": ["carrier"], "deletes": "clear_columns"},
        {"name": "clicks", "ordering": ["seen"], "columns": ["visits"]},
    ],
    "unordered": "allowed",
}
STREAMS: dict[str, dict[str, Any]] = {
    "sales": {"topic": "sales", "sequence_group": "sales"},
    "parcels": {
        "topic": "parcels",
        "sequence_group": "parcels",
        "partitioned_by_key": True,
    },
    "clicks": {"topic": "clicks", "sequence_group": "clicks"},
}
SCHEMA_NAMES = ("total", "note", "carrier", "visits")


@pytest.fixture
def bed() -> FedTable:
    return FedTable(declaration=DECLARATION, streams=STREAMS)


def sale(version: int, **values: Any) -> Message:
    return Message(value={"id": 7, "version": version, **values}, partition=1)


def click(visits: int, seen: int = 1) -> Message:
    return Message(value={"id": 7, "visits": visits, "seen": seen})


def given_history(bed: FedTable) -> None:
    bed.feed("sales", sale(2, total="12.50", note="gift"))
    bed.feed("sales", sale(1, total="99.00", note="late"))
    bed.feed("parcels", Message(value={"id": 7, "carrier": "ACME"}))
    bed.feed("clicks", click(3))
    bed.clock.advance(ms=60_000)
    bed.feed("sales", sale(3, total="13.00"))
    bed.feed("clicks", click(4))


def reasons(origin: dict[str, Any]) -> dict[int, str]:
    """Return the reasons of a column by version, the winner's included."""
    found = {other["version"]: other["reason"] for other in origin["others"]}
    if origin["winner"] is not None:
        found[origin["winner"]["version"]] = origin["reason"]
    return dict(sorted(found.items()))


def test_the_winner_of_a_column_is_a_record_of_a_topic(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.get("rows/explain?id=7")

    assert answer["columns"]["total"]["winner"] == {
        "version": 4,
        "stream": "sales",
        "topic": "sales",
        "arrival": {"generation": 0, "partition": 1, "offset": 2},
        "ordering": {"version": 3},
        "arrived_at": "2023-11-14T22:14:20.000Z",
    }
    assert answer["columns"]["total"]["value"] == "13.00"
    assert reasons(answer["columns"]["total"]) == {
        0: "newer-sequence",
        1: "late",
        2: "null-skipped",
        3: "null-skipped",
        4: "newer-sequence",
        5: "null-skipped",
    }


def test_a_kept_column_has_the_record_that_gave_it(bed: FedTable) -> None:
    given_history(bed)

    note = bed.get("rows/explain?id=7")["columns"]["note"]

    assert (note["value"], note["winner"]["arrival"]["offset"]) == ("gift", 0)
    assert reasons(note)[4] == "kept"
    assert "note__order" not in bed.get("rows/explain?id=7")["columns"]


def test_an_aggregated_column_has_no_winner(bed: FedTable) -> None:
    given_history(bed)

    visits = bed.get("rows/explain?id=7")["columns"]["visits"]

    assert (visits["value"], visits["winner"], visits["reason"]) == (7, None, "aggregated")
    assert [version for version, why in reasons(visits).items() if why == "aggregated"] == [3, 5]


def test_versions_name_their_stream_snapshot_and_records(bed: FedTable) -> None:
    given_history(bed)

    versions = bed.get("rows/explain?id=7")["versions"]

    assert [one["version"] for one in versions] == [5, 4, 3, 2, 1, 0]
    assert [one["stream"] for one in versions] == [
        "clicks", "sales", "clicks", "parcels", "sales", "sales",
    ]  # fmt: skip
    assert versions[3] == {
        "version": 2,
        "stream": "parcels",
        "snapshot_id": 6,
        "commit_time": "2023-11-14T22:13:20.000Z",
        "compacted": False,
        "kind": "+I",
        "sequence_number": versions[3]["sequence_number"],
        "file": versions[3]["file"],
        "level": 0,
        "groups": {
            "parcels": {
                "stream": "parcels",
                "topic": "parcels",
                "arrival": {"generation": 0, "partition": 0, "offset": 0},
                "ordering": {"parcels__offset": 0, "parcels__partition": 0},
                "arrived_at": "2023-11-14T22:13:20.000Z",
            }
        },
        "values": {
            "carrier": "ACME",
            "parcels__partition": 0,
            "parcels__offset": 0,
            "parcels__at": "2023-11-14T22:13:20.000Z",
            "parcels__op": "upsert",
        },
    }


def test_what_a_compaction_has_merged_is_unknown_once_its_snapshots_have_expired(
    bed: FedTable,
) -> None:
    given_history(bed)
    bed.table.compact(full=True)
    before = bed.get("rows/explain?id=7")
    assert len(before["versions"]) == 6

    bed.table.expire(retain_max=1, retain_min=1)

    after = bed.get("rows/explain?id=7")
    assert len(after["versions"]) == 1
    for name in SCHEMA_NAMES:
        assert after["columns"][name]["value"] == before["columns"][name]["value"]
        assert reasons(after["columns"][name]) == {0: "unknown: compacted"}
    assert (
        after["columns"]["total"]["winner"] | {"version": 4}
        == (before["columns"]["total"]["winner"])
    )
    # The row has the offset of the kept value's record, but neither its order nor its time.
    assert after["columns"]["note"]["winner"]["arrival"]["offset"] == 0
    assert after["columns"]["note"]["winner"]["arrived_at"] is None


def test_an_older_state_is_explained_as_it_was(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.get("rows/explain?id=7&snapshot_id=5")

    assert answer["snapshot"]["id"] == 5
    assert reasons(answer["columns"]["total"]) == {0: "newer-sequence", 1: "late"}


def test_the_status_of_an_older_state_is_as_of_its_commit(bed: FedTable) -> None:
    given_history(bed)

    groups = bed.get("rows/status?id=7&snapshot_id=6")["groups"]

    assert {name: group["state"] for name, group in groups.items()} == {
        "sales": "present",
        "parcels": "present",
        "clicks": "absent",
    }
    assert groups["sales"]["age_seconds"] == 0.0


def test_a_row_without_versions_is_explained_too(bed: FedTable) -> None:
    answer = bed.get("rows/explain?id=8")

    assert (answer["key"], answer["exists"]) == ({"id": 8}, False)
    assert (answer["columns"], answer["versions"]) == ({}, [])


def test_a_wrong_key_is_refused(bed: FedTable) -> None:
    answer = bed.client.get(f"{TABLE}/rows/explain?id=x")

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "id"


def what_if(stream: str, value: str, **record: Any) -> dict[str, Any]:
    return {"what_if": {"stream": stream, "record": {"value": value, **record}}}


def test_a_newer_record_would_win(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.suppose(
        {"id": 7}, **what_if("sales", '{"id": 7, "version": 3, "total": "1.00"}', partition=1)
    )

    assert answer["changed"]["total"] == {"before": "13.00", "after": "1.00"}
    assert answer["row"]["note"] == "gift"
    assert answer["result"]["outcome"] == "row"
    assert answer["columns"]["total"]["winner"]["arrival"] == {
        "generation": 0,
        "partition": 1,
        "offset": 3,
    }
    assert answer["status"]["groups"]["sales"]["last_touched"] == "2023-11-14T22:14:20.000Z"
    assert bed.get("rows?id=7")["row"]["total"] == "13.00"


def test_a_late_record_would_change_nothing(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.suppose(
        {"id": 7}, **what_if("sales", '{"id": 7, "version": 2, "total": "1.00"}', partition=1)
    )

    assert answer["changed"] == {}
    assert answer["columns"]["total"]["others"][0] == {"version": 6, "reason": "late"}


def test_what_a_record_would_do_equals_what_it_does(bed: FedTable) -> None:
    given_history(bed)
    supposed = bed.suppose(
        {"id": 7}, **what_if("clicks", '{"id": 7, "visits": 5, "seen": 0}', partition=1)
    )

    bed.feed("clicks", Message(value={"id": 7, "visits": 5, "seen": 0}, partition=1))

    assert supposed["row"] == bed.get("rows?id=7")["row"]
    assert supposed["status"]["groups"] == bed.get("rows/status?id=7")["groups"]


def test_the_first_record_of_a_row(bed: FedTable) -> None:
    answer = bed.suppose({"id": 7}, **what_if("parcels", '{"id": 7, "carrier": "ACME"}'))

    assert (answer["exists"], answer["row"]["carrier"]) == (True, "ACME")
    assert answer["columns"]["carrier"]["reason"] == "only-version"


def test_a_dead_letter_changes_nothing(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.suppose({"id": 7}, **what_if("sales", '{"id": 7, "version": "x"}'))

    assert answer["result"]["outcome"] == "dead_letter"
    assert answer["result"]["reason"] == "wrong_type"
    assert answer["changed"] == {}


def test_a_record_of_another_row_is_refused(bed: FedTable) -> None:
    body = {"key": {"id": 7}, **what_if("sales", '{"id": 8, "version": 1}')}

    answer = bed.client.post(f"{TABLE}/rows/explain", json=body)

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["field"] == "what_if.record"
    assert "{'id': 8}" in error["message"]


@pytest.mark.parametrize(
    ("hypothesis", "status"),
    [
        ({}, 422),
        ({"what_if": {"stream": "none", "record": {}}}, 404),
        ({"without": {"stream": "none"}}, 404),
        ({"without": {"stream": "sales"}, "what_if": {"stream": "sales", "record": {}}}, 422),
        ({"without": {"stream": "sales", "from_offset": -1}}, 422),
    ],
)
def test_hypotheses_that_make_no_sense(
    bed: FedTable, hypothesis: dict[str, Any], status: int
) -> None:
    body = {"key": {"id": 7}, **hypothesis}

    assert bed.client.post(f"{TABLE}/rows/explain", json=body).status_code == status


def test_without_a_stream_its_columns_are_empty(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.suppose({"id": 7}, without={"stream": "sales"})

    assert (answer["row"]["total"], answer["row"]["note"]) == (None, None)
    assert (answer["row"]["carrier"], answer["row"]["visits"]) == ("ACME", 7)
    assert answer["status"]["groups"]["sales"]["state"] == "absent"
    assert {"total", "note", "version"} <= answer["changed"].keys()
    assert answer["unknown"] == []


def test_without_the_last_records_the_older_ones_win(bed: FedTable) -> None:
    given_history(bed)

    answer = bed.suppose({"id": 7}, without={"stream": "sales", "from_offset": 2, "partition": 1})

    assert answer["changed"]["total"] == {"before": "13.00", "after": "12.50"}
    assert answer["columns"]["total"]["winner"]["arrival"]["offset"] == 0


def given_compaction(bed: FedTable) -> None:
    given_history(bed)
    bed.table.compact(full=True)
    bed.table.expire(retain_max=1, retain_min=1)


def test_without_a_stream_after_a_compaction(bed: FedTable) -> None:
    given_compaction(bed)

    answer = bed.suppose({"id": 7}, without={"stream": "clicks"})

    assert (answer["row"]["visits"], answer["row"]["total"]) == (None, "13.00")
    assert answer["unknown"] == []


def test_what_a_compaction_has_merged_away_is_unknown(bed: FedTable) -> None:
    given_compaction(bed)

    answer = bed.suppose({"id": 7}, without={"stream": "sales", "from_offset": 2})

    assert "total" in answer["unknown"]
    assert "total" not in answer["row"]
    assert answer["row"]["note"] == "gift"  # its record is an older one
    assert answer["status"] is None

    untouched = bed.suppose({"id": 7}, without={"stream": "sales", "from_offset": 3})
    assert (untouched["unknown"], untouched["changed"]) == ([], {})


def test_a_row_of_one_stream_would_not_exist_without_it(bed: FedTable) -> None:
    bed.feed("parcels", Message(value={"id": 7, "carrier": "ACME"}))

    answer = bed.suppose({"id": 7}, without={"stream": "parcels"})

    assert (answer["exists"], answer["row"]) == (False, None)
    assert answer["status"]["exists"] is False


def test_records_that_were_folded_into_one_version_cannot_be_told_apart(bed: FedTable) -> None:
    bed.feed("sales", sale(1, total="1.00"), sale(2, total="2.00"))

    answer = bed.suppose({"id": 7}, without={"stream": "sales", "from_offset": 1})
    assert "total" in answer["unknown"]

    whole = bed.suppose({"id": 7}, without={"stream": "sales", "from_offset": 0})
    assert (whole["unknown"], whole["exists"]) == ([], False)
