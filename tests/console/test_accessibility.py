"""Every view, light and dark, wide and narrow: nothing is found by the check of accessibility, and nothing is cut off."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import NARROW, THEMES, WIDE, Visitor

pytestmark = pytest.mark.integration

TABLE = "tables/shop/orders"
VIEWS = {
    "overview": "",
    "flow": TABLE,
    "streams": f"{TABLE}/streams",
    "schema": f"{TABLE}/schema",
    "storage": f"{TABLE}/storage",
    "audit log of a table": f"{TABLE}/audit",
    "rows": f"{TABLE}/rows",
    "row": f"{TABLE}/rows?key.id=7",
    "stream": f"{TABLE}/streams/sales",
    "failed stream": f"{TABLE}/streams/shipping",
    "operations": "operations",
    "runners": "runners",
    "audit log": "audit",
    "new table": "new",
    "new stream": "tables/shop/returns/new-stream",
    "problem": "tables/shop/nothing",
    "unknown": "nothing/here",
}


@pytest.fixture(params=[f"{theme} {size}" for theme in THEMES for size in ("wide", "narrow")])
def visitor(request: pytest.FixtureRequest, browser: Any, bed: ConsoleBed) -> Iterator[Visitor]:
    theme, size = request.param.split()
    with Visitor.of(
        browser, bed.address, size=WIDE if size == "wide" else NARROW, theme=theme
    ) as it:
        yield it


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_accessible_and_fits(visitor: Visitor, view: str) -> None:
    page = visitor.open(VIEWS[view])

    assert visitor.violations() == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


DIALOGS = {
    "Stop": f"{TABLE}/streams/sales",
    "Change": f"{TABLE}/streams/sales",
    "Expire snapshots": f"{TABLE}/storage",
    "Drop": f"{TABLE}/schema",
}


@pytest.mark.parametrize("button", DIALOGS)
def test_a_dialog_is_accessible(visitor: Visitor, button: str) -> None:
    page = visitor.open(DIALOGS[button])
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()

    assert visitor.violations() == []
