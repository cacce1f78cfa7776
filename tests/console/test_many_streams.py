"""A table of 2,000 streams in a real browser: only those of the visible part of a list are in the document."""

import pytest
from playwright.sync_api import expect

from braid.registry.store.documents import RegistryStore
from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration
STREAMS = 2_000
SHOWN_MAX = 60
TABLE = "/v1/tables/shop/returns"


@pytest.fixture(scope="module")
def many(bed: ConsoleBed) -> None:
    """The table `shop.returns` with many streams; they are stored at once, as each request would check all of them."""
    bed.put(f"{TABLE}/streams/sales", {"topic": "returned"})
    store = RegistryStore(bed.fed.file_io, "/w", bed.fed.clock)
    found = store.table("shop.returns")
    assert found is not None
    (entry,) = found.value.streams.values()
    names = [f"sales_{number:04}" for number in range(STREAMS)]
    streams = {
        name: entry.model_copy(update={"spec": entry.spec.model_copy(update={"name": name})})
        for name in names
    }
    document = found.value.model_copy(update={"streams": streams})
    store.put_table(document, expected_version=found.version)


@pytest.mark.usefixtures("many")
def test_a_list_of_many_streams_has_the_visible_ones_and_all_can_be_reached(
    visitor: Visitor,
) -> None:
    page = visitor.open("tables/shop/returns/streams")
    rows = page.locator(".streams .window [role=row]")
    expect(page.get_by_role("status").filter(has_text="2,000 streams")).to_be_visible()
    expect(rows.first).to_contain_text("sales_0000")
    assert rows.count() <= SHOWN_MAX

    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(rows.last).to_contain_text("sales_1999")
    assert rows.count() <= SHOWN_MAX

    page.get_by_label("Find a stream").fill("1234")
    expect(rows).to_have_count(1)
    rows.get_by_role("link").click()
    expect(page.get_by_role("heading", name="sales_1234")).to_be_visible()


@pytest.mark.usefixtures("many")
def test_the_keyboard_goes_from_row_to_row_beyond_the_visible_ones(visitor: Visitor) -> None:
    page = visitor.open("tables/shop/returns/streams")
    page.locator(".streams .window a").first.focus()
    for _ in range(SHOWN_MAX):
        page.keyboard.press("Tab")

    expect(page.get_by_role("link", name=f"sales_{SHOWN_MAX:04}")).to_be_focused()


@pytest.mark.usefixtures("many")
def test_the_flow_shows_some_streams_and_says_so(visitor: Visitor) -> None:
    page = visitor.open("tables/shop/returns")

    expect(page.get_by_text("12 of 2,000 streams")).to_be_visible()
    expect(page.get_by_role("list", name="Streams").get_by_role("listitem")).to_have_count(12)
