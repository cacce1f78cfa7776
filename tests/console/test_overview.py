"""The overview in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration


def names(visitor: Visitor) -> list[str]:
    return list(visitor.page.locator(".tables .window a").all_inner_texts())


def test_the_service_leads_a_browser_to_the_tables(visitor: Visitor) -> None:
    page = visitor.page
    page.goto(f"{visitor.address}/")

    expect(page).to_have_url(f"{visitor.address}/console/")
    expect(page).to_have_title("Tables · Braid")
    expect(page.get_by_role("heading", name="Tables", exact=True)).to_be_visible()


def test_the_least_fresh_table_comes_first_with_its_states(visitor: Visitor) -> None:
    page = visitor.open()
    first = page.locator(".tables .window [role=row]").first

    expect(first).to_contain_text("shop.orders")
    expect(first).to_contain_text("1 failed")
    expect(first).to_contain_text("2 running")
    expect(first).to_contain_text("73.1 %")  # 30 of 41 orders are paid
    assert sorted(names(visitor)) == ["shop.customers", "shop.orders", "shop.returns"]


def test_tables_are_found_by_a_part_of_their_name(visitor: Visitor) -> None:
    page = visitor.open()
    page.get_by_label("Find a table").fill("custo")

    expect(page.get_by_text("1 table, the least fresh first")).to_be_visible()
    assert names(visitor) == ["shop.customers"]

    page.get_by_label("Find a table").fill("nothing")
    expect(page.get_by_role("heading", name="No table has such a name")).to_be_visible()


def test_new_tables_appear_without_a_reload(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open()
    page.evaluate("window.isTheSame = true")
    declaration = {"columns": [{"name": "id", "type": "BIGINT"}], "primary_key": ["id"]}
    bed.put("/v1/tables/shop/later", declaration)

    expect(page.locator(".tables")).to_contain_text("shop.later")
    assert page.evaluate("window.isTheSame")


def test_the_keyboard_reaches_the_content_and_a_table(visitor: Visitor) -> None:
    page = visitor.open()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(3):  # New table, the search, the first table
        page.keyboard.press("Tab")
    expect(page.locator(".tables .window a").first).to_be_focused()
    page.keyboard.press("Enter")

    expect(page).to_have_title(re.compile(r"^shop\.\w+ · Braid$"))
    expect(page.locator("h1")).to_be_focused()


def test_colours_are_switched_and_kept(visitor: Visitor) -> None:
    page = visitor.open()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"

    page = visitor.open()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
