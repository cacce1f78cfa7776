"""Changes over HTTP: ranges, pages, leases and consumers."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from braid.lake import Catalog, ManualClock, Table
from braid.service.control import changes as control
from braid.service.control.changes_token import to_token
from tests.unit.service.http_client import HttpClient

CHANGES = "/v1/tables/db/t/changes"
CONSUMERS = "/v1/tables/db/t/consumers"
MINUTE_MS = 60_000


@pytest.fixture
def table(catalog: Catalog) -> Table:
    """Return a table whose four snapshots changed 3, 2, 0 and 1 rows."""
    table = catalog.create_table(
        "db.t",
        columns=[("k", "INT"), ("v", "DECIMAL(4, 1)")],
        primary_key=["k"],
        options={"bucket": "1", "changelog-producer": "input"},
    )
    write(table, (1, 0), (2, 0), (3, 0))
    write(table, (1, 1), (3, 3))
    table.compact()
    write(table, (2, 2))
    return table


def write(table: Table, *rows: tuple[int, int]) -> None:
    """Insert the rows that are not there, delete those whose value is their key."""
    keys, values = zip(*rows, strict=True)
    kinds = [3 if key == value else 0 for key, value in rows]
    data = pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(values, pa.decimal128(4, 1))})
    table.write_and_commit(data, kinds=pa.array(kinds, pa.int8()))


def shown(page: dict[str, Any]) -> list[tuple[int, str, int]]:
    return [(one["snapshot_id"], one["kind"], one["row"]["k"]) for one in page["changes"]]


def pages(client: HttpClient, query: str) -> list[dict[str, Any]]:
    """All pages of a range."""
    found = [client.get(f"{CHANGES}?{query}").json()]
    while found[-1]["next_page_token"] is not None:
        size = query.partition("page_size=")[2] or "1000"
        token = found[-1]["next_page_token"]
        found.append(client.get(f"{CHANGES}?page_size={size}&page_token={token}").json())
    return found


ALL = [(1, "+I", 1), (1, "+I", 2), (1, "+I", 3), (2, "-D", 1), (2, "-D", 3), (4, "-D", 2)]


def test_changes_of_a_range_are_returned_oldest_first(client: HttpClient, table: Table) -> None:
    answer = client.get(f"{CHANGES}?after_snapshot_id=0")

    assert answer.status_code == 200
    page = answer.json()
    assert shown(page) == ALL
    assert page["changes"][0]["row"] == {"k": 1, "v": "0.0"}
    assert (page["after_snapshot_id"], page["until_snapshot_id"]) == (0, 4)
    assert page["next_page_token"] is None


@pytest.mark.parametrize("page_size", range(1, 8))
def test_pages_are_the_whole(client: HttpClient, table: Table, page_size: int) -> None:
    found = pages(client, f"after_snapshot_id=0&page_size={page_size}")

    assert [change for page in found for change in shown(page)] == ALL
    assert all(len(page["changes"]) <= page_size for page in found)
    assert {(page["after_snapshot_id"], page["until_snapshot_id"]) for page in found} == {(0, 4)}
    assert table.consumers() == []


def test_a_range_and_columns_can_be_requested(client: HttpClient, table: Table) -> None:
    page = client.get(
        f"{CHANGES}?after_snapshot_id=1&until_snapshot_id=3&columns=v,k&page_size=1"
    ).json()
    last = client.get(f"{CHANGES}?page_token={page['next_page_token']}").json()

    assert list(page["changes"][0]["row"]) == ["v", "k"]
    assert list(last["changes"][0]["row"]) == ["v", "k"]
    assert shown(page) + shown(last) == [(2, "-D", 1), (2, "-D", 3)]
    assert last["until_snapshot_id"] == 3


def test_pages_are_bounded_in_bytes_and_snapshots(
    client: HttpClient, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "PAGE_SNAPSHOTS", 1)
    by_snapshot = pages(client, "after_snapshot_id=0")
    monkeypatch.setattr(control, "PAGE_BYTES", 1)
    by_bytes = pages(client, "after_snapshot_id=0")

    assert [shown(page) for page in by_snapshot] == [ALL[:3], ALL[3:5], [], ALL[5:]]
    assert [change for page in by_bytes for change in shown(page)] == ALL


def test_what_comes_between_two_pages_is_not_in_the_range(client: HttpClient, table: Table) -> None:
    first = client.get(f"{CHANGES}?after_snapshot_id=1&page_size=2").json()
    write(table, (9, 0))
    second = client.get(f"{CHANGES}?page_token={first['next_page_token']}").json()

    assert shown(first) + shown(second) == ALL[3:]
    assert second["next_page_token"] is None


def test_the_rest_of_a_range_does_not_expire_between_two_pages(
    client: HttpClient, table: Table, clock: ManualClock
) -> None:
    first = client.get(f"{CHANGES}?after_snapshot_id=0&page_size=4").json()
    clock.advance(ms=9 * MINUTE_MS)
    expired = table.expire(retain_min=1, retain_max=1)
    second = client.get(f"{CHANGES}?page_size=1&page_token={first['next_page_token']}").json()
    (lease,) = client.get(CONSUMERS).json()["consumers"]
    again = client.get(f"{CHANGES}?page_token={first['next_page_token']}").json()

    assert expired.snapshots == ()
    assert shown(first) + shown(second) == ALL[:5]
    assert shown(again) == ALL[4:]
    assert lease["next_snapshot_id"] == 2
    assert lease["holder"].startswith("a page of changes")
    assert table.consumers() == []


def test_pages_do_not_continue_after_a_rollback(client: HttpClient, table: Table) -> None:
    first = client.get(f"{CHANGES}?after_snapshot_id=0&page_size=4").json()
    table.rollback(snapshot_id=1)
    for number in (7, 8, 9):
        write(table, (number, 0))

    answer = client.get(f"{CHANGES}?page_size=4&page_token={first['next_page_token']}")

    assert answer.status_code == 410
    assert "rolled back" in answer.json()["detail"]


def test_a_reader_that_returns_too_late_gets_an_error(
    client: HttpClient, table: Table, clock: ManualClock
) -> None:
    first = client.get(f"{CHANGES}?after_snapshot_id=0&page_size=4").json()
    clock.advance(ms=11 * MINUTE_MS)
    table.expire(retain_min=1, retain_max=1)

    answer = client.get(f"{CHANGES}?page_token={first['next_page_token']}")

    assert (answer.status_code, answer.json()["code"]) == (410, "expired")
    assert "start anew" in answer.text
    assert table.consumers() == []


def test_a_consumer_keeps_the_snapshots_that_it_has_not_read(
    client: HttpClient, table: Table
) -> None:
    made = client.put(f"{CONSUMERS}/billing", json={"next_snapshot_id": 2})
    table.expire(retain_min=1, retain_max=1)
    page = client.get(f"{CHANGES}?consumer=billing").json()
    then = {"next_snapshot_id": page["until_snapshot_id"] + 1}
    client.put(f"{CONSUMERS}/billing?confirm=billing", json=then)
    rest = client.get(f"{CHANGES}?consumer=billing").json()
    gone = client.delete(f"{CONSUMERS}/billing?confirm=billing")

    assert made.status_code == 200
    assert made.json() | {"written_at": ""} == {
        "id": "billing",
        "next_snapshot_id": 2,
        "written_at": "",
        "leased_until": None,
        "holder": None,
        "error": None,
    }
    assert shown(page) == ALL[3:]
    assert rest["changes"] == []
    assert gone.status_code == 204
    assert client.get(CONSUMERS).json() == {"consumers": []}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("after_tag=first", ALL[3:]),
        ("after_snapshot_id=0&until_tag=first", ALL[:3]),
        ("after_timestamp=2023-11-14T22:13:20Z", []),
        ("after_timestamp=0&until_timestamp=1700000000000", ALL),
        ("after_snapshot_id=0&mode=delta", ALL),
        ("after_snapshot_id=0&mode=changelog", ALL),
        ("after_tag=first&until_timestamp=2030-01-01T00:00:00%2B01:00&page_size=2", ALL[3:]),
    ],
)
def test_a_range_is_bounded_by_tags_and_moments(
    client: HttpClient, table: Table, query: str, expected: list[tuple[int, str, int]]
) -> None:
    table.create_tag("first", snapshot_id=1)

    found = pages(client, query)

    assert [row for page in found for row in shown(page)] == expected


def test_a_token_does_not_touch_a_consumer(client: HttpClient, table: Table) -> None:
    client.put(f"{CONSUMERS}/billing", json={"next_snapshot_id": 2})
    position = control.first_position(table, after=0, until=None, consumer=None, columns=None)
    forged = to_token(replace(position, lease_id="billing"))

    assert len(client.get(f"{CHANGES}?page_token={forged}").json()["changes"]) == 6
    assert [file.id for file in table.consumers()] == ["billing"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "after_snapshot_id"),
        ("after_snapshot_id=0&consumer=billing", "after_snapshot_id"),
        ("after_snapshot_id=5", "after_snapshot_id"),
        ("after_snapshot_id=2&until_snapshot_id=1", "until_snapshot_id"),
        ("consumer=nobody", "consumer"),
        ("after_snapshot_id=0&columns=x", "column"),
        ("after_snapshot_id=0&page_size=0", "page_size"),
        ("after_snapshot_id=-1", "after_snapshot_id"),
        ("page_token=nonsense", "page_token"),
        ("after_tag=x", "there is no such tag"),
        ("after_tag=x&after_timestamp=0", "after_timestamp"),
        ("after_snapshot_id=0&after_tag=x", "after_tag"),
        ("after_snapshot_id=0&until_timestamp=tomorrow", "until_timestamp"),
        ("after_snapshot_id=0&mode=both", "mode"),
    ],
)
def test_invalid_requests_for_changes_are_refused(
    client: HttpClient, table: Table, query: str, field: str
) -> None:
    answer = client.get(f"{CHANGES}?{query}")

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert field in answer.text


def test_a_token_is_of_one_table(client: HttpClient, table: Table, catalog: Catalog) -> None:
    page = client.get(f"{CHANGES}?after_snapshot_id=0&page_size=1").json()
    catalog.create_table("db.u", columns=[("k", "INT")], primary_key=["k"], options={"bucket": "1"})

    answer = client.get(f"/v1/tables/db/u/changes?page_token={page['next_page_token']}")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "page_token")


def test_an_existing_consumer_is_changed_only_with_confirmation(
    client: HttpClient, table: Table
) -> None:
    client.put(f"{CONSUMERS}/billing", json={"next_snapshot_id": 2})
    lease = table.lease(1)

    answers = [
        client.put(f"{CONSUMERS}/billing", json={"next_snapshot_id": 9}),
        client.delete(f"{CONSUMERS}/billing"),
        client.delete(f"{CONSUMERS}/billing?confirm=others"),
        client.delete(f"{CONSUMERS}/{lease.id}?confirm={lease.id}"),
        client.put(f"{CONSUMERS}/{lease.id}?confirm={lease.id}", json={"next_snapshot_id": 9}),
    ]

    assert [answer.status_code for answer in answers] == [422] * 5
    fields = [answer.json()["errors"][0]["field"] for answer in answers]
    assert fields == ["confirm"] * 3 + ["consumer"] * 2
    assert sorted(file.id for file in table.consumers()) == ["billing", lease.id]


def test_an_unreadable_consumer_is_listed_and_can_be_set_again(
    client: HttpClient, table: Table
) -> None:
    table.file_io.overwrite(table.paths.consumer("torn"), b"")

    (listed,) = client.get(CONSUMERS).json()["consumers"]
    refused = client.get(f"{CHANGES}?consumer=torn")
    repaired = client.put(f"{CONSUMERS}/torn?confirm=torn", json={"next_snapshot_id": 2})

    assert (listed["id"], listed["next_snapshot_id"]) == ("torn", None)
    assert "not JSON" in listed["error"]
    assert refused.status_code == 422
    assert "cannot be read" in refused.json()["errors"][0]["message"]
    assert (repaired.status_code, repaired.json()["error"]) == (200, None)
