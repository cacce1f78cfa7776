"""Operations, runners and the audit log in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from braid.registry.store.operations import OperationStore
from braid.schemas import CompactionRequest, OperationDocument
from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration
STORAGE = "tables/shop/orders/storage"
LATER_MS = 10_000_000_000_000


def begin(page: Page, title: str) -> Locator:
    """Open the dialog of a kind of operation."""
    page.get_by_role("button", name=title, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def operations(bed: ConsoleBed, **wanted: Any) -> list[dict[str, Any]]:
    listed = bed.http.get("/v1/operations").raise_for_status().json()["operations"]
    return [one for one in listed if all(one[name] == value for name, value in wanted.items())]


def test_a_compaction_is_begun_after_its_plan_and_ends(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open(STORAGE)
    dialog = begin(page, "Compact")
    expect(dialog).to_contain_text("merged to one sorted run")
    dialog.get_by_role("button", name="Compact").click()

    expect(dialog).to_have_count(0)
    first = page.locator(".operations > li").first
    expect(first).to_contain_text("compaction")
    expect(first).to_contain_text("succeeded")
    first.get_by_text("Result").click()
    expect(first).to_contain_text("rows out")
    assert operations(bed, kind="compaction", state="SUCCEEDED", table="orders")


def test_snapshots_are_removed_after_a_report_of_which(visitor: Visitor, bed: ConsoleBed) -> None:
    dialog = begin(visitor.open(STORAGE), "Expire snapshots")
    submit = dialog.get_by_role("button", name="Expire snapshots")
    expect(submit).to_be_disabled()
    dialog.get_by_role("button", name="Show what it would remove").click()
    expect(dialog.get_by_role("status")).to_contain_text("snapshot")
    submit.click()

    expect(dialog).to_have_count(0)
    (done,) = (
        one for one in operations(bed, kind="snapshot_expiry") if not one["request"]["dry_run"]
    )
    assert done["table"] == "orders"


def test_the_number_of_buckets_is_changed(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open("tables/shop/customers/storage")
    dialog = begin(page, "Change the buckets")
    submit = dialog.get_by_role("button", name="Change the buckets")
    expect(submit).to_be_disabled()
    dialog.get_by_label("buckets").fill("3")
    submit.click()

    expect(page.locator(".operations > li").first).to_contain_text("succeeded")
    assert bed.http.get("/v1/tables/shop/customers").json()["spec"]["buckets"] == 3


def test_work_is_begun_once_although_the_answer_was_lost(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open("tables/shop/returns/storage")
    page.route("**/shop/returns/compactions", losing_the_first_answer())
    dialog = begin(page, "Compact")
    submit = dialog.get_by_role("button", name="Compact")
    submit.click()
    expect(dialog.get_by_role("alert")).to_contain_text("No answer came")
    submit.click()

    expect(dialog).to_have_count(0)
    assert len(operations(bed, table="returns")) == 1
    visitor.errors.clear()  # the browser reports the lost answer


def losing_the_first_answer() -> Callable[[Route], None]:
    lost: list[Route] = []

    def handle(route: Route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route)
            route.fetch()
            route.abort()

    return handle


def test_an_operation_is_canceled(visitor: Visitor, bed: ConsoleBed) -> None:
    waiting = OperationDocument(
        id=f"shop.orders.{'0' * 20}",
        database="shop",
        table="orders",
        request=CompactionRequest(),
        created_ms=bed.fed.clock.now_ms(),
        retry_ms=LATER_MS,
    )
    OperationStore(bed.fed.file_io, "/w", bed.fed.clock).create(waiting, announce=lambda: None)
    page = visitor.open("operations")
    first = page.locator(".operations > li").first
    expect(first).to_contain_text("pending")
    first.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the operation").click()

    expect(first).to_contain_text("is being canceled")
    assert [one["id"] for one in operations(bed, cancel_requested=True)] == [waiting.id]


def test_the_audit_log_says_who_changed_what(visitor: Visitor, bed: ConsoleBed) -> None:
    for verb in ("pause", "resume"):
        path = f"/v1/tables/shop/orders/streams/payments/{verb}"
        bed.http.post(path, headers={"x-request-id": f"{verb}-17"}).raise_for_status()
    page = visitor.open("audit")
    expect(page.locator(".events > li").first).to_contain_text("resume stream")
    page.get_by_label("Stream").fill("payments")
    page.get_by_label("Table").fill("shop.orders")
    paused = page.locator(".events > li").filter(has_text="pause-17")
    paused.get_by_text("1 changed value").click()

    expect(paused).to_contain_text("/streams/payments/desired_state")
    expect(paused.locator("s")).to_have_text("RUNNING")
    expect(page.locator(".events > li").filter(has_text="sales")).to_have_count(0)
    page.get_by_label("Table").fill("shop.nothing")
    expect(page.get_by_text("No change was found")).to_be_visible()


def test_older_changes_of_a_table_are_shown_on_request(visitor: Visitor, bed: ConsoleBed) -> None:
    for number in range(60):
        verb = "resume" if number % 2 else "pause"
        bed.http.post(f"/v1/tables/shop/orders/streams/sales/{verb}").raise_for_status()
    page = visitor.open("tables/shop/orders/audit")
    entries = page.locator(".events > li")
    expect(entries).to_have_count(50)
    page.get_by_role("button", name="Show older changes").click()

    expect(entries.filter(has_text="put table")).to_have_count(1)


def test_a_runner_has_its_streams_with_their_states(visitor: Visitor) -> None:
    page = visitor.open("runners")
    expect(page.get_by_role("heading", name="runner-1")).to_be_visible()
    expect(page.get_by_text("alive")).to_be_visible()
    page.get_by_text("3 streams").click()

    row = page.get_by_role("listitem").filter(has_text="shop.orders / shipping")
    expect(row).to_contain_text("failed")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="shipping", exact=True)).to_be_visible()
