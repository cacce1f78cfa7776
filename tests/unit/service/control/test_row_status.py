"""The status of a row from its values and the table's rules."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from braid.lake import TableSchema, stored_offset
from braid.registry.layout.physical_table import physical_table
from braid.schemas import Arrival, RowStatus, SnapshotInfo, TableDocument, TableSpec
from braid.service.control.row_status import StatusRules, status_columns
from tests.unit.registry.shop import orders

NOW_MS = 1_000_000
SNAPSHOT = SnapshotInfo(id=1, commit_time="", verified_at="")


def touched(seconds_ago: float, op: str = "upsert", group: str = "sales") -> dict[str, Any]:
    at = datetime.fromtimestamp(NOW_MS / 1000 - seconds_ago, tz=UTC)
    return {f"{group}__at": at, f"{group}__op": op}


def schema_of(spec: TableSpec) -> TableSchema:
    definition = physical_table(spec)
    return TableSchema(
        id=0,
        fields=definition.columns,
        highest_field_id=len(definition.columns) - 1,
        partition_keys=(),
        primary_keys=definition.primary_key,
        options=definition.options,
    )


def status_of(row: dict[str, Any] | None, **changes: Any) -> RowStatus:
    spec: TableSpec = orders(**changes)
    document = TableDocument(database="shop", name="orders", table=spec)
    return StatusRules(document, schema_of(spec)).status(
        key={"id": 1, "region": "eu"},
        row=row,
        now_ms=NOW_MS,
        snapshot=SNAPSHOT,
    )


CLEARED = {"deletes": "clear_columns"}
STALE = {"staleness": {"default_seconds": 60}}


@pytest.mark.parametrize(
    ("row", "changes", "state"),
    [
        pytest.param({}, {}, "absent", id="nothing"),
        pytest.param({"total": 1}, {}, "absent", id="only-a-value"),
        pytest.param({"order_version": 1} | touched(5), {}, "present", id="touched"),
        pytest.param({"order_version": 1}, {}, "present", id="ordered-by-another-engine"),
        pytest.param(touched(5), {}, "present", id="touched-without-order"),
        pytest.param({"order_version": 1} | touched(60), STALE, "present", id="at-the-age"),
        pytest.param({"order_version": 1} | touched(61), STALE, "stale", id="past-the-age"),
        pytest.param({"order_version": 2} | touched(5, "clear"), {}, "deleted", id="cleared"),
        pytest.param(
            {"order_version": 2} | touched(99, "clear"), STALE, "deleted", id="cleared-old"
        ),
        pytest.param({"order_version": 2}, CLEARED, "deleted", id="cleared-by-a-retract"),
        pytest.param({"order_version": 2, "total": 1}, CLEARED, "present", id="not-by-a-retract"),
        pytest.param({"order_version": 2} | touched(5), CLEARED, "present", id="touched-and-empty"),
        pytest.param({"order_version": 1}, {"tracking": False}, "present", id="no-tracking"),
        pytest.param({}, {"tracking": False}, "absent", id="no-tracking-nothing"),
    ],
)
def test_the_state_of_a_group(row: dict[str, Any], changes: dict[str, Any], state: str) -> None:
    assert status_of(row, **changes).groups["sales"].state == state


def test_a_groups_own_staleness_goes_before_the_default() -> None:
    staleness = {"staleness": {"default_seconds": 60, "groups": {"sales": 600}}}

    status = status_of({"order_version": 1} | touched(100), **staleness)

    assert status.groups["sales"].state == "present"
    assert status.groups["sales"].stale_after_seconds == 600
    assert status.groups["payments"].stale_after_seconds == 60


@pytest.mark.parametrize(
    ("groups", "complete"),
    [("all", False), (["sales"], True), (["sales", "payments"], False), ([], True)],
    ids=str,
)
def test_a_row_is_complete_when_the_groups_of_the_rule_have_delivered(
    groups: Any, complete: bool
) -> None:
    status = status_of({"order_version": 1} | touched(5), completeness={"groups": groups})

    assert status.complete is complete


def test_a_deleted_group_makes_no_row_complete() -> None:
    row = {"order_version": 1} | touched(5, "clear")

    assert status_of(row, completeness={"groups": ["sales"]}).complete is False


def test_a_row_that_is_not_there_is_not_complete_whatever_the_rule() -> None:
    status = status_of(None, completeness={"groups": []})

    assert (status.exists, status.complete) == (False, False)


def test_a_clock_that_is_behind_makes_no_negative_age() -> None:
    assert status_of(touched(-5)).groups["sales"].age_seconds == 0


def test_a_table_without_groups_is_complete_when_the_row_exists() -> None:
    status = status_of({}, merge_engine="deduplicate", sequence_groups=[])

    assert (status.complete, dict(status.groups)) == (True, {})


def test_status_reads_ordering_and_tracking_and_nothing_else() -> None:
    document = TableDocument(database="shop", name="orders", table=orders())

    columns = status_columns(document, schema_of(document.table))
    assert columns[:5] == [
        "order_version",
        "sales__offset",
        "sales__partition",
        "sales__at",
        "sales__op",
    ]
    assert "total" not in columns
    cleared = TableDocument(database="shop", name="orders", table=orders(deletes="clear_columns"))
    # Tells whether a retract emptied the group.
    assert "total" in status_columns(cleared, schema_of(cleared.table))


@pytest.mark.parametrize("group", ["sales", "payments"])
def test_the_newest_record_of_a_group_is_reported_for_every_kind_of_order(group: str) -> None:
    row = {"order_version": 1, f"{group}__offset": stored_offset(2, 17), f"{group}__partition": 3}

    assert status_of(row).groups[group].arrival == Arrival(generation=2, partition=3, offset=17)


def test_a_record_that_an_earlier_version_has_written_has_no_arrival() -> None:
    sales = status_of({"order_version": 1} | touched(5)).groups["sales"]

    assert (sales.state, sales.arrival) == ("present", None)


def test_the_status_of_a_table_without_arrival_columns_reads_its_columns() -> None:
    document = TableDocument(database="shop", name="orders", table=orders())
    schema = schema_of(document.table)
    fields = tuple(f for f in schema.fields if f.name not in ("sales__offset", "sales__partition"))

    found = status_columns(document, replace(schema, fields=fields))

    assert found[:3] == ["order_version", "sales__at", "sales__op"]
