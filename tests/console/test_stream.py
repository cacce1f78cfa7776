"""The page of a stream in a real browser."""

import json

import pytest
from playwright.sync_api import Locator, expect

from tests.console.console_bed import ConsoleBed
from tests.console.visitor import Visitor

pytestmark = pytest.mark.integration
STREAM = "tables/shop/orders/streams"
STATUS = "/v1/tables/shop/orders/streams/payments"


def test_a_failure_says_what_is_wrong_and_what_helps(visitor: Visitor) -> None:
    page = visitor.open(f"{STREAM}/shipping")

    expect(page.get_by_text("failed", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="the topic `parcels` was deleted")).to_be_visible()
    expect(page.get_by_text("stop and delete the stream")).to_be_visible()


def test_dead_letters_are_listed_by_reason_with_their_records(visitor: Visitor) -> None:
    page = visitor.open(f"{STREAM}/sales")
    reasons = page.get_by_role("region", name="Reasons")
    expect(reasons.get_by_role("row").filter(has_text="wrong type")).to_contain_text("1")
    page.get_by_role("button", name="Read the records").click()
    page.get_by_text("expected INT, found the text").click()

    expect(page.get_by_role("region", name="Value, 45 B")).to_contain_text('"version": "two"')


def test_a_replay_is_requested_after_its_plan(visitor: Visitor, bed: ConsoleBed) -> None:
    page = visitor.open(f"{STREAM}/sales")
    page.get_by_role("button", name="Replay all").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 records")
    dialog.get_by_role("button", name="Replay").click()

    expect(page.get_by_text("A replay was requested")).to_be_visible()
    letters = bed.get("streams/sales/dead-letters?limit=0")
    assert letters["replay"]["selection"] == {"reasons": [], "offsets": {}}
    page.get_by_role("button", name="Withdraw it").click()
    expect(page.get_by_text("A replay was requested")).to_have_count(0)


def test_an_action_tells_its_effect_and_can_be_left_by_the_keyboard(
    visitor: Visitor, bed: ConsoleBed
) -> None:
    page = visitor.open(f"{STREAM}/payments")
    pause = page.get_by_role("button", name="Pause")
    pause.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Pause the stream payments?")
    expect(dialog).to_contain_text("Records wait in Kafka")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(pause).to_be_focused()
    assert bed.get("streams/payments")["desired_state"] == "RUNNING"

    pause.click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert bed.get("streams/payments")["desired_state"] == "PAUSED"


def test_the_position_is_set_with_its_effect_beside(visitor: Visitor, bed: ConsoleBed) -> None:
    client = bed.http
    client.post(f"{STATUS}/stop").raise_for_status()
    bed.report(**{name: state for name, state in bed.states().items() if name != "payments"})
    page = visitor.open(f"{STREAM}/payments")
    before = bed.get("streams/payments/offsets")["offsets"]["0"]
    page.get_by_role("button", name="Set the position").click()
    dialog = page.get_by_role("dialog")
    submit = dialog.get_by_role("button", name="Set the position")
    expect(submit).to_be_disabled()
    dialog.get_by_label("Partition 0").fill("2")

    expect(dialog.get_by_role("status")).to_contain_text(f"reads {before - 2} offsets again")
    submit.click()
    expect(dialog).to_have_count(0)
    assert bed.get("streams/payments/offsets")["offsets"]["0"] == 2


def change_declaration(visitor: Visitor, **fields: object) -> Locator:
    """Open the dialog that changes the declaration of the stream `sales`, and set fields in it."""
    visitor.open(f"{STREAM}/sales").get_by_role("button", name="Change").click()
    dialog = visitor.page.get_by_role("dialog")
    text = dialog.get_by_label("Declaration as JSON")
    text.fill(json.dumps({**json.loads(text.input_value()), **fields}))
    return dialog


def test_a_declaration_is_changed_with_its_plan_beside(visitor: Visitor, bed: ConsoleBed) -> None:
    dialog = change_declaration(visitor, owner="shop")
    patch = dialog.get_by_role("region", name="Body of PATCH")
    expect(patch).to_contain_text('"owner": "shop"')
    expect(dialog.get_by_text("The service would make this change.")).to_be_visible()
    dialog.get_by_role("button", name="Make the change").click()

    expect(dialog).to_have_count(0)
    expect(visitor.page.get_by_text("owned by shop")).to_be_visible()
    spec = bed.get("streams/sales")["spec"]
    assert (spec["owner"], spec["topic"]) == ("shop", "orders")


def test_a_declaration_that_is_refused_is_not_sent(visitor: Visitor) -> None:
    dialog = change_declaration(visitor, topic="others")

    expect(dialog.get_by_text("The service would refuse this")).to_be_visible()
    expect(dialog.get_by_role("button", name="Make the change")).to_be_disabled()


def test_of_two_changes_at_once_the_later_one_is_told(visitor: Visitor, bed: ConsoleBed) -> None:
    dialog = change_declaration(visitor, owner="second")
    submit = dialog.get_by_role("button", name="Make the change")
    expect(submit).to_be_enabled()
    bed.http.patch(
        "/v1/tables/shop/orders/streams/sales",
        content='{"owner": "first"}',
        headers={"content-type": "application/merge-patch+json"},
    ).raise_for_status()
    submit.click()

    expect(dialog.get_by_role("alert")).to_contain_text("if-match")
    assert bed.get("streams/sales")["spec"]["owner"] == "first"


def test_a_stream_is_deleted_only_by_its_name(visitor: Visitor, bed: ConsoleBed) -> None:
    client = bed.http
    bed.put("/v1/tables/shop/returns/streams/sales", {"topic": "returned"})
    client.post("/v1/tables/shop/returns/streams/sales/stop").raise_for_status()
    page = visitor.open("tables/shop/returns/streams/sales")
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    submit = dialog.get_by_role("button", name="Delete the stream")
    expect(submit).to_be_disabled()
    dialog.get_by_label("Type sales to confirm").fill("sales")
    submit.click()

    expect(page.get_by_role("heading", name="shop.returns")).to_be_visible()
    assert client.get("/v1/tables/shop/returns/streams").json() == {"streams": []}
