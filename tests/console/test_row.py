"""The page of a row in a real browser."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.console_bed import EXACT_ID, ConsoleBed
from tests.console.visitor import Visitor
from tests.support.fed_table import Message

pytestmark = pytest.mark.integration
ROWS = "tables/shop/orders/rows"


def cell(page: Page, column: str) -> Any:
    values = page.get_by_role("region", name="Values", exact=True)
    return values.get_by_role("row").filter(has=page.get_by_role("rowheader", name=column))


def test_a_row_is_found_by_its_key(visitor: Visitor) -> None:
    page = visitor.open(ROWS)
    page.get_by_label("id").fill("7")
    page.get_by_role("button", name="Find the row").click()

    expect(cell(page, "total")).to_contain_text("13.00")
    expect(page).to_have_url(f"{visitor.address}/console/#/{ROWS}?key.id=7")


def test_rows_can_be_chosen_from_the_first_ones(visitor: Visitor) -> None:
    page = visitor.open(ROWS)
    page.get_by_role("region", name="Rows").get_by_role("link", name="7", exact=True).click()

    expect(cell(page, "total")).to_contain_text("13.00")


def test_each_cell_has_its_winner_and_the_losers_with_reasons(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    total = cell(page, "total")

    expect(total).to_contain_text("newer-sequence")
    expect(total).to_contain_text("partition 0")
    assert total.locator("s").all_inner_texts() == ["99.00", "12.50", "7.50"]
    expect(total.get_by_role("listitem").filter(has_text="99.00")).to_contain_text("late")
    expect(cell(page, "carrier")).to_contain_text("null")


def test_there_is_a_lane_for_each_stream_and_records_show_what_they_wrote(
    visitor: Visitor,
) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    lanes = page.get_by_role("region", name="Time line")

    expect(lanes.get_by_role("rowheader")).to_have_text(["payments", "sales"])
    expect(lanes.get_by_role("button")).to_have_count(5)
    lanes.get_by_role("button", name="gives no value").last.click()
    expect(page.get_by_text("total = 99.00")).to_be_visible()


def test_the_slider_leads_to_earlier_snapshots(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    expect(cell(page, "total")).to_contain_text("13.00")
    slider = page.get_by_role("slider")
    slider.press("Home")

    expect(page.get_by_role("heading", name="There is no row with this key")).to_be_visible()
    page.get_by_role("button", name="Later").focus()
    for _ in range(3):
        page.keyboard.press("Enter")
        expect(page.get_by_text("Loading")).to_have_count(0)
    slider.press("End")
    expect(cell(page, "total")).to_contain_text("13.00")


def test_what_if_and_without_change_nothing(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    what_if = page.locator("form").filter(has=page.get_by_role("button", name="Try the record"))
    what_if.get_by_label("Stream").select_option("sales")
    record = what_if.get_by_label("Value")
    expect(record).to_have_value(
        '{\n  "id": 7,\n  "total": "13.00",\n  "currency": "EUR",\n  "version": 4\n}'
    )
    record.fill('{"id": 7, "version": 5, "total": "14.00", "currency": "EUR"}')
    what_if.get_by_role("button").click()
    changed = page.get_by_role("region", name="Changed values")
    expect(changed).to_contain_text("14.00")

    without = page.locator("form").filter(has=page.get_by_role("button", name="Leave them out"))
    without.get_by_label("Stream").select_option("payments")
    without.get_by_role("button").click()
    expect(changed.last).to_contain_text("paid")
    expect(cell(page, "total")).to_contain_text("13.00")


def test_a_record_that_cannot_be_read_is_explained(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    what_if = page.locator("form").filter(has=page.get_by_role("button", name="Try the record"))
    what_if.get_by_label("Stream").select_option("sales")
    what_if.get_by_label("Value").fill('{"id": 7, "version": "x"}')
    what_if.get_by_role("button").click()

    expect(page.get_by_text("dead letter").first).to_be_visible()


def test_large_keys_keep_all_digits(visitor: Visitor) -> None:
    page = visitor.open(ROWS)
    page.get_by_role("button", name="Next rows").click()
    page.get_by_role("link", name=str(EXACT_ID)).click()

    expect(page.get_by_label("id")).to_have_value(str(EXACT_ID))
    expect(cell(page, "total")).to_contain_text("1.00")
    expect(page.get_by_role("textbox", name="Value")).to_have_value(
        f'{{\n  "id": {EXACT_ID},\n  "paid": null,\n  "method": null\n}}'
    )


def test_the_records_of_kafka_are_shown_on_request(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    page.get_by_role("button", name="Show the records").click()
    page.get_by_text("sales: partition 0, offset 42").click()

    expect(page.get_by_role("region", name="Value", exact=True).first).to_contain_text(
        '"total":"13.00"'
    )


def test_a_change_of_the_row_is_shown_without_a_reload(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open(f"{ROWS}?key.id=8")
    expect(cell(page, "total")).to_contain_text("8.50")
    page.evaluate("window.isTheSame = true")
    bed.fed.feed(
        "sales", Message(value={"id": 8, "total": "77.00", "currency": "EUR", "version": 9})
    )

    expect(cell(page, "total")).to_contain_text("77.00")
    assert page.evaluate("window.isTheSame")


def test_a_certificate_is_saved(visitor: Visitor) -> None:
    page = visitor.open(f"{ROWS}?key.id=7")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save the certificate").click()

    assert saving.value.suggested_filename == "shop.orders.certificate.json"
