"""The console of a service that needs tokens, in a real browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from braid.schemas.access import AccessScope, Grant
from braid.service.settings import AccessSettings
from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def bed() -> Iterator[ConsoleBed]:
    with ConsoleBed.served(access=AccessSettings()) as serving:
        yield serving


def sign_in(visitor: Visitor, token: str, path: str = "") -> None:
    page = visitor.open(path)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_the_tables_are_shown_after_the_sign_in_and_not_after_the_sign_out(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    page = visitor.page
    sign_in(visitor, bed.token("reader", "read:*"))
    expect(page.locator(".tables")).to_contain_text("shop.orders")

    page.reload()
    expect(page.locator(".tables")).to_contain_text("shop.orders")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("Object.keys(sessionStorage)") == []


def test_the_sign_in_is_accessible_and_a_wrong_token_is_told(visitor: Visitor) -> None:
    sign_in(visitor, "wrong")
    alert = visitor.page.get_by_role("alert")
    expect(alert).to_be_visible()

    assert visitor.violations() == []


def test_the_token_is_in_no_address(visitor: Visitor, bed: ConsoleBed) -> None:
    token = bed.token("careful", "read:*")
    page = visitor.page
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    sign_in(visitor, token, "tables/shop/orders/rows?key.id=7")
    expect(page.get_by_role("region", name="Values", exact=True)).to_contain_text("13.00")
    with page.expect_download():
        page.get_by_role("button", name="Save the certificate").click()

    assert any("/rows/events" in address for address in addresses)
    assert [address for address in addresses if token in address] == []


def test_a_client_sees_its_tables_alone(visitor: Visitor, bed: ConsoleBed) -> None:
    sign_in(visitor, bed.token("customers", "read:shop.customers"))

    expect(visitor.page.locator(".tables")).to_contain_text("shop.customers")
    expect(visitor.page.locator(".tables .window [role=row]")).to_have_count(1)


def test_what_a_client_may_not_do_is_disabled_with_the_reason(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    token = bed.token("watcher", "read:*", "operate:shop.customers")
    sign_in(visitor, token, "tables/shop/orders/streams/sales")
    page = visitor.page
    pause = page.get_by_role("button", name="Pause")
    change = page.get_by_role("button", name="Change")

    expect(pause).to_be_disabled()
    expect(page.get_by_role("group").filter(has=pause)).to_contain_text("needs the scope operate")
    expect(change).to_be_disabled()
    expect(page.get_by_role("group").filter(has=change)).to_contain_text("needs the scope admin")
    page.goto(f"{visitor.address}/console/#/tables/shop/customers/storage")
    expect(page.get_by_role("button", name="Compact", exact=True)).to_be_enabled()
    assert visitor.violations() == []


def test_what_is_refused_nevertheless_is_a_problem_that_names_the_scope(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    sign_in(visitor, bed.token("table-auditor", "read:*"), "tables/shop/orders/audit")
    alert = visitor.page.get_by_role("alert")

    expect(alert).to_contain_text("admin")
    expect(alert).to_contain_text("Request id")


def test_streams_are_not_denied_where_masked_columns_hide_them(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    grant = Grant(scope=AccessScope.READ, tables=("shop.*",), masked_columns=("city",))
    sign_in(visitor, bed.token_with("masked", grant), "tables/shop/orders")

    expect(visitor.page.get_by_text("The streams are not shown to you")).to_be_visible()
    expect(visitor.page.get_by_text("No stream fills this table")).to_have_count(0)
