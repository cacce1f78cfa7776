"""The console without a mouse, in a real browser: a table is declared and compacted by keys alone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration
TABS_MAX = 60


def reach(page: Page, control: Locator) -> None:
    """Go to a control by the Tab key."""
    expect(control).to_be_enabled()
    for _ in range(TABS_MAX):
        if control.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{TABS_MAX} tabs do not lead to {control}")


def type_into(page: Page, label: str, text: str) -> None:
    """Go to an input and replace its text."""
    reach(page, page.get_by_label(label, exact=True))
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def press(page: Page, control: Locator) -> None:
    """Go to a button or a link and press Enter."""
    reach(page, control)
    page.keyboard.press("Enter")


def test_a_table_is_declared_and_compacted_by_the_keyboard(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    page = visitor.open()
    press(page, page.get_by_role("navigation", name="Main").get_by_role("link", name="New table"))
    expect(page.get_by_role("heading", name="New table")).to_be_visible()
    type_into(page, "Database", "web")
    type_into(page, "Name", "typed")
    type_into(page, "Name of column 2", "clicks")
    type_into(page, "Type of column 2", "INT")
    type_into(page, "Group of column 2", "shop")
    press(page, page.get_by_role("button", name="Create the table"))
    expect(page.get_by_role("heading", name="web.typed")).to_be_focused()

    press(page, page.get_by_role("link", name="Storage"))
    compact = page.get_by_role("button", name="Compact", exact=True)
    press(page, compact)
    dialog = page.get_by_role("dialog")
    press(page, dialog.get_by_role("button", name="Compact"))
    expect(dialog).to_have_count(0)
    expect(compact).to_be_focused()
    expect(page.locator(".operations > li")).to_have_count(1)

    press(page, page.get_by_role("link", name="Audit log").last)
    expect(page).to_have_url(re.compile(r"#/tables/web/typed/audit$"))
    entry = page.locator(".events > li").first
    press(page, entry.locator("summary"))
    expect(entry.locator("details")).to_have_attribute("open", "")
    columns = bed.http.get("/v1/tables/web/typed").json()["spec"]["columns"]
    assert [column["name"] for column in columns] == ["id", "clicks"]
