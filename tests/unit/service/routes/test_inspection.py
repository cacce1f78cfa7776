"""Views of a table's metadata over HTTP."""

import pyarrow as pa
import pytest

from braid.lake import Catalog, Inspection, ManualClock
from braid.service.control.inspection import json_rows
from tests.unit.service.http_client import HttpClient

LOOK = "/v1/tables/db/t/inspect"


@pytest.fixture
def db(client: HttpClient, catalog: Catalog, clock: ManualClock) -> HttpClient:
    """Return the client, with a table of three snapshots and a tag."""
    table = catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "INT")],
        primary_key=["k"],
        options={"bucket": "2"},
    )
    for number in range(2):
        clock.advance(ms=500)
        rows = pa.table(
            {"k": pa.array(range(9), pa.int32()), "v": pa.array([number] * 9, pa.int32())}
        )
        table.write_and_commit(rows, commit_user="writer")
    table.compact(commit_user="compactor")
    table.create_tag("week", retained_ms=1_000)
    return client


def test_snapshots_are_listed(db: HttpClient) -> None:
    answer = db.get(f"{LOOK}/snapshots")

    assert answer.status_code == 200
    body = answer.json()
    assert (body["view"], body["rows_total"]) == ("snapshots", 3)
    assert body["rows"][0] == {
        "snapshot_id": 1,
        "kind": "APPEND",
        "committed_at": "2023-11-14T22:13:20.500Z",
        "commit_user": "writer",
        "commit_identifier": 9223372036854775807,
        "schema_id": 0,
        "rows": 9,
        "added_rows": 9,
        "changelog_rows": None,
    }
    assert body["columns"] == list(body["rows"][0])


@pytest.mark.parametrize("view", Inspection.VIEWS)
def test_every_view_is_served(db: HttpClient, catalog: Catalog, view: str) -> None:
    body = db.get(f"{LOOK}/{view}").json()
    expected = catalog.table("db.t").inspect.view(view)

    assert body["columns"] == expected.column_names
    assert body["rows"] == json_rows(expected)
    assert body["rows_total"] == expected.num_rows


def test_a_long_view_is_paged_and_of_the_requested_snapshot(db: HttpClient) -> None:
    whole = db.get(f"{LOOK}/files?snapshot_id=2").json()
    part = db.get(f"{LOOK}/files?snapshot_id=2&offset=1&limit=2").json()

    assert whole["rows_total"] == part["rows_total"] == 4
    assert part["rows"] == whole["rows"][1:3]
    assert [row["snapshot_id"] for row in db.get(f"{LOOK}/snapshots?last=1").json()["rows"]] == [3]


@pytest.mark.parametrize("state", ["tag=week", "timestamp=2023-11-14T22:13:21Z", "snapshot_id=3"])
def test_views_of_one_snapshot_are_of_any_state(db: HttpClient, state: str) -> None:
    files = db.get(f"{LOOK}/files?{state}").json()["rows"]

    assert {row["level"] for row in files} == {5}
    assert files == db.get(f"{LOOK}/files").json()["rows"]
    assert files != db.get(f"{LOOK}/files?timestamp=2023-11-14T22:13:20.999Z").json()["rows"]


def test_times_of_tags_are_of_the_wall(db: HttpClient) -> None:
    (row,) = db.get(f"{LOOK}/tags").json()["rows"]

    assert row["committed_at"].endswith("Z")
    assert not row["expires_at"].endswith("Z")


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("rows", 422, "no such view"),
        ("tags?snapshot_id=1", 422, "does not show one snapshot"),
        ("files?last=1", 422, "does not list the history"),
        ("files?snapshot_id=77", 422, "no snapshot 77"),
        ("files?tag=month", 422, "expected one of week"),
        ("files?timestamp=7", 422, "has no snapshot of 1970-01-01T00:00:00.007Z or before"),
        ("files?timestamp=7&snapshot_id=1", 422, "cannot be given together with snapshot_id"),
        ("files?limit=0", 422, "greater than or equal to 1"),
    ],
)
def test_an_invalid_inspection_is_refused_with_the_reason(
    db: HttpClient, query: str, status: int, said: str
) -> None:
    answer = db.get(f"{LOOK}/{query}")

    assert answer.status_code == status
    assert said in answer.text


def test_a_table_that_is_not_there_is_not_found(db: HttpClient) -> None:
    assert db.get("/v1/tables/db/other/inspect/files").status_code == 404


def test_a_snapshot_that_is_not_there_is_named(db: HttpClient) -> None:
    answer = db.get(f"{LOOK}/files?snapshot_id=55")

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    (problem,) = answer.json()["errors"]
    assert (problem["pointer"], problem["field"], problem["value"]) == (None, "snapshot_id", "55")
